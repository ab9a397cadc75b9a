"""The tables of a collection in PostgreSQL: their names, how they are made, and whether they are still what they were.

| table | content |
|---|---|
| ``<collection>`` | one row: the description as JSON, and counters. Writers lock it |
| ``<collection>_model`` | the model, as its file would be |
| ``<collection>_objects`` | position, id and payload of each object; positions count objects in the order of adding |
| ``<collection>_codes_<n>`` | position and code, for each modality |
| ``<collection>_writes`` | one row for each of the last calls that wrote, to tell clients that a call was committed |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg
from psycopg import errors, sql

from ...codes import code_bytes
from ...errors import (
    AddressError,
    CollectionExistsError,
    CollectionFileError,
    CollectionNotFoundError,
    StoreServerError,
)
from ..store_description import NewStore, StoreDescription

__all__ = ["Server", "Tables", "check_server", "create_tables", "ensure_writes_table", "read_tables"]

Connection: TypeAlias = psycopg.Connection[Any]

#: Oldest versions that are accepted: PostgreSQL before 13 gets no fixes any more, and ``<~>`` of pgvector compares
#: values of type ``bit`` since 0.7.
MIN_SERVER, MIN_PGVECTOR = 13, (0, 7)
_LONGEST_NAME = 48
#: The table of writes has these columns and no others, so that a table of something else is never taken for it.
_WRITES_COLUMNS = [("write", "uuid"), ("written", "timestamp with time zone")]


def quoted(name: str) -> str:
    """A name as a part of a statement."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Server:
    """What a server is.

    Attributes
    ----------
    version : str
    pgvector : str
    extension_schema : str
        Schema in which pgvector is installed.
    """

    version: str
    pgvector: str
    extension_schema: str


@dataclass(frozen=True)
class Tables:
    """Names of the tables of a collection, quoted, as parts of statements."""

    schema: str
    collection: str

    def name(self, suffix: str = "") -> str:
        """Quoted name of the table with a suffix."""
        return f"{quoted(self.schema)}.{quoted(self.collection + suffix)}"

    @property
    def main(self) -> str:
        """The table with the description."""
        return self.name()

    @property
    def model(self) -> str:
        """The table with the model."""
        return self.name("_model")

    @property
    def objects(self) -> str:
        """The table of objects."""
        return self.name("_objects")

    @property
    def writes(self) -> str:
        """The table of the last calls that wrote."""
        return self.name("_writes")

    def codes(self, number: int) -> str:
        """The table of codes of a modality."""
        return self.name(f"_codes_{number}")

    def all(self, n_modalities: int) -> list[str]:
        """All tables."""
        return [
            self.main,
            self.model,
            self.objects,
            self.writes,
            *(self.codes(n) for n in range(n_modalities)),
        ]


def check_name(name: str, what: str, *, caller: str) -> str:
    """A name of a schema or collection that PostgreSQL takes as it is. ``%`` has a meaning for the driver."""
    if not name or set(name) & {"\0", "%"} or len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        raise AddressError(
            f"{caller}: the {what} must be a name of 1 to {_LONGEST_NAME} bytes without '%', got {name!r:.80}."
        )
    return name


def check_server(connection: Connection, *, install: bool, shown: str, caller: str) -> Server:
    """Raise unless the server is new enough and has pgvector. With ``install``, enable pgvector if that is allowed."""
    version = connection.info.server_version
    if version < MIN_SERVER * 10_000:
        raise StoreServerError(
            f"{caller}: the server of {shown} is PostgreSQL {version // 10_000}, and {MIN_SERVER} or later is needed."
        )
    found = _extension(connection)
    if found is None and install:
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except errors.InsufficientPrivilege:
            raise StoreServerError(
                f"{caller}: pgvector is not enabled in the database of {shown}, and its user may not enable it. Ask an "
                "administrator to run: CREATE EXTENSION vector"
            ) from None
        except (errors.UndefinedFile, errors.FeatureNotSupported, errors.InvalidParameterValue):
            pass
        found = _extension(connection)
    if found is None:
        raise StoreServerError(
            f"{caller}: the server of {shown} lacks the extension pgvector, or it is not enabled in this database. "
            "Install pgvector on the server (package postgresql-NN-pgvector), and run: CREATE EXTENSION vector"
        )
    pgvector, schema = found
    if tuple(int(part) for part in pgvector.split(".")[:2]) < MIN_PGVECTOR:
        needed = ".".join(map(str, MIN_PGVECTOR))
        raise StoreServerError(
            f"{caller}: the server of {shown} has pgvector {pgvector}, and {needed} or later is needed. "
            "Install it, and run: ALTER EXTENSION vector UPDATE"
        )
    return Server(str(connection.info.parameter_status("server_version")), pgvector, schema)


def _extension(connection: Connection) -> tuple[str, str] | None:
    row: tuple[str, str] | None = connection.execute(
        "SELECT extversion, nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
        "WHERE extname = 'vector'"
    ).fetchone()
    return row


