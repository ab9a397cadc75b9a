"""The tables of payloads and of indexed payload fields.

A field is indexed by rows (field, kind, value, key) in a table of our own, because an expression
index of SQLite would need the name of the field inside an SQL statement.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
        _delete_entries(db, fields, np.array([row[0] for row in rows], dtype=np.int64))
    db.executemany(
        "INSERT INTO payloads (key, crc, payload) VALUES (?, ?, ?) "
        "ON CONFLICT (key) DO UPDATE SET crc = excluded.crc, payload = excluded.payload",
        rows,
    )
    if fields:
        _insert_entries(db, _entries(fields, ((key, json.loads(text)) for key, _, text in rows)))


def delete_payloads(db: Database, keys: NDArray[np.int64]) -> None:
    """Remove the payloads of removed objects; within a transaction."""
    fields = indexed_fields(db)
    if fields:
        _delete_entries(db, fields, keys)
    db.executemany("DELETE FROM payloads WHERE key = ?", ((key,) for key in keys.tolist()))


def fetch_payloads(db: Database, keys: NDArray[np.int64]) -> dict[int, dict[str, Any]]:
    """Payloads by key; keys without a payload are left out."""
    found: dict[int, dict[str, Any]] = {}
    distinct = np.unique(keys).tolist()
    for begin in range(0, len(distinct), _BLOCK):
        # The keys are bound as one JSON text, which SQLite splits: a statement takes only so many values.
        rows = db.execute(
            "SELECT p.key, p.crc, p.payload FROM json_each(?) AS wanted JOIN payloads AS p ON p.key = wanted.value",
            (json.dumps(distinct[begin : begin + _BLOCK]),),
        )
        for key, crc, text in rows:
            if not isinstance(text, str) or crc != zlib.crc32(text.encode()):
                raise CollectionFileError(
                    f"Collection: {db.path} is damaged: the checksum of payload {key} is wrong."
                )
            found[key] = json.loads(text)
    return found


def indexed_fields(db: Database) -> dict[str, int]:
    """Number of each indexed field, by name."""
    return {name.decode(): field for field, name in db.execute("SELECT field, name FROM fields")}


def index_field(db: Database, name: str) -> None:
    """Index a field of all payloads; within a transaction."""
    if name in indexed_fields(db):
        return
    field = db.execute("INSERT INTO fields (name) VALUES (?)", (name.encode(),)).lastrowid
    assert field is not None
    payloads = ((key, json.loads(text)) for key, text in db.execute("SELECT key, payload FROM payloads"))
    # Sorted as the table is, so that it is written sequentially.
    _insert_entries(db, sorted(_entries({name: field}, payloads)))


def _entries(
    fields: Mapping[str, int], payloads: Iterable[tuple[int, dict[str, Any]]]
) -> Iterator[tuple[int, int, Any, int]]:
    """Rows (field, kind, value, key) of the index; null and missing fields have none."""
    for key, payload in payloads:
        for name, field in fields.items():
            kind = kind_of(payload.get(name))
            if kind is not None:
                yield field, *kind, key


def _insert_entries(db: Database, entries: Iterable[tuple[int, int, Any, int]]) -> None:
    db.executemany("INSERT INTO field_values (field, kind, value, key) VALUES (?, ?, ?, ?)", entries)


def _delete_entries(db: Database, fields: Mapping[str, int], keys: NDArray[np.int64]) -> None:
    db.executemany(
        "DELETE FROM field_values WHERE field = ? AND kind = ? AND value = ? AND key = ?",
        _entries(fields, fetch_payloads(db, keys).items()),
    )
