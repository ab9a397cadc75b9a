"""Transactions on the tables of a collection in PostgreSQL, repeated if the connection was lost."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import psycopg
from psycopg import errors

from ...errors import CollectionFileError, StoreUnavailableError
from ...model import HashModel
from ..engine_store import EngineStore
from ..store_description import StoreDescription
from .connections import Backoff, Connections
from .server_errors import is_lost, is_temporary
from .tables import Connection, Server, Tables

__all__ = ["Counters", "Transactions"]

T = TypeVar("T")
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@dataclass
class Counters:
    """The row of the main table: what a transaction sees, and what it changes.

    Attributes
    ----------
    id_kind : str
        "int", "str", or "" before the first object is added.
    next_id, next_position : int
        The next whole number that is given as an id, and the next position.
    n_objects : int
    n_codes : list of int
        By modality.
    """

    id_kind: str
    next_id: int
    next_position: int
    n_objects: int
    n_codes: list[int]


class _Current(threading.local):
    """The transaction of this thread."""

    connection: Connection | None = None
    counters: Counters | None = None


class Transactions(EngineStore):
    """The part of a store that begins and ends transactions.

    A reader sees one version of the content in a call. Writers take turns: each locks the row of the main table. Both
    compare the description first, so that codes of two models never mix: a collection that somebody else made again
    under the same name has another identity.

    Parameters
    ----------
    connections : Connections
    tables : Tables
    server : Server
    description : StoreDescription
    model : HashModel or None
    writable : bool
    """

    engine = "postgresql"

    def __init__(
        self,
        connections: Connections,
        tables: Tables,
        server: Server,
        description: StoreDescription,
        model: HashModel | None,
        *,
        writable: bool,
    ) -> None:
        super().__init__(description, model, address=connections.shown, writable=writable)
        self._connections = connections
        self._tables = tables
        self._server = server
        self._current = _Current()
        # Rows of writes that nobody will ask for; a thread that lost its session may go on beside the next one.
        self._answered_writes: list[uuid.UUID] = []
        self._answered_lock = threading.Lock()
        self._old_rows_removed = False

    @property
    def id_kind(self) -> str:
        """Kind of the ids: "int", "str", or "" before the first object is added."""
        if self._current.connection is not None:
            return self._counters.id_kind
        return self._read(lambda: self._counters.id_kind, caller=self._caller("id_kind"))

    @property
    def next_id(self) -> int:
        """The id of the next object that is added without one, if ids are whole numbers and nobody else adds."""
        return self._read(lambda: self._counters.next_id, caller=self._caller("next_id"))

    @property
    def _connection(self) -> Connection:
        """The connection of the transaction that this thread is in."""
        assert self._current.connection is not None
        return self._current.connection

    @property
    def _counters(self) -> Counters:
        """The counters as the transaction of this thread sees them."""
        assert self._current.counters is not None
        return self._current.counters

    def _read(self, work: Callable[[], T], *, caller: str) -> T:
        if self._current.connection is not None:
            return work()
        self._check_open()
        backoff = Backoff(self._connections.retry_seconds)
        with self._connections.errors(caller):
            while True:
                try:
                    with (
                        self._connections.taken() as connection,
                        self._entered(connection, _READ, "", caller),
                    ):
                        return work()
                except psycopg.Error as error:
                    if not self._connections.may_retry(error, backoff):
                        raise

    def _write(self, work: Callable[[], T], *, caller: str) -> T:
        """Call ``work`` in a transaction, once.

        If the connection is lost while the transaction is committed, the server is asked what became of it. So
        nothing is done twice, and nothing is reported as done that was not.

        Notes
        -----
        A transaction leaves a row with a random number, and the row is there if and only if the transaction was
        committed. The server's own number of the transaction does not tell: after a crash, a server gives the number
        of a transaction that was lost to another one, and then says that it was committed.
        """
        backoff = Backoff(self._connections.retry_seconds)
        with self._connections.errors(caller):
            while True:
                write: uuid.UUID | None = None
                try:
                    with (
                        self._connections.taken() as connection,
                        self._entered(connection, "BEGIN", " FOR UPDATE", caller),
                    ):
                        before = Counters(**{**vars(self._counters), "n_codes": [*self._counters.n_codes]})
                        result = work()
                        if self._counters != before:
                            self._store_counters()
                        write = self._store_write()
                except psycopg.Error as error:
                    if write is None or not is_lost(error):
                        if not self._connections.may_retry(error, backoff):
                            raise
                        continue
                    if not self._was_committed(write, backoff, caller):
                        continue
                with self._answered_lock:
                    self._answered_writes.append(write)
                return result

    @contextmanager
    def _entered(self, connection: Connection, begin: str, lock: str, caller: str) -> Iterator[None]:
        """Context manager: a transaction of this thread, which is committed at the end."""
        current = self._current
        with connection.pipeline():  # one message for both
            connection.execute(begin)
            cursor = connection.execute(
                "SELECT description, id_kind, next_id, next_position, n_objects, n_codes "
                f"FROM {self._tables.main}{lock}"
            )
        try:
            row = cursor.fetchone()
            if row is None or row[0] != self.description.to_json():
                raise CollectionFileError(
                    f"{caller}: {self.address} was replaced by another collection after it was opened. Open it again: "
                    "codes of two models cannot be compared."
                )
            current.connection, current.counters = (
                connection,
                Counters(row[1], row[2], row[3], row[4], list(row[5])),
            )
            yield
        except psycopg.Error:
            raise
        except Exception:
            # An error of ours: the connection can be used again.
            connection.execute("ROLLBACK")
            raise
        else:
            connection.execute("COMMIT")
        finally:
            current.connection = current.counters = None

    def _store_counters(self) -> None:
        now = self._counters
        self._connection.execute(
            f"UPDATE {self._tables.main} SET id_kind = %s, next_id = %s, next_position = %s, n_objects = %s, "
            "n_codes = %s",
            (now.id_kind, now.next_id, now.next_position, now.n_objects, now.n_codes),
        )

    def _store_write(self) -> uuid.UUID:
        """Leave a row that tells that the transaction was committed; rows that nobody will ask for are removed."""
        write = uuid.uuid4()
        with self._answered_lock:
            answered, self._answered_writes = self._answered_writes, []
            remove_old, self._old_rows_removed = not self._old_rows_removed, True
        if remove_old:
            # What clients left that ended. Once is enough: each other client removes its own rows.
            self._connection.execute(
                f"DELETE FROM {self._tables.writes} WHERE written < now() - interval '1 day'"
            )
        if answered:
            self._connection.execute(f"DELETE FROM {self._tables.writes} WHERE write = ANY(%s)", (answered,))
        self._connection.execute(f"INSERT INTO {self._tables.writes} (write) VALUES (%s)", (write,))
        return write

    def _was_committed(self, write: uuid.UUID, backoff: Backoff, caller: str) -> bool:
        """What became of a transaction whose connection was lost while it was committed."""
        self._connections.forget()
        while backoff.wait():
            try:
                with self._connections.taken(fresh=True) as connection:
                    # A row proves the commit. Only its absence needs the lock, which a long writer may hold.
                    if self._has_row(connection, write):
                        return True
                    with connection.transaction():
                        # The old connection may still be committing: its lock tells when it has ended.
                        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
                        connection.execute(f"SELECT FROM {self._tables.main} FOR UPDATE")
                        return self._has_row(connection, write)
            except (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName):
                raise CollectionFileError(
                    f"{caller}: the connection to {self.address} was lost while the changes were committed, and then "
                    "somebody removed the collection or changed its tables. So it is not known whether the changes "
                    "were made before. Look what the collection contains before you repeat the call."
                ) from None
            except psycopg.Error as error:
                if not (is_temporary(error) or isinstance(error, errors.LockNotAvailable)):
                    raise
        raise StoreUnavailableError(
            f"{caller}: the connection to {self.address} was lost while the changes were committed, and the server did "
            "not tell in time what became of them: it did not come back, or another writer took long. Either all of "
            "them were made, or none. Repeat the call: upsert and delete can always be repeated, and add with ids says "
            "if they exist already."
        )

    def _has_row(self, connection: Connection, write: uuid.UUID) -> bool:
        row = connection.execute(
            f"SELECT EXISTS (SELECT FROM {self._tables.writes} WHERE write = %s)", (write,)
        ).fetchone()
        assert row is not None  # a select without a table has one row
        return bool(row[0])

    def _close(self) -> None:
        self._connections.close()
