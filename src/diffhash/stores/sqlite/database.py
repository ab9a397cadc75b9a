"""One SQLite connection to a collection's file: its transactions, and its errors as errors of diffhash."""

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
)
from ...open_collections import is_open_collection, note_closed, note_opened
from .lock import check_wal, log_size
from .schema import check_schema, is_collection_file
from .sqlite_errors import error_name, translated

__all__ = ["Database"]

#: Seconds to wait while SQLite is busy with commits and checkpoints of other connections.
_BUSY_TIMEOUT = 10.0


class Database:
    """A connection to a collection's file. All errors that it raises are a DiffhashError."""

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self.writable = writable
        #: SQLite cannot write to the folder, so the file is opened without locks and shared memory.
        self.immutable = False
        #: The statement that began the open transaction, in a list that identifies it; None outside of one.
        self._open_transaction: list[str] | None = None
        #: Device and inode of the log, once something was written.
        self._wal: tuple[int, int] | None = None
        self._real = Path(os.path.realpath(path))
        self._file_identity()
        check_wal(path)
        with self.errors():
            self._connection = self._connect()
        self._identity = self._file_identity()
        note_opened(self._identity[:2])

    def _connect(self) -> sqlite3.Connection:
        if self.writable:
            return self._prepared("rw")
        try:
            return self._prepared("ro")
        except sqlite3.OperationalError as error:
            name = error_name(error)
            if name.startswith("SQLITE_READONLY_ROLLBACK") and self._is_ours():
                # A process was killed while it opened or closed the file. A reader cannot undo its change.
                self._open_briefly()
                return self._prepared("ro")
            # If SQLite cannot write beside the file, a file without a log is opened as immutable.
            if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")) and not log_size(self._real):
                self.immutable = True
                return self._prepared("ro&immutable=1")
            raise

    def _is_ours(self) -> bool:
        with contextlib.suppress(OSError):
            return is_open_collection(self._real) or is_collection_file(self._real)
        return False

    def _open_briefly(self) -> None:
        """Let SQLite bring the file in order: undo the change in a journal, or remove a log without content."""
        connection = sqlite3.connect(f"file:{quote(os.fsencode(self._real))}?mode=rw", uri=True, timeout=0)
        try:
            connection.execute("PRAGMA application_id").fetchone()
        finally:
            connection.close()

    def _prepared(self, mode: str) -> sqlite3.Connection:
        location = f"file:{quote(os.fsencode(self._real))}?mode={mode}"
        # Transactions are begun explicitly. The collection's lock separates calls from several threads.
        connection = sqlite3.connect(
            location, uri=True, isolation_level=None, check_same_thread=False, timeout=_BUSY_TIMEOUT
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            # Read before the check: a change in between is noticed by check_schema_unchanged.
            (self._schema_version,) = connection.execute("PRAGMA schema_version").fetchone()
            #: Format version of the file.
            self.format = check_schema(connection, str(self.path))
            if self.writable:
                (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                if mode != "wal":
                    raise CollectionWriteError(
                        f"Collection.open: the file system of {self.path} cannot hold a write-ahead log. "
                        "Put the collection on a local disk."
                    )
                # When a commit returns, the data are on the disk and not in its cache, also on macOS.
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA fullfsync = ON")
                connection.execute("PRAGMA checkpoint_fullfsync = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _file_identity(self) -> tuple[int, ...]:
        try:
            found = self._real.stat()
        except OSError as error:
            raise self._missing(error) from error
        same = (found.st_dev, found.st_ino)
        # SQLite does not notice changes of a file that is opened as immutable: compare times and sizes.
        return (*same, found.st_mtime_ns, found.st_size, log_size(self._real)) if self.immutable else same

    def _missing(self, error: OSError) -> CollectionNotFoundError:
        return CollectionNotFoundError(
            f"Collection: there is no file {self.path} ({error.strerror}). "
            "If it was moved while it was open, put it back or open it in its new place."
        )

    def _is_same_file(self) -> bool:
        """Whether the opened file still has its name."""
        with contextlib.suppress(CollectionNotFoundError):
            return self._file_identity() == self._identity
        return False

    def check_not_replaced(self) -> bool:
        """Raise an error if the file was removed or replaced: what is written to it would be lost.

        Returns True if an immutable file has changed; it was then opened again.
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
        note_closed(self._identity[:2])
        self._identity = self._file_identity()
        note_opened(self._identity[:2])
        return True

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn SQLite's errors into errors of diffhash."""
        try:
            yield
        except sqlite3.Error as error:
            raise translated(error, self.path) from error
        except UnicodeDecodeError as error:
            raise CollectionFileError(
                f"Collection: {self.path} is damaged: it contains text that is not valid UTF-8 ({error}). "
                "Take it from a backup."
            ) from error

    def execute(self, statement: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Run one statement; values are bound to it."""
        return self._connection.execute(statement, parameters)

    def executemany(self, statement: str, rows: Any) -> None:
        """Run one statement for many rows."""
        self._connection.executemany(statement, rows)

    def value(self, statement: str, parameters: Any = ()) -> Any:
        """The first value of the first row."""
        row = self._connection.execute(statement, parameters).fetchone()
        return None if row is None else row[0]

    def version(self) -> int:
        """A number that changes when another connection writes."""
        return int(self.value("PRAGMA data_version"))

    def check_schema_unchanged(self) -> None:
        """Raise an error if another program changed the tables since the file was opened; within a transaction."""
        found = self.value("PRAGMA schema_version")
        if found == self._schema_version:
            return
        version = check_schema(self._connection, str(self.path))
        if version != self.format:
            raise CollectionFileError(
                f"Collection: {self.path} was upgraded to format version {version} while it was open. Open it again."
            )
        # SQLite also counts when pages are returned to the file system.
        self._schema_version = found

    def use_format(self, version: int) -> None:
        """Go on with another format version, to which this connection has upgraded the file."""
        self.format = version

    def size(self) -> int:
        """Size of the file and its log in bytes."""
        try:
            return self._real.stat().st_size + log_size(self._real)
        except OSError as error:
            raise self._missing(error) from error

    def add_function(self, name: str, n_arguments: int, function: Any) -> None:
        """Add a Python function to SQL."""
        self._connection.create_function(name, n_arguments, function, deterministic=True)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Read transaction: all statements inside it see the same content."""
        with self.errors(), self._transaction("BEGIN"):
            yield

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Write transaction: all statements inside it take effect, or none; at the end they are on the disk."""
        self.check_not_replaced()
        self._check_wal_not_removed()
        with self.errors(), self._transaction("BEGIN IMMEDIATE"):
            yield
        # If the file or its log was removed meanwhile, the write must not be reported as done.
        self.check_not_replaced()
        self._check_wal_not_removed()

    def _check_wal_not_removed(self) -> None:
        """Raise an error if the log was removed: SQLite goes on writing to it, and a crash would lose all of it."""
        try:
            found = Path(f"{self._real}-wal").stat()
        except OSError:
            identity = None
        else:
            identity = found.st_dev, found.st_ino
        if self._wal is None:
            self._wal = identity
        elif identity != self._wal:
            raise CollectionFileError(
                f"Collection: {self.path}-wal was removed or replaced while the collection was open. "
                "Close it now: that stores everything that was acknowledged. Then open it again."
            )

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        # SQLite is not asked whether a transaction is open: an interrupted call may have left one open.
        if self._open_transaction is not None:
            # A write inside another transaction would be lost if that one is never committed.
            if begin != "BEGIN":
                raise CollectionError(
                    f"Collection: {self.path} cannot be written to while another transaction of the same process "
                    "is open. If a call was interrupted before, open the collection again."
                )
            yield
            return
        own = [begin]
        try:
            self._open_transaction = own
            self._roll_back()
            self._connection.execute(begin)
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._open_transaction is own:
                self._roll_back()
            raise
        finally:
            if self._open_transaction is own:
                self._open_transaction = None

    def _roll_back(self) -> None:
        """Roll an open transaction back. SQLite may have done so already, for example when the disk is full."""
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def vacuum(self) -> None:
        """Return unused pages to the file system."""
        with self.errors():
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the connection; a writer first moves the log into the file, so that there is one file to copy."""
        try:
            if self.writable:
                with self.errors():
                    busy = self.value("PRAGMA wal_checkpoint(TRUNCATE)")
                if busy:
                    raise CollectionBusyError(
                        f"Collection.close: others are still reading an older version of {self.path}. Nothing is lost, "
                        f"but until they or a later writer have finished, {self.path}-wal belongs to the file."
                    )
                # Without a log the file can be read in a read-only folder. This fails while others read.
                # SQLite removes the log by its name: if the file was replaced, the log belongs to the new one.
                self._connection.execute("PRAGMA busy_timeout = 0")
                if self._is_same_file():
                    with contextlib.suppress(sqlite3.OperationalError):
                        self._connection.execute("PRAGMA journal_mode = DELETE")
        finally:
            self._connection.close()
            note_closed(self._identity[:2])
            if not self.writable and not self.immutable:
                self._remove_wal()

    def _remove_wal(self) -> None:
        """Let SQLite remove its log after the last reader, which cannot do so itself."""
        with contextlib.suppress(sqlite3.Error, CollectionError):
            # Not if another file has replaced ours: SQLite would read the log into that file.
            if not Path(f"{self._real}-wal").exists() or not self._is_same_file():
                return
            check_wal(self._real)
            self._open_briefly()
