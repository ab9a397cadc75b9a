"""The format of a collection's file: tables, application id, format version.

A collection consists of a few append-only *streams*. A stream is split into segments, each a row of
the table ``segments``: a number for each entry (``keys``) and the entries themselves (``data``).

======================  ============================  ==================================
stream                  keys                          data
======================  ============================  ==================================
0, string ids           key of the object             counted UTF-8 bytes (only for string ids)
1 + 2 m, codes          key of the object             packed codes of modality m
2 + 2 m, removals       position among the codes      empty
======================  ============================  ==================================

A reader that knows how many entries of each stream it has read can read the rest.

Payloads are compact JSON in which equal values are equal texts (``payload_json.to_json``). Filters rely
on that, so it is part of the format. So are the packed numbers (``packed_numbers``) and strings
(``string_ids``).

One modality may hold fused codes, made from all modalities of an object. The row ``fused`` of ``meta`` then has
its name; all other modalities are those of the model.

The model of a collection that has none (``Collection.create`` without a hasher) has no bytes.

Format 2 adds checksums that also cover what belongs together: see :mod:`.seal` and :mod:`.totals`. It also
adds the word index, a table that a file has only if its description names the fields to index: see
:mod:`.word_index`.

To add a table to the format, add its statement to ``_TABLES``. The check of a file runs these statements
in an empty database and compares the whole schema, so it also knows what SQLite makes by itself: indexes
of keys, and the shadow tables of a virtual table. A table is always written by statements of our own,
inside our own transactions. Triggers and views are never part of the format.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections import Counter
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...errors import CollectionError, CollectionFileError, NewerCollectionError
from ...output_files import OutputKind
from .seal import seal

__all__ = [
    "APPLICATION_ID",
    "BESIDE",
    "COLLECTION_FILE",
    "FORMAT_VERSION",
    "SQLITE_HEADER",
    "WORDS_TABLE",
    "added_tables",
    "check_schema",
    "has_words_table",
    "is_collection_file",
    "make_words_table",
    "new_file",
    "new_identity",
]

#: First bytes of every SQLite file.
SQLITE_HEADER = b"SQLite format 3\0"
#: Endings of the files beside an open collection: those of SQLite, and the lock.
BESIDE = ("-wal", "-shm", "-journal", "-lock")
#: "dhsh". SQLite reserves this number for the program that a file belongs to.
APPLICATION_ID = 0x64687368
#: Goes up when older releases cannot read what this one writes.
FORMAT_VERSION = 2

_FORMAT_1 = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL)",
    "CREATE TABLE segments (stream INTEGER NOT NULL, start INTEGER NOT NULL, count INTEGER NOT NULL, "
    "crc INTEGER NOT NULL, keys BLOB NOT NULL, data BLOB NOT NULL, UNIQUE (stream, start))",
    "CREATE TABLE payloads (key INTEGER PRIMARY KEY, crc INTEGER NOT NULL, payload TEXT NOT NULL)",
    "CREATE TABLE fields (field INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE)",
    "CREATE TABLE field_values (field INTEGER NOT NULL, kind INTEGER NOT NULL, value NOT NULL, "
    "key INTEGER NOT NULL, PRIMARY KEY (field, kind, value, key)) WITHOUT ROWID",
)
#: Statements that make the tables of each format.
_TABLES: dict[int, tuple[str, ...]] = {
    1: _FORMAT_1,
    2: (
        *_FORMAT_1,
        "CREATE TABLE totals (part INTEGER PRIMARY KEY, count INTEGER NOT NULL, crc INTEGER NOT NULL)",
    ),
}
#: The word index. Its table of texts is left out: the texts are in the payloads. Words are given in the form of
#: ``caption_words``, which this tokenizer does not change, whatever the version of SQLite.
WORDS_TABLE = "CREATE VIRTUAL TABLE words USING fts5(caption, content='', tokenize='ascii')"
#: Bytes that FTS5 collects before it writes a part.
_WORDS_MEMORY = 16 << 20
_NO_FTS5 = (
    "Collection: words cannot be indexed or searched, because the SQLite library of this Python was built without "
    "FTS5. Use another build of Python, or a collection without words."
)
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master"


def new_file(
    model: bytes,
    n_bits: int,
    modalities: Sequence[str],
    fused: str | None = None,
    words: Sequence[str] = (),
) -> bytes:
    """The bytes of an empty collection.

    ``fused`` is the modality of fused codes, ``words`` are the payload fields of the word index. A collection
    without a model has a model of no bytes.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        for statement in _TABLES[FORMAT_VERSION]:
            connection.execute(statement)
        meta: dict[str, Any] = {
            "identity": new_identity(),
            "generation": 0,
            "id_kind": "",
            "next_key": 0,
            "n_bits": n_bits,
            "modalities": json.dumps([*modalities, *([] if fused is None else [fused])]),
            "model": model,
            "model_sha256": sha256(model).hexdigest(),
        }
        if fused is not None:
            meta["fused"] = fused
        if words:
            make_words_table(connection)
            meta["words"] = json.dumps(list(words))
        connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        seal(connection)
        return connection.serialize()
    finally:
        connection.close()


