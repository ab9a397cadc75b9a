"""The writer lock: only one process at a time writes to a collection.

The lock is on a file of its own, ``name-lock``, and ends with the process that holds it. It is not on the
database itself: POSIX drops all locks that a process has on a file when the process closes any handle
of that file, so SQLite would lose its own locks.

The lock file also contains the identity of the database that its holder writes to. SQLite finds a
write-ahead log (WAL) by its name alone. If a writer left a log and another file has the name of its
database now, SQLite would read the log into the wrong file. The text is kept as long as there is a log.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from pathlib import Path
from urllib.parse import quote

from ...errors import CollectionBusyError, CollectionFileError
from .sqlite_errors import os_errors_translated

__all__ = ["LOGS", "WriterLock", "check_wal", "log_size"]

#: Endings of the files that SQLite reads into a database when it opens it.
LOGS = ("-wal", "-journal")

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

_FAR = 1 << 30
#: Paths that this process has locked: its process id, and the text in the lock file. A lock of the
#: operating system does not keep a process from locking the same file again.
_locked: dict[str, tuple[int, str]] = {}
_locked_guard = threading.Lock()


class WriterLock:
    """The right to write to a collection, until :meth:`release` or the end of the process."""

    def __init__(self, path: Path, timeout: float, *, caller: str) -> None:
        self._name = os.path.realpath(path)
        self._path = Path(f"{self._name}-lock")
        self._caller = caller
        self._released = False
        deadline = time.monotonic() + timeout
        while not self._try():
            if time.monotonic() >= deadline:
                raise CollectionBusyError(
                    f"{caller}: {path} is being written to by another process or another Collection. "
                    "Close that one first, or wait for it with timeout=seconds. Reading is possible meanwhile."
                )
            time.sleep(min(0.02, max(0.0, deadline - time.monotonic())))

    def _try(self) -> bool:
        with _locked_guard:
            # A forked child inherits the dict, but not the locks: _is_locked compares the process id.
            if _is_locked(self._name):
                return False
            handle = self._open()
            if not _lock(handle):
                os.close(handle)
                return False
            if not self._has_its_name(handle):
                os.close(handle)
                return False
            self._handle = handle
            # If the last holder was killed, its text is still in the file.
            _locked[self._name] = os.getpid(), os.read(handle, 200).decode("ascii", "replace")
            return True

    def mark_file(self) -> None:
        """Do as :meth:`mark`, before the file is opened: opening it can already leave a log, if it is interrupted."""
        self.mark(_identity(self._name))

    def mark(self, *identities: str) -> None:
        """Write into the lock file which database its holder writes to: inode, and identity of the collection.

        An upgrade changes the identity, so there can be two. As long as the new one is only in the log, the file
        itself has the old one.
        """
        with os_errors_translated(self._path, self._caller):
            number = str(Path(self._name).stat().st_ino)
        if log_size(self._name):
            before, *known = _locked[self._name][1].split(" ")
            identities = (*identities, _identity(self._name), *(known if before == number else ()))
        # Without the number of the device, which may change after a restart.
        self._write(" ".join([number, *dict.fromkeys(identities)]))

    def clear_mark(self) -> None:
        """Empty the lock file: there is no write-ahead log that could belong to another file."""
        self._write("")

    def _write(self, text: str) -> None:
        with os_errors_translated(self._path, self._caller):
            # Written first, then cut: if the process is killed in between, there is still a text.
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, text.encode())
            os.ftruncate(self._handle, len(text.encode()))
            # On the disk before any log can be: after a power cut an older text would disown the log.
            os.fsync(self._handle)
        with _locked_guard:
            _locked[self._name] = os.getpid(), text

    def _open(self) -> int:
        with os_errors_translated(self._path, self._caller):
            return os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)

    def _has_its_name(self, handle: int) -> bool:
        """Whether the locked file still has its name; its last holder may just have removed it."""
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(handle), self._path.stat())
        return False

    def release(self) -> None:
        """Let others write. Calling it again does nothing."""
        with _locked_guard:
            if self._released or not _is_locked(self._name):
                return
            self._released = True
            del _locked[self._name]
            # The text says to which file the log belongs, so it stays while there is a log: of a killed writer, or
            # of this one if others were still reading. The name of the lock may belong to another file now.
            ours = not log_size(self._name) and self._has_its_name(self._handle)
            with contextlib.suppress(OSError):
                if ours and fcntl is not None:
                    self._path.unlink()
                elif ours:
                    os.ftruncate(self._handle, 0)
            os.close(self._handle)
            # Windows cannot remove an open file, so it is closed first; the next writer may have opened it by now.
            if ours and fcntl is None:
                with contextlib.suppress(OSError):
                    self._path.unlink()


def log_size(path: str | os.PathLike[str]) -> int:
    """Size of the logs of a database, which SQLite reads into the file that has its name; 0 if there are none.

    Besides the write-ahead log there can be a rollback journal, if a process was killed while it opened or
    closed the file.
    """
    size = 0
    for suffix in LOGS:
        with contextlib.suppress(OSError):
            size += Path(f"{os.fspath(path)}{suffix}").stat().st_size
    return size


def check_wal(path: Path) -> None:
    """Raise an error if the log beside a file belongs to another file that had its name."""
    name = os.path.realpath(path)
    # If the lock file cannot be read because it is locked, the log belongs to its holder.
    with contextlib.suppress(FileNotFoundError, PermissionError):
        if not log_size(name):
            return
        with _locked_guard:
            # Not read from the file if this process holds the lock: closing the handle would release it.
            owner = (
                _locked[name][1] if _is_locked(name) else Path(f"{name}-lock").read_text("ascii", "replace")
            )
        if owner and not _belongs(owner, name):
            log = _named_log(path)
            raise CollectionFileError(
                f"Collection: {log} was not written for the file that is {path} now, and may hold the last writes. "
                f"If all these files were copied or restored together, remove {path}-lock and nothing else. "
                f"If {path} was replaced while it was being written to, put the old file back. "
                f"To give up the last writes, move {log}, {path}-shm and {path}-lock away."
            )


def _named_log(path: Path) -> str:
    return next((f"{path}{suffix}" for suffix in LOGS if Path(f"{path}{suffix}").exists()), f"{path}-wal")


def _is_locked(name: str) -> bool:
    return name in _locked and _locked[name][0] == os.getpid()


def _belongs(owner: str, name: str) -> bool:
    """Whether the text of a lock file is about the file that has the name now."""
    number, *identities = owner.split(" ")
    return number == str(Path(name).stat().st_ino) and _identity(name) in (*identities, "")


def _identity(name: str) -> str:
    """Identity of the collection in a file, read without its log; "" if it cannot be read."""
    try:
        # Read with SQLite, not with a file handle of our own: see the top of this file.
        connection = sqlite3.connect(f"file:{quote(os.fsencode(name))}?mode=ro&immutable=1", uri=True)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            # The schema is not checked yet: if "meta" is a view, reading it may take for ever.
            row = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger')"
            ).fetchone()
            if row is not None:
                return ""
            row = connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeDecodeError):
        return ""
    return str(row[0]) if row else ""


def _lock(handle: int) -> bool:
    try:
        if fcntl is not None:
            # Unlike flock, a forked child that outlives its parent does not inherit this lock.
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            # Windows prevents others from reading locked bytes, so a byte far behind the text is locked.
            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
            os.lseek(handle, 0, os.SEEK_SET)
    except OSError:
        return False
    return True
