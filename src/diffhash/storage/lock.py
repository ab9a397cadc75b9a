"""One writer at a time: a lock beside the file that ends with the process that holds it.

The lock is on a file of its own. POSIX drops all locks of a process on a file when any handle of
that file is closed, so a handle on the database itself would take SQLite's locks away.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

from ..errors import CollectionBusyError, ReadOnlyCollectionError

__all__ = ["WriterLock"]

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

#: Paths that this process writes to. Locks between processes do not hold within one.
_held: dict[str, int] = {}
_guard = threading.Lock()


class WriterLock:
    """The right to write to a collection, held until :meth:`release` or the end of the process."""

    def __init__(self, path: Path, timeout: float, *, caller: str) -> None:
        self._name = os.path.realpath(path)
        self._path = Path(f"{self._name}-lock")
        deadline = time.monotonic() + timeout
        while not self._try(caller):
            if time.monotonic() >= deadline:
                raise CollectionBusyError(
                    f"{caller}: {path} is being written to by another process or another Collection. "
                    "Close that one first, or wait for it with timeout=seconds. Reading is possible meanwhile."
                )
            time.sleep(min(0.02, max(0.0, deadline - time.monotonic())))

    def _try(self, caller: str) -> bool:
        with _guard:
            # A forked child inherits this dict, but not the locks.
            if _held.get(self._name) == os.getpid():
                return False
            handle = self._open(caller)
            if not _lock(handle):
                os.close(handle)
                return False
            if not self._still_there(handle):
                os.close(handle)
                return False
            self._handle = handle
            _held[self._name] = os.getpid()
            return True

    def _open(self, caller: str) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as error:
            raise ReadOnlyCollectionError(
                f"{caller}: {self._path.parent} cannot be written to ({error.strerror}). "
                "Open the collection for reading, or copy it to a folder of yours."
            ) from error

    def _still_there(self, handle: int) -> bool:
        """Whether the file that was locked is not one that its holder has just removed."""
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(handle), self._path.stat())
        return False

    def release(self) -> None:
        """Let others write."""
        with _guard:
            if _held.get(self._name) != os.getpid():
                return
            del _held[self._name]
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._handle)


def _lock(handle: int) -> bool:
    try:
        if fcntl is not None:
            # Unlike flock, this one is not inherited by a forked child that outlives its parent.
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    return True
