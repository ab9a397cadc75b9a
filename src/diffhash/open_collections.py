"""Which collections this process has open.

POSIX drops all locks that a process has on a file when the process closes any handle of that file. So a
file that SQLite has open must not be opened to look at its first bytes: SQLite would lose its locks.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from pathlib import Path

__all__ = ["is_open_collection", "note_closed", "note_opened"]

FileIdentity = tuple[int, ...]
#: How often each file is open, by device and inode.
_open: Counter[FileIdentity] = Counter()
_guard = threading.Lock()


def note_opened(identity: FileIdentity) -> None:
    """Remember that SQLite has opened a file."""
    with _guard:
        _open[identity] += 1


def note_closed(identity: FileIdentity) -> None:
    """Remember that SQLite has closed a file once."""
    with _guard:
        _open[identity] -= 1
        if _open[identity] <= 0:
            del _open[identity]


def is_open_collection(path: str | os.PathLike[str]) -> bool:
    """Whether this process has a file open as a collection, under any name. The file is not opened."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return False
    with _guard:
        return (found.st_dev, found.st_ino) in _open