def create_tables(
    connection: Connection, tables: Tables, new: NewStore, *, overwrite: bool, shown: str, caller: str
) -> None:
    """Make the tables of a collection; within a transaction. Only a collection is ever replaced."""
    _lock_names(connection, tables)
    exists = f"{caller}: {shown} exists already. Open it, choose another name, or say overwrite=True."
    if _exists(connection, tables.main):
        if not overwrite:
            raise CollectionExistsError(exists)
        try:
            old = _read_description(connection, tables, shown)
        except CollectionFileError as error:
            raise CollectionExistsError(
                f"{caller}: the table {tables.main} of {shown} is not a collection, so it is not replaced. "
                "Remove it yourself, or choose another name."
            ) from error
        replaced = tables.all(len(old.modalities))
        if not _exists(connection, tables.writes):
            replaced.remove(tables.writes)
        elif not _is_writes_table(connection, tables):
            raise CollectionExistsError(
                f"{caller}: the table {tables.writes} of {shown} belongs to something else, so it is not replaced. "
                "Nothing was changed. Rename that table, or choose another name."
            )
        connection.execute(f"DROP TABLE IF EXISTS {', '.join(replaced)}")
    for name in tables.all(len(new.description.modalities)):
        if _exists(connection, name):
            raise CollectionExistsError(
                f"{caller}: the table {name} of {shown} exists and belongs to something else, so it is not replaced. "
                "Choose another name."
            )
    bits = 8 * code_bytes(new.description.n_bits)
    counts = [0] * len(new.description.modalities)
    try:
        connection.execute(
            f"CREATE TABLE {tables.main} (description text NOT NULL, id_kind text NOT NULL, next_id bigint NOT NULL, "
            "next_position bigint NOT NULL, n_objects bigint NOT NULL, n_codes bigint[] NOT NULL)"
        )
        connection.execute(f"CREATE TABLE {tables.model} (data bytea NOT NULL)")
        connection.execute(
            f"CREATE TABLE {tables.objects} (position bigint PRIMARY KEY, id bigint NOT NULL UNIQUE, payload jsonb)"
        )
        connection.execute(_writes_statement(tables))
        for number, modality in enumerate(new.description.modalities):
            table = tables.codes(number)
            connection.execute(
                f"CREATE TABLE {table} (position bigint PRIMARY KEY, code bit({bits}) NOT NULL)"
            )
            comment = sql.Literal(f"Codes of {modality}").as_string(connection)
            connection.execute(f"COMMENT ON TABLE {table} IS {comment}")
    except (errors.DuplicateTable, errors.UniqueViolation):
        # Somebody else made it between the look and the statement.
        raise CollectionExistsError(exists) from None
    connection.execute(
        f"INSERT INTO {tables.main} VALUES (%s, '', 0, 0, 0, %s)", (new.description.to_json(), counts)
    )
    if new.data:
        connection.execute(f"INSERT INTO {tables.model} VALUES (%s)", (new.data,))


def _writes_statement(tables: Tables) -> str:
    return (
        f"CREATE TABLE {tables.writes} (write uuid PRIMARY KEY, written timestamptz NOT NULL DEFAULT now())"
    )


def ensure_writes_table(connection: Connection, tables: Tables, *, shown: str, caller: str) -> None:
    """Make the table of writes if the collection comes from before 0.2.0, which did not have it."""
    if not _exists(connection, tables.writes):
        _add_writes_table(connection, tables, shown=shown, caller=caller)
    if not _is_writes_table(connection, tables):
        expected, found = (
            ", ".join(f"{column} {kind}" for column, kind in columns) or "none"
            for columns in (_WRITES_COLUMNS, _columns(connection, tables.writes))
        )
        raise CollectionFileError(
            f"{caller}: writing to {shown} needs the table {tables.writes} with the columns {expected}. A table of "
            f"something else has this name; its columns are {found:.200}. Nothing was changed. Rename that table, and "
            "open the collection again. If it belongs to another collection, copy that one to another name."
        )
    row = connection.execute(
        "SELECT bool_and(has_table_privilege(c.oid, needed)), current_user, pg_get_userbyid(c.relowner) "
        "FROM pg_class c, unnest(%s::text[]) needed WHERE c.oid = to_regclass(%s) GROUP BY c.oid, c.relowner",
        (["SELECT", "INSERT", "DELETE"], tables.writes),
    ).fetchone()
    if row is not None and not row[0]:
        raise StoreServerError(
            f"{caller}: the role {row[1]!r} may not write to {shown}: it needs rights on the table {tables.writes}, as "
            f"on the other tables of the collection. Let {row[2]!r}, its owner, run: {_grant(tables, row[1])}"
        )


