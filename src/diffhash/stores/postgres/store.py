"""PostgresStore: a collection in PostgreSQL with pgvector."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from ...errors import AddressError, ParameterError
from ...validation import check_count
from ..address import Address
from ..registry import check_options
from ..store_description import NewStore
from .connections import DRIVER_OPTIONS, Connections
from .objects import Objects
from .searching import Searching
from .tables import (
    Connection,
    Server,
    Tables,
    check_name,
    check_server,
    create_tables,
    differences,
    ensure_writes_table,
    quoted,
    read_tables,
)

__all__ = ["PostgresStore", "create_store", "open_store"]

_DEFAULT_COLLECTION = "diffhash"
#: Parameters of an address that are ours.
_OPTIONS = ("collection", "ef", "schema")


class PostgresStore(Searching, Objects):
    """A collection in PostgreSQL, for :func:`diffhash.open` and :func:`diffhash.create`.

    Several processes can read and write; writers take turns, one call at a time. When a call that writes returns, the
    changes are committed. A call whose connection is lost is repeated, and its changes are made once. Threads may
    share a store; each call takes a connection of its own.

    Notes
    -----
    Answers are exact. :meth:`create_index` makes an approximate index (HNSW), and only a store that was opened with
    ``?ef=...`` in its address answers from it.
    """

    def create_index(self, modality: str | None = None, *, m: int = 16, ef_construction: int = 64) -> None:
        """Make an approximate index of codes, for stores that are opened with ``?ef=...``.

        Parameters
        ----------
        modality : str, optional
            By default all.
        m, ef_construction : int
            Neighbours of a code in the graph, and candidates while it is built; see pgvector.

        Notes
        -----
        Exact stores do not use it. It makes adding slower: add first.
        """
        caller = self._caller("create_index")
        self._check_writable(caller)
        m = check_count(m, "m", caller=caller, minimum=2, maximum=100)
        candidates = check_count(
            ef_construction, "ef_construction", caller=caller, minimum=2 * m, maximum=1000
        )
        operators = f"{quoted(self._server.extension_schema)}.bit_hamming_ops"

        def work() -> None:
            for name in self._chosen(modality, caller):
                table = self._tables.codes(self.modalities.index(name))
                index = self._index_name(name)
                self._connection.execute(
                    f"CREATE INDEX IF NOT EXISTS {index} ON {table} USING hnsw (code {operators}) "
                    f"WITH (m = {m}, ef_construction = {candidates})"
                )

        self._write(work, caller=caller)

    def drop_index(self, modality: str | None = None) -> None:
        """Remove what :meth:`create_index` made."""
        caller = self._caller("drop_index")
        self._check_writable(caller)

        def work() -> None:
            for name in self._chosen(modality, caller):
                index = f"{quoted(self._tables.schema)}.{self._index_name(name)}"
                self._connection.execute(f"DROP INDEX IF EXISTS {index}")

        self._write(work, caller=caller)

    def _index_name(self, modality: str) -> str:
        return quoted(f"{self._tables.collection}_hnsw_{self.modalities.index(modality)}")

    def _size_and_details(self) -> tuple[int | None, dict[str, Any]]:
        names = self._tables.all(len(self.modalities))
        row = self._connection.execute(
            "SELECT sum(pg_total_relation_size(to_regclass(name))) FROM unnest(%s::text[]) name", (names,)
        ).fetchone()
        indexes = self._connection.execute(
            "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam "
            "WHERE a.amname = 'hnsw' AND i.indrelid = ANY (SELECT to_regclass(name) FROM unnest(%s::text[]) name)",
            (names,),
        ).fetchone()
        assert row is not None  # sums and counts always have a row
        assert indexes is not None
        details = {
            "server": f"PostgreSQL {self._server.version}, pgvector {self._server.pgvector}",
            "search": "exact" if self.ef is None else f"approximate (ef {self.ef})",
            "approximate_indexes": indexes[0],
        }
        return int(row[0]), details

    def _problems(self) -> list[str]:
        connection, tables = self._connection, self._tables
        problems = differences(connection, tables, self.description)
        if problems:
            return problems
        counts = {"objects": (tables.objects, self._counters.n_objects)}
        for number, name in enumerate(self.modalities):
            counts[f"codes of {name!r}"] = tables.codes(number), self._counters.n_codes[number]
        for what, (table, expected) in counts.items():
            found = _number(connection, f"SELECT count(*) FROM {table}")
            if found != expected:
                problems.append(f"there should be {expected} {what}, and there are {found} in {table}")
        for number, name in enumerate(self.modalities):
            alone = _number(
                connection,
                f"SELECT count(*) FROM {tables.codes(number)} c WHERE NOT EXISTS "
                f"(SELECT 1 FROM {tables.objects} o WHERE o.position = c.position)",
            )
            if alone:
                problems.append(f"{alone} codes of {name!r} belong to no object")
        twice = _number(connection, f"SELECT count(*) - count(DISTINCT id) FROM {tables.objects}")
        if twice:
            problems.append(f"{twice} ids are stored more than once")
        data = connection.execute(f"SELECT data FROM {tables.model}").fetchone()
        if self.description.has_model:
            if data is None:
                problems.append("the model is gone")
            elif self.description.model_sha256 != sha256(bytes(data[0])).hexdigest():
                problems.append("the model is damaged: its checksum is wrong")
        return problems


def _number(connection: Connection, statement: str) -> int:
    row = connection.execute(statement).fetchone()
    assert row is not None  # counts always have a row
    return int(row[0])


def open_store(
    address: Address,
    *,
    writable: bool,
    featurizers: Mapping[str, Any] | None,
    kernel: Any,
    timeout: float | None,
) -> PostgresStore:
    """Open a collection, for the registry."""
    caller = "diffhash.open"
    options = check_options(address, (*_OPTIONS, *DRIVER_OPTIONS), caller=caller)
    ef = _read_ef(options.get("ef"), caller)
    connections = Connections(address, timeout, caller=caller)
    try:
        with connections.errors(caller), connections.taken() as connection:
            tables = _tables(connection, options, caller)
            description, data = read_tables(connection, tables, shown=address.shown, caller=caller)
            server = check_server(connection, install=False, shown=address.shown, caller=caller)
            if writable:
                ensure_writes_table(connection, tables, shown=address.shown, caller=caller)
        model = None
        if description.has_model:
            model = description.load(
                data, name=address.shown, kernel=kernel, featurizers=featurizers, caller=caller
            )
        elif featurizers is not None or kernel is not None:
            raise ParameterError(f"{caller}: {address.shown} has no model. Leave featurizers and kernel out.")
        store = PostgresStore(connections, tables, server, description, model, writable=writable)
        store.ef = ef
        return store
    except BaseException:
        connections.close()
        raise


def create_store(address: Address, new: NewStore, *, overwrite: bool, timeout: float | None) -> PostgresStore:
    """Make a collection, for the registry."""
    caller = "diffhash.create"
    options = check_options(address, (*_OPTIONS, *DRIVER_OPTIONS), caller=caller)
    ef = _read_ef(options.get("ef"), caller)
    connections = Connections(address, timeout, caller=caller)
    try:
        with connections.errors(caller), connections.taken() as connection:
            server: Server = check_server(connection, install=True, shown=address.shown, caller=caller)
            tables = _tables(connection, options, caller)
            with connection.transaction():
                create_tables(
                    connection, tables, new, overwrite=overwrite, shown=address.shown, caller=caller
                )
        store = PostgresStore(connections, tables, server, new.description, new.model, writable=True)
        store.ef = ef
        return store
    except BaseException:
        connections.close()
        raise


def _tables(connection: Connection, options: Mapping[str, str], caller: str) -> Tables:
    schema = options.get("schema")
    if schema is None:
        row = connection.execute("SELECT current_schema()").fetchone()
        schema = None if row is None else row[0]
        if schema is None:
            raise AddressError(
                f"{caller}: the user of this database has no schema to use. Name one: ?schema=..."
            )
    collection = check_name(options.get("collection", _DEFAULT_COLLECTION), "collection", caller=caller)
    return Tables(check_name(schema, "schema", caller=caller), collection)


def _read_ef(text: str | None, caller: str) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise AddressError(f"{caller}: ef must be a whole number from 1 to 1,000, got {text!r:.40}.")
    return int(text)
