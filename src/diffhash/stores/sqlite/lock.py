"""One writer at a time: a lock beside the file that ends with the process that holds it.

The lock is on a file of its own, which also says to which database its holder writes: SQLite finds a log
by its name alone, and would read one that a killed writer left into whatever file has that name now.
POSIX drops all locks of a process on a file when any handle of
that file is closed, so a handle on the database itself would take SQLite's locks away.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from pathlib import Path
from urllib.parse import quote

from ...errors import CollectionBusyError, CollectionFileError, ReadOnlyCollectionError

__all__ = ["WriterLock", "check_wal"]

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

_FAR = 1 << 30
#: Paths that this process writes to, with its number. Locks between processes do not hold within one.
_held: dict[str, tuple[int, str]] = {}
_guard = threading.Lock()


class WriterLock:
    """The right to write to a collection, held until :meth:`release` or the end of the process."""

    def __init__(self, path: Path, timeout: float, *, caller: str) -> None:
        self._name = os.path.realpath(path)
        self._path = Path(f"{self._name}-lock")
        self._marked = self._released = False
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
            if _is_held(self._name):
                return False
            handle = self._open(caller)
            if not _lock(handle):
                os.close(handle)
                return False
            if not self._still_there(handle):
                os.close(handle)
                return False
            self._handle = handle
            # What the last holder wrote to, if it was killed.
            _held[self._name] = os.getpid(), os.read(handle, 100).decode("ascii", "replace")
            return True

    def mark(self, identity: str) -> None:
        """Note to which file, with the collection of which identity, the holder writes from now on."""
        # Not the number of its device: that may be another one after a restart.
        self._note(f"{Path(self._name).stat().st_ino} {identity}")

    def forget(self) -> None:
        """Note that there is no log any more to which a file would belong."""
        self._note("")

    def _note(self, text: str) -> None:
        self._marked = True
        os.ftruncate(self._handle, 0)
        os.lseek(self._handle, 0, os.SEEK_SET)
        os.write(self._handle, text.encode())
        with _guard:
            _held[self._name] = os.getpid(), text

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
        """Let others write; doing so twice does no harm."""
        with _guard:
            if self._released or not _is_held(self._name):
                return
            self._released = True
            _, owner = _held.pop(self._name)
            # One who was refused leaves the note of the writer before; and a file of that name may be another's.
            ours = (self._marked or not owner) and self._still_there(self._handle)
            with contextlib.suppress(OSError):
                if ours and fcntl is not None:
                    self._path.unlink()
                elif ours:
                    os.ftruncate(self._handle, 0)
            os.close(self._handle)
            # Windows removes no file that is open, nor then one that the next writer has opened.
            if ours and fcntl is None:
                with contextlib.suppress(OSError):
                    self._path.unlink()


def check_wal(path: Path) -> None:
    """Refuse a file beside which lies the log of another file that had its name."""
    name = os.path.realpath(path)
    # Where locks are for reading too, one that cannot be read is held: the log is that of its holder.
    with contextlib.suppress(FileNotFoundError, PermissionError):
        if not Path(f"{name}-wal").stat().st_size:
            return
        with _guard:
            # Closing a handle of the lock's file would let go of the lock.
            owner = _held[name][1] if _is_held(name) else Path(f"{name}-lock").read_text("ascii", "replace")
        if owner and not _belongs(owner, name):
            raise CollectionFileError(
                f"Collection: {path} is not the file beside which {path}-wal was written, and the last writes may be "
                f"in there. If all of them were copied or restored together, remove {path}-lock, and nothing else. "
                f"If {path} was replaced while it was being written to, put the file back that was there before. "
                f"Only to give up what was written last, move {path}-wal, {path}-shm and {path}-lock away."
            )


def _is_held(name: str) -> bool:
    return name in _held and _held[name][0] == os.getpid()


def _belongs(owner: str, name: str) -> bool:
    """Whether a note is about the file that has the name now."""
    number, _, identity = owner.partition(" ")
    return number == str(Path(name).stat().st_ino) and _identity(name) in (identity, "")


def _identity(name: str) -> str:
    """The collection in a file, without its log; "" if that cannot be told."""
    try:
        # By SQLite, and not by a handle of our own: see above.
        connection = sqlite3.connect(f"file:{quote(os.fsencode(name))}?mode=ro&immutable=1", uri=True)
        try:
            row = connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeDecodeError):
        return ""
    return str(row[0]) if row else ""


def _lock(handle: int) -> bool:
    try:
        if fcntl is not None:
            # Unlike flock, this one is not inherited by a forked child that outlives its parent.
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            # Windows keeps others from reading what is locked: not the note, but a byte far behind it.
            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
            os.lseek(handle, 0, os.SEEK_SET)
    except OSError:
        return False
    return True
