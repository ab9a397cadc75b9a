"""Format 2 binds what belongs together: no part can be exchanged, removed or renamed without notice."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CollectionError, CollectionFileError
from diffhash.stores.sqlite import schema

from .helpers import codes, forge, sql, to_format_1

#: Each keeps the checksum of every row that it touches, so that format 1 accepts most of them.
EDITS = {
    "a payload belongs to another object": [
        "DELETE FROM payloads WHERE key = 3",
        "UPDATE payloads SET key = 3 WHERE key = 2",
    ],
    "two payloads are exchanged": [
        "UPDATE payloads SET key = 99 WHERE key = 3",
        "UPDATE payloads SET key = 3 WHERE key = 2",
        "UPDATE payloads SET key = 2 WHERE key = 99",
    ],
    "a payload is missing": ["DELETE FROM payloads WHERE key = 3"],
    "all payloads are missing": ["DELETE FROM payloads"],
    "the modalities are exchanged": ["UPDATE meta SET value = '[\"y\", \"x\"]' WHERE name = 'modalities'"],
    "the kind of the ids is another one": ["UPDATE meta SET value = 'str' WHERE name = 'id_kind'"],
    "the next id is in use": ["UPDATE meta SET value = 59 WHERE name = 'next_key'"],
    "the next id is larger": ["UPDATE meta SET value = 700 WHERE name = 'next_key'"],
    "the generation is another one": ["UPDATE meta SET value = 7 WHERE name = 'generation'"],
    "the identity is another one": ["UPDATE meta SET value = 'me' WHERE name = 'identity'"],
    "more is described": ["INSERT INTO meta VALUES ('more', 1)"],
    "a stream is missing": ["DELETE FROM segments WHERE stream = 3"],
    "the removals are missing": ["DELETE FROM segments WHERE stream = 2"],
    "the last segment is missing": ["DELETE FROM segments WHERE stream = 1 AND start = 60"],
    "a total is missing": ["DELETE FROM totals WHERE part = 1"],
    "a total is another one": ["UPDATE totals SET count = count - 1 WHERE part = -1"],
    "a field has another name": ["UPDATE fields SET name = CAST('even' AS BLOB) WHERE field = 1"],
}


@pytest.fixture
def closed(path, filled):
    filled.index_payload("n")
    filled.delete([0], modality="x")
    filled.add_codes(codes(9000), modality="x")
    filled.close()
    return path


def is_reported(path):
    try:
        with dh.Collection.open(path) as collection:
            return not collection.verify().ok
    except CollectionFileError as error:
        return "damaged" in str(error)


@pytest.mark.parametrize("statements", EDITS.values(), ids=EDITS)
def test_content_that_is_exchanged_or_missing_is_reported(closed, statements):
    assert not is_reported(closed)
    sql(closed, *statements)
    assert is_reported(closed)


def test_an_older_payload_of_the_same_object_is_reported(closed):
    """Its own checksum is right."""
    connection = sqlite3.connect(closed)
    old = connection.execute("SELECT crc, payload FROM payloads WHERE key = 3").fetchone()
    connection.close()
    with dh.Collection.open(closed, writable=True) as collection:
        collection.upsert_codes(codes(1), modality="x", ids=[3], payloads=[{"n": "new"}])
    assert not is_reported(closed)
    connection = sqlite3.connect(closed)
    with connection:
        connection.execute("UPDATE payloads SET crc = ?, payload = ? WHERE key = 3", old)
    connection.close()
    assert is_reported(closed)


def test_another_model_of_the_same_size_is_reported(closed, views):
    other = dh.DiffHash(n_bits=16, gamma=3.0).fit(views, dh.Pairs.aligned(60))
    connection = sqlite3.connect(closed)
    with connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'model'", (other.model_.to_bytes(),))
    connection.close()
    with dh.Collection.open(closed) as collection:
        assert not collection.verify().ok
        with pytest.raises(CollectionFileError, match="checksum is wrong"):
            collection.search(views["x"], modality="x")


def test_totals_follow_every_write(path, hasher, views):
    """Everything that can be written, one after the other, with and without payloads that are replaced."""
    rng = np.random.default_rng(0)
    with dh.Collection.create(path, hasher) as collection:
        for step in range(60):
            ids = [f"id {n}" for n in rng.choice(40, 5, replace=False)]
            payloads = [None if n % 3 == 0 else {"n": int(n), "step": step} for n in range(5)]
            modality = "xy"[step % 2]
            if step % 5 == 4:
                collection.delete(ids, modality=modality if step % 2 else None)
            else:
                collection.upsert_codes(codes(5), modality=modality, ids=ids, payloads=payloads)
            if step == 20:
                collection.index_payload("n")
            if step % 19 == 18:
                collection.compact()
            assert collection.verify().problems == ()
        ids = {m: [item.id for block in collection.iterate(m) for item in block] for m in ("x", "y")}
        collection.refit(
            dh.DiffHash(n_bits=12).fit(views, dh.Pairs.aligned(60)),
            {m: (ids[m], views[m][: len(ids[m])]) for m in ids},
        )
        assert collection.verify().problems == ()
    with dh.Collection.open(path) as collection:
        assert collection.verify().problems == ()


def test_a_reader_follows_a_writer_with_the_right_totals(path, collection):
    with dh.Collection.open(path) as reader:
        for n in range(1, 30):
            collection.add_codes(codes(n), modality="x", payloads=[{"n": n}] * n)
            collection.delete([3 * n])
            assert len(reader) == len(collection)
        assert reader.verify().problems == ()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "kind", ["VIEW {} AS SELECT 1 AS x", "TRIGGER {} AFTER INSERT ON segments BEGIN {} END"]
)
@pytest.mark.parametrize("name", ["meta", "segments", "more"])
def test_no_view_and_no_trigger_is_accepted_under_any_name(path, filled, kind, name, version):
    """A trigger may have the name of a table. It would run with the statements of diffhash."""
    filled.close()
    if version == 1:
        to_format_1(path)
    body = "DELETE FROM payloads;"
    if kind.startswith("VIEW") and name != "more":
        name += "_"  # a view shares its names with the tables
    sql(path, f"CREATE {kind.format(name, body)}")
    for writable in (False, True):
        with pytest.raises(CollectionFileError, match=rf"does not have the tables .*{name}"):
            dh.Collection.open(path, writable=writable)


@pytest.mark.parametrize("version", [1, 2])
def test_a_trigger_whose_name_is_listed_again_as_a_table_is_refused(path, filled, version):
    """A check that keeps one row for each name sees only the table, and the trigger runs."""
    filled.close()
    if version == 1:
        to_format_1(path)
    sql(
        path,
        "CREATE TRIGGER meta AFTER INSERT ON segments BEGIN DELETE FROM payloads; END",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET rowid = 1000 + rowid WHERE tbl_name = 'meta'",
    )
    with pytest.raises(CollectionFileError, match=r"does not have the tables .*trigger meta"):
        dh.Collection.open(path, writable=True)


def test_a_trigger_that_is_made_while_the_file_is_open_does_not_run(path, filled):
    sql(path, "CREATE TRIGGER meta AFTER INSERT ON segments BEGIN DELETE FROM payloads; END")
    with pytest.raises(CollectionFileError, match="does not have the tables"):
        filled.add_codes(codes(1), modality="x")
    sql(path, "DROP TRIGGER meta")
    filled.add_codes(codes(1), modality="x")
    assert filled.stats().n_payloads == 60
    assert filled.verify().ok


def test_shadow_tables_of_a_virtual_table_of_the_format_are_known(path, hasher, monkeypatch):
    """How a later release adds a table: by its statement alone."""
    places = "CREATE VIRTUAL TABLE places USING fts5(text, content='')"
    monkeypatch.setitem(schema._TABLES, 2, (*schema._TABLES[2], places))
    with dh.Collection.create(path, hasher) as collection:
        collection.add_codes(codes(3), modality="x")
    with dh.Collection.open(path) as collection:
        assert collection.verify().ok
    sql(path, "CREATE TABLE places_more (x)")
    with pytest.raises(CollectionFileError, match="places_more"):
        dh.Collection.open(path)


@pytest.mark.parametrize("version", [1, 2])
def test_the_last_generation_is_followed_by_another_one(path, filled, version):
    filled.close()
    if version == 1:
        to_format_1(path)
    forge(path, f"UPDATE meta SET value = {2**63 - 1} WHERE name = 'generation'")
    with dh.Collection.open(path, writable=True) as collection, dh.Collection.open(path) as reader:
        assert len(reader) == 60
        collection.delete([1, 2])
        collection.compact()
        assert len(reader) == 58
        assert collection.verify().problems == ()
        collection.compact()
    with dh.Collection.open(path) as collection:
        assert (len(collection), collection.verify().problems) == (58, ())


@pytest.mark.parametrize("value", ["'x'", "x'00'", "1.5", "-1", "'[[[['"])
@pytest.mark.parametrize("name", ["identity", "generation", "next_key", "n_bits", "modalities", "id_kind"])
@pytest.mark.parametrize("version", [1, 2])
def test_every_strange_description_is_an_error_of_diffhash(path, filled, name, value, version):
    filled.close()
    if version == 1:
        to_format_1(path)
    forge(path, f"UPDATE meta SET value = {value} WHERE name = '{name}'")
    try:
        with dh.Collection.open(path) as collection:
            collection.verify()
            collection.search_codes(codes(2))
    except CollectionError:
        pass