def make_words_table(connection: Any) -> None:
    """Make an empty word index."""
    try:
        connection.execute(WORDS_TABLE)
    except sqlite3.OperationalError as error:
        if "no such module" not in str(error):
            raise
        raise CollectionError(_NO_FTS5) from error
    # Fewer and larger parts: adding is faster, and the file is a fifth smaller than with the default of 1 MiB.
    connection.execute("INSERT INTO words (words, rank) VALUES ('hashsize', ?)", (_WORDS_MEMORY,))


def has_words_table(connection: Any) -> bool:
    """Whether a file has a word index."""
    found = connection.execute("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'words')").fetchone()
    return bool(found[0])


def new_identity() -> str:
    """A random name of a collection."""
    return secrets.token_hex(16)


def added_tables(version: int) -> tuple[str, ...]:
    """Statements that make the tables which a format has in addition to the format before it."""
    return tuple(statement for statement in _TABLES[version] if statement not in _TABLES[version - 1])


def is_collection_file(path: Path) -> bool:
    """Whether a file begins like a collection of any version; it may be damaged."""
    with path.open("rb") as file:
        head = file.read(100)
    return head.startswith(SQLITE_HEADER) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


#: What a new collection may replace, if the user says so.
COLLECTION_FILE = OutputKind("collection", is_collection_file, is_collection=True)


def check_schema(connection: sqlite3.Connection, path: str) -> int:
    """Format version of a file; an error if it is not a collection, or not one that this release can read."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if mark != APPLICATION_ID:
        raise CollectionFileError(
            f"Collection.open: {path} is not a collection of diffhash "
            "(an empty file, or an SQLite database of another program). It was not changed."
        )
    if version > FORMAT_VERSION:
        raise NewerCollectionError(
            f"Collection.open: {path} has format version {version}; this diffhash reads up to "
            f"{FORMAT_VERSION}. Upgrade diffhash."
        )
    if version not in _TABLES:
        raise CollectionFileError(
            f"Collection.open: {path} has format version {version}, which does not exist."
        )
    tables = _TABLES[version]
    if version >= 2 and has_words_table(connection):
        tables = (*tables, WORDS_TABLE)
    found, expected = Counter(connection.execute(_SCHEMA).fetchall()), _schema(tables)
    # A file with triggers or views was not made by diffhash; they would run with our statements.
    if found != expected:
        strange = sorted({f"{kind} {name}" for kind, name, *_ in (found - expected) + (expected - found)})
        raise CollectionFileError(
            f"Collection.open: {path} does not have the tables of a collection "
            f"({', '.join(strange)}). It was changed by another program."
        )
    return int(version)


@cache
def _schema(statements: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    """Everything that is in the schema of a database after these statements, with types and texts."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statement in statements:
            if statement == WORDS_TABLE:
                make_words_table(connection)
            else:
                connection.execute(statement)
        return Counter(connection.execute(_SCHEMA).fetchall())
    finally:
        connection.close()
