"""What a collection's file looks like inside: tables, marks, format version.

A collection is a handful of append-only *streams*. A stream is cut into segments, each one row of
the table ``segments``: a number for every entry (``keys``) and the entries themselves (``data``).

======================  ============================  ==================================
stream                  keys                          data
======================  ============================  ==================================
0, names                key of the object             counted UTF-8 bytes (string ids only)
1 + 2 m, codes          key of the object             packed codes of modality m
2 + 2 m, removals       position among the codes      nothing
======================  ============================  ==================================

So whoever knows how many entries it has read of each stream can go on from there.

Payloads are compact JSON, each value written in one way only (``payloads.to_json``); filters rely on it, so
it is part of the format, as are the packed numbers (``keys``) and names (``names``).
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import CollectionFileError, NewerCollectionError

__all__ = [
    "APPLICATION_ID",
    "FORMAT_VERSION",
    "STRING_IDS",
    "check_schema",
    "codes_stream",
    "is_collection_file",
    "new_file",
    "removals_stream",
]

#: "dhsh", in the place that SQLite keeps for the mark of a program.
APPLICATION_ID = 0x64687368
#: Raised when older releases could not read what this one writes.
FORMAT_VERSION = 1
STRING_IDS = 0

_TABLES = {
    "meta": "CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL)",
    "segments": (
        "CREATE TABLE segments (stream INTEGER NOT NULL, start INTEGER NOT NULL, count INTEGER NOT NULL, "
        "crc INTEGER NOT NULL, keys BLOB NOT NULL, data BLOB NOT NULL, UNIQUE (stream, start))"
    ),
    "payloads": "CREATE TABLE payloads (key INTEGER PRIMARY KEY, crc INTEGER NOT NULL, payload TEXT NOT NULL)",
    "fields": "CREATE TABLE fields (field INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE)",
    "field_values": (
        "CREATE TABLE field_values (field INTEGER NOT NULL, kind INTEGER NOT NULL, value NOT NULL, "
        "key INTEGER NOT NULL, PRIMARY KEY (field, kind, value, key)) WITHOUT ROWID"
    ),
}


def codes_stream(modality: int) -> int:
    """Stream of the codes of a modality."""
    return 1 + 2 * modality


def removals_stream(modality: int) -> int:
    """Stream of the positions that were removed from the codes of a modality."""
    return 2 + 2 * modality


def new_file(model: bytes, n_bits: int, modalities: Sequence[str]) -> bytes:
    """The bytes of a collection that holds a model and nothing else."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        for statement in _TABLES.values():
            connection.execute(statement)
        meta: dict[str, Any] = {
            "identity": secrets.token_hex(16),
            "generation": 0,
            "id_kind": "",
            "next_key": 0,
            "n_bits": n_bits,
            "modalities": json.dumps(list(modalities)),
            "model": model,
        }
        connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        return connection.serialize()
    finally:
        connection.close()


def is_collection_file(path: Path) -> bool:
    """Whether a file begins as our collections do, of any version, whole or damaged."""
    with path.open("rb") as file:
        head = file.read(100)
    return head[:16] == b"SQLite format 3\0" and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def check_schema(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a file that is no collection of ours, or that we cannot read."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if mark != APPLICATION_ID:
        raise CollectionFileError(
            f"Collection.open: {path} is no collection of diffhash "
            "(an empty file, or an SQLite database of another program). It was left as it is."
        )
    if version > FORMAT_VERSION:
        raise NewerCollectionError(
            f"Collection.open: {path} has format version {version}; this diffhash reads up to "
            f"{FORMAT_VERSION}. Upgrade diffhash."
        )
    if version < 1:
        raise CollectionFileError(f"Collection.open: {path} has format version {version}, which never was.")
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    # Triggers and views would run with our statements: a file that has any was not made by us.
    if dict(rows) != _TABLES:
        strange = sorted(set(dict(rows).items()) ^ set(_TABLES.items()))
        raise CollectionFileError(
            f"Collection.open: {path} has other tables than a collection has "
            f"({', '.join(sorted({name for name, _ in strange}))}). It was changed by another program."
        )
