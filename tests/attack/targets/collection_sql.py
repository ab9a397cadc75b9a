"""Collections, changed by SQL statements of another program, with the right checksums where that is possible."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
import zlib
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..case import Use
from ..mutate import hostile_json, hostile_text, json_bytes, mutate_bytes
from .collection_files import bases, use

__all__ = ["make", "right_checksums"]

_SCHEMA = [
    "CREATE TRIGGER {name} AFTER INSERT ON {table} BEGIN DELETE FROM payloads; END",
    "CREATE TRIGGER {name} BEFORE DELETE ON {table} BEGIN SELECT RAISE(IGNORE); END",
    "CREATE VIEW {name} AS SELECT * FROM {table}",
    "CREATE TABLE {name} (a, b)",
    "CREATE VIRTUAL TABLE {name} USING fts5(a)",
    "CREATE INDEX {name} ON {table} (rowid)",
    "DROP TABLE {table}",
    "ALTER TABLE {table} RENAME TO {name}",
    "ALTER TABLE {table} ADD COLUMN {name}",
    "PRAGMA user_version = {number}",
    "PRAGMA application_id = {number}",
    "PRAGMA encoding = 'UTF-16'",
    "PRAGMA journal_mode = WAL",
    "PRAGMA auto_vacuum = 1",
    "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE name = '{table}'",
    "UPDATE sqlite_master SET rootpage = {number} WHERE name = '{table}'",
    "INSERT INTO sqlite_master SELECT type, '{name}', tbl_name, rootpage, sql FROM sqlite_master LIMIT 1",
]


def make(rng: random.Random, folder: Path) -> Use:
    """A collection with changed rows or another schema."""
    base, expected = rng.choice(bases())
    path = folder / "objects.dh"
    shutil.copy(base, path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    connection.execute("PRAGMA writable_schema = ON")
    # Another program has no reason to be careful.
    connection.execute("PRAGMA synchronous = OFF")
    for _ in range(rng.choice([1, 1, 2, 5])):
        try:
            _edit(rng, connection)
        except (sqlite3.Error, OverflowError, UnicodeEncodeError, IndexError):
            continue
    if rng.random() < 0.5:
        # A file that its author made to look right may hold anything that the format allows.
        expected = None
        right_checksums(connection)
    connection.close()
    seed = rng.randrange(2**32)
    return lambda: use(path, expected, random.Random(seed))


def _edit(rng: random.Random, connection: sqlite3.Connection) -> None:
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = rng.choice([name for name in tables if not name.startswith("sqlite_")])
    action = rng.randrange(8)
    if action == 0:
        statement = rng.choice(_SCHEMA).format(
            name=rng.choice(["meta", "payloads", "other", "sqlite_other"]),
            table=table,
            number=rng.choice([0, 1, 2, 3, -1, 2**31 - 1]),
        )
        connection.execute(statement)
        return
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    column = rng.choice(columns)
    # "_rowid_" is not a column of every table, so a row is found by all of its values.
    rows = connection.execute(f"SELECT * FROM {table}").fetchall()
    row = rng.choice(rows)
    here = " AND ".join(f"{name} IS ?" for name in columns)
    old = row[columns.index(column)]
    if action == 1:
        connection.execute(f"DELETE FROM {table} WHERE {here}", row)
    elif action == 2:
        changed = list(row)
        changed[columns.index(column)] = _value(rng, old)
        marks = ", ".join("?" * len(columns))
        connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", changed)
    elif action == 3:
        connection.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (_value(rng, old),))
    elif action == 4:
        other = rng.choice(rows)
        connection.execute(
            f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {here}", (other[columns.index(column)], *row)
        )
    else:
        connection.execute(
            f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {here}", (_value(rng, old), *row)
        )


def _value(rng: random.Random, old: Any) -> Any:
    """Another value for a cell: near the old one, or of another type."""
    kind = rng.randrange(9)
    if kind <= 2 and isinstance(old, int):
        return rng.choice([old + 1, old - 1, -old, old + 2**31, 2**63 - 1, -(2**63), 2 * old, float(old), 0])
    if kind <= 3 and isinstance(old, bytes):
        return mutate_bytes(rng, old)
    if kind <= 4 and isinstance(old, str):
        return mutate_bytes(rng, old.encode()).decode("utf-8", "replace")
    return [
        None,
        2**63 - 1,
        0.5,
        float("inf"),
        hostile_text(rng),
        json_bytes(hostile_json(rng)).decode(),
        b"",
        rng.randbytes(20),
        b"\0" + bytes(8),
    ][kind]


def right_checksums(connection: sqlite3.Connection) -> None:
    """Compute all checksums again, as a hostile author can; written from the description of the format."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.create_function("segment_crc", 5, _segment_crc)
    connection.create_function("payload_crc", 2, lambda key, text: _payload_crc(version, key, text))
    statements = [
        "UPDATE segments SET crc = segment_crc(stream, start, count, keys, data)",
        "UPDATE payloads SET crc = payload_crc(key, payload)",
    ]
    if version >= 2:
        connection.create_function("sha256", 1, lambda data: sha256(_as_bytes(data)).hexdigest())
        statements += [
            # That of the captions stays: it does not depend on the checksums above.
            "DELETE FROM totals WHERE part <> -2",
            "INSERT INTO totals SELECT stream, sum(count), sum(crc) % 4294967296 FROM segments GROUP BY stream",
            "INSERT INTO totals SELECT -1, count(*), sum(crc) % 4294967296 FROM payloads HAVING count(*) > 0",
            "UPDATE meta SET value = (SELECT sha256(value) FROM meta WHERE name = 'model') "
            "WHERE name = 'model_sha256'",
        ]
    for statement in statements:
        # An edit may have made it impossible.
        with contextlib.suppress(sqlite3.Error):
            connection.execute(statement)
    if version >= 2:
        with contextlib.suppress(sqlite3.Error, ValueError, TypeError):
            tables = [[list(row) for row in connection.execute(statement)] for statement in _SEALED]
            text = json.dumps(tables, separators=(",", ":"), default=bytes.hex)
            digest = sha256(text.encode()).hexdigest()
            connection.execute("UPDATE meta SET value = ? WHERE name = 'checksum'", (digest,))


#: What the checksum of the description covers, from format 2 on.
_SEALED = (
    "SELECT name, value FROM meta WHERE name NOT IN ('model', 'checksum') ORDER BY name",
    "SELECT part, count, crc FROM totals ORDER BY part",
    "SELECT field, name FROM fields ORDER BY field",
)


def _payload_crc(version: int, key: Any, text: Any) -> int:
    return zlib.crc32(_as_bytes(text), zlib.crc32(f"{key} ".encode()) if version >= 2 else 0)


def _segment_crc(stream: Any, start: Any, count: Any, keys: Any, data: Any) -> int:
    head = f"{stream} {start} {count}".encode("utf-8", "replace")
    return zlib.crc32(_as_bytes(data), zlib.crc32(_as_bytes(keys), zlib.crc32(head)))


def _as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
