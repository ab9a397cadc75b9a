"""Payloads: one JSON object for each stored object, and the fields that are indexed.

The index of a field is a table of our own with (field, kind, value, key): SQLite's expression indexes
would need the field's name inside an SQL statement.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CollectionFileError
from ..filter_syntax import kind_of
from .database import Database

__all__ = [
    "delete_payloads",
    "fetch_payloads",
    "index_field",
    "indexed_fields",
    "store_payloads",
]

_BLOCK = 10_000


def store_payloads(db: Database, keys: NDArray[np.int64], texts: Sequence[str | None]) -> None:
    """Store or replace the payloads of objects; within a transaction."""
    rows = [
        (key, zlib.crc32(text.encode()), text)
        for key, text in zip(keys.tolist(), texts, strict=True)
        if text is not None
    ]
    if not rows:
        return
    fields = indexed_fields(db)
    if fields:
        _unindex(db, fields, np.array([row[0] for row in rows], dtype=np.int64))
    db.executemany(
        "INSERT INTO payloads (key, crc, payload) VALUES (?, ?, ?) "
        "ON CONFLICT (key) DO UPDATE SET crc = excluded.crc, payload = excluded.payload",
        rows,
    )
    if fields:
        _index(db, fields, ((key, json.loads(text)) for key, _, text in rows))


def delete_payloads(db: Database, keys: NDArray[np.int64]) -> None:
    """Remove the payloads of objects that are gone; within a transaction."""
    fields = indexed_fields(db)
    if fields:
        _unindex(db, fields, keys)
    db.executemany("DELETE FROM payloads WHERE key = ?", ((key,) for key in keys.tolist()))


def fetch_payloads(db: Database, keys: NDArray[np.int64]) -> dict[int, dict[str, Any]]:
    """Payloads by key, of those that have one."""
    found: dict[int, dict[str, Any]] = {}
    distinct = np.unique(keys).tolist()
    for begin in range(0, len(distinct), _BLOCK):
        # A list of keys is bound as one value; SQLite takes it apart.
        rows = db.execute(
            "SELECT p.key, p.crc, p.payload FROM json_each(?) AS wanted JOIN payloads AS p ON p.key = wanted.value",
            (json.dumps(distinct[begin : begin + _BLOCK]),),
        )
        for key, crc, text in rows:
            if not isinstance(text, str) or crc != zlib.crc32(text.encode()):
                raise CollectionFileError(
                    f"Collection: {db.path} is damaged: payload {key} is not as it was written."
                )
            found[key] = json.loads(text)
    return found


def indexed_fields(db: Database) -> dict[str, int]:
    """Numbers of the indexed fields by name."""
    return {name.decode(): field for field, name in db.execute("SELECT field, name FROM fields")}


def index_field(db: Database, name: str) -> None:
    """Index a field of all payloads; within a transaction."""
    if name in indexed_fields(db):
        return
    field = db.execute("INSERT INTO fields (name) VALUES (?)", (name.encode(),)).lastrowid
    assert field is not None
    entries = []
    for key, text in db.execute("SELECT key, payload FROM payloads"):
        kind = kind_of(json.loads(text).get(name))
        if kind is not None:
            entries.append((field, *kind, key))
    # In the order of the table, which is then written from left to right.
    entries.sort()
    db.executemany("INSERT INTO field_values (field, kind, value, key) VALUES (?, ?, ?, ?)", entries)


def _index(db: Database, fields: Mapping[str, int], payloads: Iterable[tuple[int, dict[str, Any]]]) -> None:
    entries = []
    for key, payload in payloads:
        for name, field in fields.items():
            kind = kind_of(payload.get(name))
            if kind is not None:
                entries.append((field, *kind, key))
    db.executemany("INSERT INTO field_values (field, kind, value, key) VALUES (?, ?, ?, ?)", entries)


def _unindex(db: Database, fields: Mapping[str, int], keys: NDArray[np.int64]) -> None:
    entries = []
    for key, payload in fetch_payloads(db, keys).items():
        for name, field in fields.items():
            kind = kind_of(payload.get(name))
            if kind is not None:
                entries.append((field, *kind, key))
    db.executemany("DELETE FROM field_values WHERE field = ? AND kind = ? AND value = ? AND key = ?", entries)
