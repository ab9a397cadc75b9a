"""Write files atomically: a reader sees the old file or the new one, never half of one.

The content goes to a temporary file in the same folder. When it is complete it is synced to the
disk and renamed. After an error or a power cut the old file is still there.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["remove_stale_parts", "replacing", "write_atomically"]

_DIGITS = "[0-9a-f]{8}"


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data`` to a file, which replaces the file that was there.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> write_atomically(path, b"text")
    >>> path.read_bytes()
    b'text'
    """
    with replacing(path) as part:
        part.write_bytes(data)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path``; when the block ends, the file there is moved to ``path``.

    If the block raises, nothing is moved. In both cases the temporary file is removed, and also
    files that the writer put beside it (names that begin with the temporary name, as SQLite's).

    Raises
    ------
    FileNotFoundError
        If the folder does not exist, or the block did not write the temporary file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with replacing(path) as part:
    ...     _ = part.write_text("text")
    >>> path.read_text()
    'text'
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}. Make it first.")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
        # Opened for writing: Windows syncs no other files.
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        _remove_matching(path.parent, re.escape(part.name))
    _sync_folder(path.parent)


def remove_stale_parts(path: str | os.PathLike[str]) -> None:
    """Remove temporary files that interrupted writes to ``path`` left behind.

    The caller holds a lock, so that no other process is writing to ``path``: its temporary file
    would be removed too.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / ".a.txt.0123abcd.part").touch()
    >>> remove_stale_parts(folder / "a.txt")
    >>> list(folder.iterdir())
    []
    """
    path = Path(path)
    # The eight digits are matched exactly: parts of "a.txt" are not those of "a.txt.gz".
    part = rf"\.{re.escape(path.name)}\.{_DIGITS}\.part"
    # A writer that itself writes atomically to the temporary file leaves a part of the part.
    _remove_matching(path.parent, rf"{part}|\.{part}\.{_DIGITS}\.part")


def _remove_matching(folder: Path, start: str) -> None:
    """Remove the files in a folder whose names begin with this pattern.

    What cannot be removed stays: an error here would hide the error of the writer.
    """
    pattern = re.compile(start)
    with suppress(OSError):
        for path in list(folder.iterdir()):
            if pattern.match(path.name):
                with suppress(OSError):
                    path.unlink()


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
