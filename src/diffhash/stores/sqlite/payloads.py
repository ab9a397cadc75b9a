"""Payloads: one JSON object for each stored object, and the fields that are indexed.

The index of a field is a table of our own with (field, kind, value, key): SQLite's expression indexes
would need the field's name inside an SQL statement.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CollectionFileError, InputError
from .database import Database

__all__ = [
    "BOOL",
    "NUMBER",
    "OTHER",
    "TEXT",
    "delete_payloads",
    "encode_payloads",
    "fetch_payloads",
    "index_field",
    "indexed_fields",
    "kind_of",
    "store_payloads",
    "to_json",
]

BOOL, NUMBER, TEXT, OTHER = 1, 2, 3, 4
_DEEPEST = 100
_BLOCK = 10_000
_SIMPLE = frozenset({str, float, bool, type(None)})


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's; for the encoder, which asks about what it does not know."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")


#: Payloads as they stand in the file: compact, and each value written in one way only.
to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode


def encode_payloads(payloads: Any, count: int, *, caller: str) -> list[str | None]:
    """Payloads as JSON texts; None where there is none to store."""
    if payloads is None:
        return [None] * count
    if isinstance(payloads, Mapping | str) or not isinstance(payloads, Iterable):
        raise InputError(f"{caller}: payloads must be a list of dicts, got {type(payloads).__name__}.")
    payloads = list(payloads)
    if len(payloads) != count:
        raise InputError(f"{caller}: {count} items need {count} payloads, got {len(payloads)}.")
    try:
        texts = _encode_all([payload for payload in payloads if payload is not None])
    except (TypeError, ValueError, RecursionError):
        texts = [_encode(payload, row, caller) for row, payload in enumerate(payloads) if payload is not None]
    following = iter(texts)
    return [None if payload is None else next(following) for payload in payloads]


def _encode(payload: Any, row: int, caller: str) -> str:
    try:
        _check(payload, 0)
        text = to_json(payload)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{caller}: payload {row} must be a dict of what JSON can hold, with strings as keys ({error})."
        ) from error
    return text


def _encode_all(payloads: list[Any]) -> list[str]:
    """JSON texts, in one call of the encoder: a call for each would take three times as long."""
    for payload in payloads:
        if not _is_simple(payload):
            _check(payload, 0)
    # A word that is in no payload goes between them, and the text is cut there.
    word = secrets.token_hex(16)
    mixed: list[Any] = [word] * (2 * len(payloads))
    mixed[::2] = payloads
    text = to_json(mixed)
    text.encode()
    texts = text[1:].split(f',"{word}",')
    if not payloads:
        return []
    texts[-1] = texts[-1].removesuffix(f',"{word}"]')
    if len(texts) != len(payloads):
        raise ValueError("the word was in a payload")
    return texts


def _is_simple(payload: Any) -> bool:
    """Whether a payload is plain and flat: nearly all are, and need no further look."""
    if type(payload) is not dict:
        return False
    for key, item in payload.items():
        kind = type(item)
        if type(key) is not str or (
            kind not in _SIMPLE and (kind is not int or not -(2**63) <= item < 2**63)
        ):
            return False
    return True


def _check(value: Any, depth: int) -> None:
    """Refuse what JSON would silently change, or could not bring back."""
    if depth > _DEEPEST:
        raise ValueError(f"nested deeper than {_DEEPEST} levels")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is no string")
            if isinstance(item, dict | list | tuple):
                _check(item, depth + 1)
            elif isinstance(item, int | np.integer) and not -(2**63) <= item < 2**63:
                raise ValueError(f"{item} does not fit 64 bits: store it as a string")
    elif depth and isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, dict | list | tuple):
                _check(item, depth + 1)
    else:
        raise TypeError(f"it is of type {type(value).__name__}")


def kind_of(value: Any) -> tuple[int, Any] | None:
    """How a value is compared: its kind, and the value that SQLite compares; None for null."""
    if value is None:
        return None
    if isinstance(value, bool):
        return BOOL, int(value)
    if isinstance(value, int | float):
        return NUMBER, value
    if isinstance(value, str):
        return TEXT, value
    return OTHER, 0


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
