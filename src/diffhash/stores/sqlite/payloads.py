"""The tables of payloads and of indexed payload fields.

A field is indexed by rows (field, kind, value, key) in a table of our own, because an expression
index of SQLite would need the name of the field inside an SQL statement.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CollectionFileError
from ..filter_syntax import TEXT, kind_of
from .database import Database
from .payload_blocks import DECODER, payload_blocks
from .sqlite_errors import damage_is_reported
from .totals import PAYLOADS, add_to_total
from .word_index import add_captions, indexed_word_fields, remove_captions

__all__ = [
    "all_payloads",
    "delete_payloads",
    "fetch_payloads",
    "index_field",
    "indexed_fields",
    "payload_checksum",
    "read_payload",
    "store_payloads",
]

_BLOCK = 10_000
#: Values of fewer objects are inserted into the index row by row.
_FEW_KEYS = 4
#: Number of payloads, number of usual ones, and all as one text. Payloads contain no line breaks: JSON has them as \\n.
_JOINED = (
    "SELECT count(*), total(typeof(p.payload) = 'text' AND typeof(p.crc) = 'integer'), "
    "group_concat(p.crc || ' ' || p.key || ' ' || p.payload, char(10))"
)


#: Reads one value without looking for blanks around it; returns the value and where it ends.
_scan: Callable[[str, int], tuple[Any, int]] = DECODER.scan_once  # type: ignore[attr-defined]


def payload_checksum(format_: int, key: int, text: str) -> int:
    """Checksum of a payload. From format 2 on it also covers the key: to whom the payload belongs."""
    start = zlib.crc32(f"{key} ".encode()) if format_ >= 2 else 0
    return zlib.crc32(text.encode(), start)


def read_payload(db: Database, key: int, crc: Any, text: Any) -> dict[str, Any]:
    """A stored payload as a dict; an error if it was changed."""
    if not isinstance(text, str) or crc != payload_checksum(db.format, key, text):
        raise CollectionFileError(
            f"Collection: {db.path} is damaged: the checksum of payload {key} is wrong. "
            "Take the file from a backup."
        )
    try:
        payload = DECODER.decode(text)
        if not isinstance(payload, dict):
            raise TypeError(f"it is a {type(payload).__name__}")
    except (ValueError, TypeError, RecursionError) as error:
        raise CollectionFileError(
            f"Collection: {db.path} is damaged: payload {key} is not a JSON object ({error}). "
            "Take the file from a backup."
        ) from error
    return payload


def store_payloads(
    db: Database,
    keys: NDArray[np.int64],
    texts: Sequence[str | None],
    payloads: Sequence[Any] | None = None,
) -> None:
    """Store or replace the payloads of objects; within a transaction.

    ``payloads`` are the same as objects, if the caller has them: then captions are not read from the texts again.
    """
    rows = [
        (key, payload_checksum(db.format, key, text), text)
        for key, text in zip(keys.tolist(), texts, strict=True)
        if text is not None
    ]
    if not rows:
        return
    stored = np.array([row[0] for row in rows], dtype=np.int64)
    fields = indexed_fields(db)
    if fields:
        _delete_entries(db, fields, stored)
    word_fields = indexed_word_fields(db)
    if word_fields and _may_be_stored(db, stored):
        remove_captions(db, word_fields, fetch_payloads(db, stored))
    _take_from_total(db, stored)
    db.executemany(
        "INSERT INTO payloads (key, crc, payload) VALUES (?, ?, ?) "
        "ON CONFLICT (key) DO UPDATE SET crc = excluded.crc, payload = excluded.payload",
        rows,
    )
    add_to_total(db, PAYLOADS, len(rows), sum(row[1] for row in rows))
    if fields:
        _insert_entries(db, _entries(fields, ((key, json.loads(text)) for key, _, text in rows)))
    if word_fields:
        if payloads is None or not {*map(type, payloads)} <= {dict, type(None)}:
            payloads = [None if text is None else json.loads(text) for text in texts]
        own: Iterator[tuple[int, Any]] = zip(keys.tolist(), payloads, strict=True)
        if len(rows) < len(payloads):
            own = ((key, payload) for key, payload in own if payload is not None)
        add_captions(db, word_fields, own)


def delete_payloads(db: Database, keys: NDArray[np.int64]) -> None:
    """Remove the payloads of removed objects; within a transaction."""
    fields = indexed_fields(db)
    if fields:
        _delete_entries(db, fields, keys)
    word_fields = indexed_word_fields(db)
    if word_fields:
        remove_captions(db, word_fields, fetch_payloads(db, keys))
    _take_from_total(db, keys)
    db.executemany("DELETE FROM payloads WHERE key = ?", ((key,) for key in keys.tolist()))


def _take_from_total(db: Database, keys: NDArray[np.int64]) -> None:
    """Take payloads that are going to be replaced or removed out of the total."""
    if db.format < 2 or not _may_be_stored(db, keys):
        return
    with damage_is_reported(db.path):
        for count, crc in _rows_of(db, keys, "SELECT count(*), total(p.crc)"):
            add_to_total(db, PAYLOADS, -count, -int(crc))


def _may_be_stored(db: Database, keys: NDArray[np.int64]) -> bool:
    """False if no key has a payload: new objects have larger keys than all others, as a rule."""
    largest = db.value("SELECT max(key) FROM payloads")
    return len(keys) > 0 and largest is not None and largest >= int(keys.min())


def fetch_payloads(db: Database, keys: NDArray[np.int64]) -> dict[int, dict[str, Any]]:
    """Payloads by key; keys without a payload are left out."""
    wanted = np.unique(keys)
    found = _fetch_joined(db, wanted)
    if found is not None:
        return found
    rows = _rows_of(db, wanted, "SELECT p.key, p.crc, p.payload")
    return {key: read_payload(db, key, crc, text) for key, crc, text in rows}


def _fetch_joined(db: Database, keys: NDArray[np.int64]) -> dict[int, dict[str, Any]] | None:
    """Payloads by key, read as one text; None if something is unusual: then the slower way says what.

    SQLite releases Python's lock for each row, and other threads take it: one row is faster than many.
    """
    return None if db.format < 2 else _parse_joined(_rows_of(db, keys, _JOINED))


def _parse_joined(blocks: Iterable[tuple[Any, ...]]) -> dict[int, dict[str, Any]] | None:
    """Payloads by key from rows of ``_JOINED``; None if something is unusual."""
    found: dict[int, dict[str, Any]] = {}
    for count, n_usual, text in blocks:
        if not count:
            continue
        lines = text.split("\n")
        if n_usual != count or len(lines) != count:
            return None
        for line in lines:
            crc, _, rest = line.partition(" ")
            # The checksum covers the key, a space and the payload.
            if str(zlib.crc32(rest.encode())) != crc:
                return None
            key, _, payload = rest.partition(" ")
            try:
                value, end = _scan(payload, 0)
            except (ValueError, StopIteration, RecursionError):
                return None
            if end != len(payload) or type(value) is not dict:
                return None
            found[int(key)] = value
    return found


def _rows_of(db: Database, keys: NDArray[np.int64], select: str) -> Iterator[tuple[Any, ...]]:
    """Rows of ``payloads`` (called p) with these keys, which differ."""
    numbers = keys.tolist()
    for begin in range(0, len(numbers), _BLOCK):
        # The keys are bound as one JSON text, which SQLite splits: a statement takes only so many values.
        yield from db.execute(
            f"{select} FROM json_each(?) AS wanted JOIN payloads AS p ON p.key = wanted.value",
            (json.dumps(numbers[begin : begin + _BLOCK]),),
        )


def indexed_fields(db: Database) -> dict[str, int]:
    """Number of each indexed field, by name."""
    with damage_is_reported(db.path):
        return {name.decode(): field for field, name in db.execute("SELECT field, name FROM fields")}


def index_field(db: Database, name: str) -> None:
    """Index a field of all payloads; within a transaction."""
    if name in indexed_fields(db):
        return
    field = db.execute("INSERT INTO fields (name) VALUES (?)", (name.encode(),)).lastrowid
    assert field is not None
    with damage_is_reported(db.path):
        keys_by_text: defaultdict[str, list[int]] = defaultdict(list)
        # 1 and 1.0 are equal in Python, and are stored as they were given.
        keys_by_value: defaultdict[tuple[int, type, Any], list[int]] = defaultdict(list)
        for keys, payloads in _parsed_blocks(db):
            for key, value in zip(keys, [payload.get(name) for payload in payloads], strict=True):
                if type(value) is str:
                    keys_by_text[value].append(key)
                elif (kind := kind_of(value)) is not None:
                    keys_by_value[kind[0], type(kind[1]), kind[1]].append(key)
        keys_by_value.update(((TEXT, str, text), found) for text, found in keys_by_text.items())
        _insert_by_value(db, field, keys_by_value)


def _insert_by_value(
    db: Database, field: int, keys_by_value: Mapping[tuple[int, type, Any], list[int]]
) -> None:
    """Insert the rows of a field. Keys that share a value are bound as one text: a statement takes time."""
    few: list[tuple[int, int, Any, int]] = []
    # Sorted as the table is, so that it is written sequentially.
    for kind, _, value in sorted(keys_by_value, key=lambda entry: (entry[0], entry[2])):
        keys = keys_by_value[kind, type(value), value]
        if len(keys) < _FEW_KEYS:
            few += ((field, kind, value, key) for key in keys)
            continue
        _insert_entries(db, few)
        few = []
        for begin in range(0, len(keys), _BLOCK):
            db.execute(
                "INSERT INTO field_values (field, kind, value, key) SELECT ?, ?, ?, value FROM json_each(?)",
                (field, kind, value, json.dumps(keys[begin : begin + _BLOCK])),
            )
    _insert_entries(db, few)


def _parsed_blocks(db: Database) -> Iterator[tuple[Sequence[int], Sequence[dict[str, Any]]]]:
    """Keys and payloads of all objects that have one, in blocks."""
    for block in payload_blocks(db):
        parsed = block.parse(db.format)
        yield (
            block.keys,
            [read_payload(db, *row) for row in block.rows()] if parsed is None else parsed.payloads,
        )


def all_payloads(db: Database) -> Iterator[tuple[int, dict[str, Any]]]:
    """Keys and payloads of all objects that have one."""
    for keys, payloads in _parsed_blocks(db):
        yield from zip(keys, payloads, strict=True)


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
    with damage_is_reported(db.path):
        db.executemany(
            "DELETE FROM field_values WHERE field = ? AND kind = ? AND value = ? AND key = ?",
            _entries(fields, fetch_payloads(db, keys).items()),
        )
