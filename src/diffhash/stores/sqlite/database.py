"""The SQLite side of a collection: one connection, its transactions, and its errors in our words."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...errors import (
    CollectionBusyError,
    CollectionError,
    CollectionFileError,
    CollectionNotFoundError,
    CollectionWriteError,
    ReadOnlyCollectionError,
)
from .lock import check_wal
from .schema import check_schema

__all__ = ["Database"]

#: Seconds to wait for a moment in which SQLite itself is busy: commits and checkpoints of others.
_BUSY = 10.0


class Database:
    """A connection to the file of a collection; every error that leaves it is one of ours."""

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self.writable = writable
        #: Nothing can be written to the folder, not even SQLite's own notes about who reads.
        self.immutable = False
        #: What began the transaction that is going on: its statement, in a list of its own; None outside of one.
        self._begun: list[str] | None = None
        self._real = Path(os.path.realpath(path))
        self._file_identity()
        check_wal(path)
        with self.errors():
            self._connection = self._connect()
        self._identity = self._file_identity()

    def _connect(self) -> sqlite3.Connection:
        if self.writable:
            return self._prepared("rw")
        try:
            return self._prepared("ro")
        except sqlite3.OperationalError as error:
            # Where SQLite cannot write beside the file, a file with an empty log is read as it is.
            if _name(error).startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")) and not self._wal_size():
                self.immutable = True
                return self._prepared("ro&immutable=1")
            raise

    def _prepared(self, mode: str) -> sqlite3.Connection:
        location = f"file:{quote(os.fsencode(self._real))}?mode={mode}"
        # Transactions are begun by hand; calls from several threads are kept apart by the collection.
        connection = sqlite3.connect(
            location, uri=True, isolation_level=None, check_same_thread=False, timeout=_BUSY
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            check_schema(connection, str(self.path))
            if self.writable:
                (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                if mode != "wal":
                    raise CollectionWriteError(
                        f"Collection.open: the file system of {self.path} cannot hold a write-ahead log. "
                        "Put the collection on a local disk."
                    )
                # An acknowledged write is on the disk, not in its cache: also on macOS.
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA fullfsync = ON")
                connection.execute("PRAGMA checkpoint_fullfsync = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _wal_size(self) -> int:
        with contextlib.suppress(OSError):
            return Path(f"{self._real}-wal").stat().st_size
        return 0

    def _file_identity(self) -> tuple[int, ...]:
        try:
            found = self._real.stat()
        except OSError as error:
            raise CollectionNotFoundError(
                f"Collection: there is no file {self.path} ({error.strerror}). "
                "If it was moved while it was open, put it back or open it in its new place."
            ) from error
        same = (found.st_dev, found.st_ino)
        # A file that is read as immutable is not watched by SQLite: its times tell.
        return (*same, found.st_mtime_ns, found.st_size, self._wal_size()) if self.immutable else same

    def _is_same_file(self) -> bool:
        """Whether the file that was opened still has its name."""
        with contextlib.suppress(CollectionNotFoundError):
            return self._file_identity() == self._identity
        return False

    def check_not_replaced(self) -> bool:
        """Refuse to go on with a file that was removed or replaced: what it gets would be lost.

        Gives True where a file that SQLite cannot watch had changed, and the connection is new.
        """
        if self._file_identity() == self._identity:
            return False
        if not self.immutable:
            raise CollectionFileError(
                f"Collection: {self.path} was replaced by another file while it was open. Open it again."
            )
        self._connection.close()
        self.immutable = False
        with self.errors():
            self._connection = self._connect()
        self._identity = self._file_identity()
        return True

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Say in our own words what SQLite has to complain about."""
        try:
            yield
        except sqlite3.Error as error:
            raise _translated(error, self.path) from error
        except UnicodeDecodeError as error:
            raise CollectionFileError(
                f"Collection: {self.path} is damaged: a text in it is none ({error}). Take it from a backup."
            ) from error

    def execute(self, statement: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Run one statement; values are bound, never written into it."""
        return self._connection.execute(statement, parameters)

    def executemany(self, statement: str, rows: Any) -> None:
        """Run one statement for many rows."""
        self._connection.executemany(statement, rows)

    def value(self, statement: str, parameters: Any = ()) -> Any:
        """The first value of the first row."""
        row = self._connection.execute(statement, parameters).fetchone()
        return None if row is None else row[0]

    def version(self) -> int:
        """A number that changes when another connection has written."""
        return int(self.value("PRAGMA data_version"))

    def size(self) -> int:
        """Bytes of the file and its log."""
        return self._real.stat().st_size + self._wal_size()

    def add_function(self, name: str, n_arguments: int, function: Any) -> None:
        """Make a Python function known to SQL."""
        self._connection.create_function(name, n_arguments, function, deterministic=True)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """One snapshot of the file for several statements."""
        with self.errors(), self._transaction("BEGIN"):
            yield

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """All of the statements, on the disk at the end, or none of them."""
        self.check_not_replaced()
        with self.errors(), self._transaction("BEGIN IMMEDIATE"):
            yield
        # What went into a file that nobody can find any more must not be acknowledged.
        self.check_not_replaced()

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        # Whether this is within another one is never asked of SQLite: an interrupt may have left one open there.
        if self._begun is not None:
            # No call writes within another transaction: one that an interrupt left marked as open would swallow it.
            if begin != "BEGIN":
                raise CollectionError(
                    f"Collection: {self.path} cannot be written to while another transaction of the same process "
                    "is open. If a call was interrupted before, open the collection again."
                )
            yield
            return
        own = [begin]
        try:
            self._begun = own
            self._roll_back()
            self._connection.execute(begin)
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._begun is own:
                self._roll_back()
            raise
        finally:
            if self._begun is own:
                self._begun = None

    def _roll_back(self) -> None:
        """End what is open; a full disk may have done so already."""
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def vacuum(self) -> None:
        """Give unused pages back to the file system."""
        with self.errors():
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Move everything from the log into the file, so that it is all there is to copy."""
        try:
            if self.writable:
                with self.errors():
                    busy = self.value("PRAGMA wal_checkpoint(TRUNCATE)")
                if busy:
                    raise CollectionBusyError(
                        f"Collection.close: others kept reading an older snapshot of {self.path}. Nothing is lost, "
                        f"but until one of them or a later writer is done, {self.path}-wal belongs to the file."
                    )
                # Without a log at all it can be read where nothing can be written; not while others read.
                # SQLite removes the log by its name: beside another file it would be the log of that one.
                self._connection.execute("PRAGMA busy_timeout = 0")
                if self._is_same_file():
                    with contextlib.suppress(sqlite3.OperationalError):
                        self._connection.execute("PRAGMA journal_mode = DELETE")
        finally:
            self._connection.close()
            if not self.writable and not self.immutable:
                self._remove_wal()

    def _remove_wal(self) -> None:
        """Have SQLite remove its log if a reader, who cannot, was the last to use it."""
        with contextlib.suppress(sqlite3.Error, CollectionError):
            # Never beside a file that took the place of ours: its log would be read into that one.
            if not Path(f"{self._real}-wal").exists() or not self._is_same_file():
                return
            check_wal(self._real)
            last = sqlite3.connect(f"file:{quote(os.fsencode(self._real))}?mode=rw", uri=True, timeout=0)
            try:
                last.execute("PRAGMA application_id").fetchone()
            finally:
                last.close()


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "") or ""


def _translated(error: sqlite3.Error, path: Path) -> CollectionError:
    name = _name(error)
    if name.startswith("SQLITE_READONLY_DBMOVED"):
        return CollectionFileError(
            f"Collection: {path} was moved or removed while it was open. Open it again."
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT")):
        return CollectionFileError(
            f"Collection: {path} is damaged or no collection ({error}). Take it from a backup."
        )
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_TOOBIG", "SQLITE_NOLFS")):
        return CollectionWriteError(
            f"Collection: {path} could not be written or read ({error}). Nothing of this call was stored; "
            "what was stored before is still there. Make room on the disk and try again."
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return CollectionBusyError(f"Collection: {path} is in use by another program ({error}). Try again.")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return ReadOnlyCollectionError(
            f"Collection: {path}, or the folder around it, cannot be written to or opened ({error}). "
            f"If there is a file {path}-wal, both have to be copied to a folder that can."
        )
    return CollectionError(f"Collection: {path}: {error} ({name or type(error).__name__}).")
