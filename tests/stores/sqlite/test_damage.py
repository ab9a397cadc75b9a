"""Damaged files and files of other programs: clear errors, and nothing is changed."""

from __future__ import annotations

import os

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import (
    CollectionError,
    CollectionFileError,
    CollectionWriteError,
    DiffhashError,
    NewerCollectionError,
    NewerFormatError,
    ReadOnlyCollectionError,
)
from diffhash.stores.sqlite.schema import APPLICATION_ID, FORMAT_VERSION

from .helpers import sql


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"SQLite format 3\0", b"SQLite format 3\0" + bytes(4096), os.urandom(5000)]
)
@pytest.mark.parametrize("writable", [False, True])
def test_a_file_that_is_not_a_database_is_refused_and_not_changed(path, content, writable):
    path.write_bytes(content)
    with pytest.raises(CollectionFileError, match=r"not a collection|damaged"):
        dh.Collection.open(path, writable=writable)
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("writable", [False, True])
def test_a_database_of_another_program_is_refused_and_not_changed(path, writable):
    sql(path, "CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('precious')")
    before = path.read_bytes()
    with pytest.raises(CollectionFileError, match="not a collection of diffhash"):
        dh.Collection.open(path, writable=writable)
    assert path.read_bytes() == before


def test_a_newer_format_is_refused(path, filled):
    filled.close()
    sql(path, f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    with pytest.raises(NewerCollectionError, match=f"format version {FORMAT_VERSION + 1}.*Upgrade") as caught:
        dh.Collection.open(path)
    assert isinstance(caught.value, NewerFormatError)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON payloads BEGIN DELETE FROM segments; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE more (x)",
        "ALTER TABLE payloads ADD COLUMN more",
        "DROP TABLE fields",
    ],
)
def test_other_tables_are_refused(path, filled, statement):
    """A trigger in the file would run with the statements of diffhash."""
    filled.close()
    sql(path, statement)
    with pytest.raises(CollectionFileError, match="does not have the tables"):
        dh.Collection.open(path)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM meta",
        "UPDATE meta SET value = 'x' WHERE name = 'n_bits'",
        "UPDATE meta SET value = 17 WHERE name = 'n_bits'",
        "UPDATE meta SET value = '[]' WHERE name = 'modalities'",
        "UPDATE meta SET value = '{\"a\": 1}' WHERE name = 'modalities'",
        "UPDATE meta SET value = 'float' WHERE name = 'id_kind'",
        "UPDATE segments SET data = x'00'",
        "UPDATE segments SET count = 1000000000",
        "DELETE FROM segments WHERE start > 0 OR stream = 1",
        "UPDATE segments SET stream = 2 WHERE stream = 3",
        "UPDATE meta SET value = x'00' WHERE name = 'model'",
        "UPDATE meta SET value = 7 WHERE name = 'model'",
        "DELETE FROM meta WHERE name = 'model'",
        "UPDATE payloads SET payload = '{\"n\": 1}' WHERE key = 3",
        "UPDATE payloads SET payload = x'ff' WHERE key = 3",
        "INSERT INTO payloads VALUES (999, 1, '{}')",
        "DELETE FROM field_values WHERE key = 3",
        "UPDATE meta SET value = 3 WHERE name = 'next_key'",
    ],
)
def test_inconsistent_content_is_reported(path, filled, statement):
    """``open`` reports what it needs itself; ``verify`` reports everything."""
    filled.index_payload("n")
    filled.delete([0], modality="y")
    filled.close()
    sql(path, statement)
    try:
        with dh.Collection.open(path) as collection:
            assert not collection.verify().ok
    except CollectionFileError as error:
        assert "damaged" in str(error)  # noqa: PT017 - one or the other has to tell


def test_every_damaged_page_is_reported_or_harmless(path, filled, views):
    """Changed bytes are reported by open or verify, unless nothing is stored there."""
    filled.index_payload("n")
    filled.close()
    data = path.read_bytes()
    with dh.Collection.open(path) as collection:
        expected = contents(collection)
    rng = np.random.default_rng(0)
    told = 0
    for place in rng.choice(len(data), 250, replace=False).tolist():
        changed = bytearray(data)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        try:
            with dh.Collection.open(path) as collection:
                if collection.verify().ok:
                    assert contents(collection) == expected, (
                        f"byte {place} changed what is read, and nobody told"
                    )
                else:
                    told += 1
        except CollectionError:
            told += 1
    assert told > 50


def contents(collection):
    items = (item for block in collection.iterate() for item in block)
    return [(item.id, {m: c.tobytes() for m, c in item.codes.items()}, item.payload) for item in items]


@pytest.mark.parametrize("length", [1, 50, 512, 4096, 5000, 20_000])
def test_a_truncated_file_is_reported(path, filled, length):
    filled.close()
    path.write_bytes(path.read_bytes()[:length])
    try:
        with dh.Collection.open(path) as collection:
            assert collection.verify().problems
    except CollectionError:
        pass


def test_errors_are_errors_of_diffhash():
    for error in (CollectionError, CollectionFileError, CollectionWriteError, ReadOnlyCollectionError):
        assert issubclass(error, DiffhashError)
    assert APPLICATION_ID.to_bytes(4, "big") == b"dhsh"


def test_a_model_is_called_a_model(tmp_path, hasher):
    hasher.save(tmp_path / "m.dhm")

    with pytest.raises(CollectionFileError, match=r"m\.dhm is a model, not a collection\. .* diffhash\.load"):
        dh.Collection.open(tmp_path / "m.dhm")


def test_a_table_is_not_called_damaged_first(tmp_path):
    (tmp_path / "captions.csv").write_text("file,caption\n" * 100)

    with pytest.raises(CollectionFileError, match=r"captions\.csv is not a collection"):
        dh.Collection.open(tmp_path / "captions.csv")