def _add_writes_table(connection: Connection, tables: Tables, *, shown: str, caller: str) -> None:
    """Make the table of writes, for the owner of the collection; others could not give rights on it to other roles."""
    owner, user = "", ""
    try:
        with connection.transaction():
            # Whatever the server's default is: what others did before they gave the lock back must be seen.
            connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            _lock_names(connection, tables)
            if _exists(connection, tables.writes):
                return
            row = connection.execute(
                "SELECT pg_get_userbyid(relowner), current_user, pg_has_role(relowner, 'USAGE') FROM pg_class "
                "WHERE oid = to_regclass(%s)",
                (tables.main,),
            ).fetchone()
            if row is None:
                raise CollectionNotFoundError(f"{caller}: the collection {shown} was removed meanwhile.")
            owner, user, allowed = row
            if allowed:
                connection.execute(_writes_statement(tables))
                if user != owner:
                    connection.execute(f"ALTER TABLE {tables.writes} OWNER TO {quoted(owner)}")
                return
    except errors.InsufficientPrivilege:
        pass
    except (errors.DuplicateTable, errors.UniqueViolation):
        return  # Somebody else made a table of this name; the caller looks at it.
    raise StoreServerError(
        f"{caller}: writing to {shown} needs the table {tables.writes}, which collections from before 0.2.0 do not "
        f"have, and the role {user!r} may not make it. Let {owner!r}, the owner of the collection, open it once with "
        f"writable=True, or run: {_writes_statement(tables)}; then run: {_grant(tables, user)}"
    )


def _grant(tables: Tables, role: str) -> str:
    return f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables.writes} TO {quoted(role)}"


def _lock_names(connection: Connection, tables: Tables) -> None:
    """Wait until nobody else makes tables of this collection; until the end of the transaction.

    ``IF NOT EXISTS`` does not suffice: of two that make a table at once, one fails.
    """
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (tables.main,))


def _is_writes_table(connection: Connection, tables: Tables) -> bool:
    row = connection.execute(
        "SELECT relkind = 'r' FROM pg_class WHERE oid = to_regclass(%s)", (tables.writes,)
    ).fetchone()
    return bool(row and row[0]) and _columns(connection, tables.writes) == _WRITES_COLUMNS


def read_tables(
    connection: Connection, tables: Tables, *, shown: str, caller: str
) -> tuple[StoreDescription, bytes]:
    """The description and the model; within a transaction. Raises if the tables are not those of a collection."""
    if not _exists(connection, tables.main):
        raise CollectionNotFoundError(
            f"{caller}: {shown} has no collection {tables.collection!r} (table {tables.main}). "
            "diffhash.create makes a new one."
        )
    description = _read_description(connection, tables, shown)
    problems = differences(connection, tables, description)
    if problems:
        raise CollectionFileError(
            f"{caller}: the tables of {shown} are not what diffhash made: {problems[0]}. Somebody else has changed "
            "them. Restore them from a backup."
        )
    row = connection.execute(f"SELECT data FROM {tables.model}").fetchone()
    if description.has_model and row is None:
        raise CollectionFileError(
            f"{caller}: the table {tables.model} of {shown} is empty: the model is gone."
        )
    return description, b"" if row is None else bytes(row[0])


def _exists(connection: Connection, table: str) -> bool:
    row = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchone()
    return bool(row and row[0])


def _read_description(connection: Connection, tables: Tables, shown: str) -> StoreDescription:
    name = f"the table {tables.main} of {shown}"
    columns = {column for column, _ in _columns(connection, tables.main)}
    if "description" not in columns:
        raise CollectionFileError(f"{name} is not a collection: it belongs to something else.")
    rows = connection.execute(f"SELECT description::text FROM {tables.main} LIMIT 2").fetchall()
    if len(rows) != 1:
        raise CollectionFileError(
            f"{name} is not a collection, or it is damaged: it has {len(rows) or 'no'} rows."
        )
    return StoreDescription.from_json(rows[0][0], name=name)


def _columns(connection: Connection, table: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = connection.execute(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        (table,),
    ).fetchall()
    return found


def differences(connection: Connection, tables: Tables, description: StoreDescription) -> list[str]:
    """How the tables differ from what they should be. Further columns and indexes do no harm."""
    bits = f"bit({8 * code_bytes(description.n_bits)})"
    expected: dict[str, dict[str, tuple[str, ...]]] = {
        tables.main: {
            "description": ("text",),
            "id_kind": ("text",),
            "next_id": ("bigint",),
            "next_position": ("bigint",),
            "n_objects": ("bigint",),
            "n_codes": ("bigint[]",),
        },
        tables.model: {"data": ("bytea",)},
        tables.objects: {"position": ("bigint",), "id": ("bigint", "text"), "payload": ("jsonb",)},
    }
    for number in range(len(description.modalities)):
        expected[tables.codes(number)] = {"position": ("bigint",), "code": (bits,)}
    problems = []
    for table, columns in expected.items():
        found = dict(_columns(connection, table))
        if not found:
            problems.append(f"the table {table} is missing")
            continue
        problems += [
            f"the column {column} of {table} should be {' or '.join(types)}, and is {found.get(column, 'missing')}"
            for column, types in columns.items()
            if found.get(column) not in types
        ]
    return problems
