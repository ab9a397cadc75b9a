"""An older release and this one share a file: each sees what the other wrote, or says that it cannot read it."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import diffhash as dh
from diffhash.stores.sqlite.schema import FORMAT_VERSION

from .frozen_format1 import NewerFileError, OldReader, OldWriter
from .paths import GOLDEN


@pytest.fixture(params=["numbers", "strings"])
def path(request, tmp_path):
    """A collection that an older release has written."""
    copy = tmp_path / "objects.dh"
    shutil.copy(GOLDEN / f"collection-{request.param}-v1.dh", copy)
    return copy


@pytest.fixture
def numbers(tmp_path):
    copy = tmp_path / "objects.dh"
    shutil.copy(GOLDEN / "collection-numbers-v1.dh", copy)
    return copy


def items_of(collection):
    found = {}
    for item in (item for block in collection.iterate() for item in block):
        found[item.id] = ({m: code.tolist() for m, code in item.codes.items()}, item.payload)
    return found


def changes(collection):
    """Calls that write to a collection, one after the other."""
    first, second, *_ = items_of(collection)
    new = "new" if isinstance(first, str) else 100_000
    code = np.array([[2]], dtype=np.uint8)
    yield lambda: collection.add_codes(code, modality="x", ids=[new], payloads=[{"n": 1, "text": "é"}])
    yield lambda: collection.upsert_codes(code, modality="y", ids=[first], payloads=[{"group": "z"}])
    yield lambda: collection.delete([second])
    yield lambda: collection.index_payload("n")
    yield lambda: collection.compact()


def test_the_frozen_reader_reads_the_golden_file(path):
    reader = OldReader(path)
    with dh.Collection.open(path) as collection:
        assert reader.items() == items_of(collection)
    reader.close()


def test_an_old_reader_sees_every_write_of_a_new_writer(path):
    """It has the file open all the time, and a transaction of its own for each look."""
    reader = OldReader(path)
    with dh.Collection.open(path, writable=True) as collection:
        assert reader.connection.execute("PRAGMA user_version").fetchone() == (1,), (
            "a writer must not upgrade unasked"
        )
        for change in changes(collection):
            change()
            assert reader.items() == items_of(collection)
        reader.close()
        expected = items_of(collection)
    again = OldReader(path)
    assert again.items() == expected
    again.close()


def test_an_old_reader_keeps_what_it_saw_while_a_new_writer_writes(numbers):
    reader = OldReader(numbers)
    with dh.Collection.open(numbers, writable=True) as collection:
        reader.connection.execute("BEGIN")
        before = reader._items()
        next(changes(collection))()
        assert reader._items() == before
        reader.connection.execute("COMMIT")
        assert reader.items() == items_of(collection) != before
        reader.close()


def test_a_new_reader_sees_every_write_of_an_old_writer(numbers):
    writer = OldWriter(numbers)
    with dh.Collection.open(numbers) as collection:
        before = len(collection)
        for number in range(5):
            writer.add(200_000 + number, bytes([number % 4]), {"n": number, "text": "é"})
            (item,) = collection.get([200_000 + number])
            assert item.payload == {"n": number, "text": "é"}
            assert item.codes["x"].tolist() == [number % 4]
            assert len(collection) == before + number + 1
        hits = collection.search_codes(np.array([[3]], np.uint8), into="x", k=1000, where={"n": {"ge": 3}})
        assert {200_003, 200_004} <= {hit.id for hit in hits[0]}
        assert collection.verify().problems == ()
    writer.close()


def test_a_new_writer_goes_on_where_an_old_writer_stopped(numbers):
    writer = OldWriter(numbers)
    writer.add(300_000, b"\3", {"n": 1})
    writer.close()

    with dh.Collection.open(numbers, writable=True) as collection:
        assert collection.add_codes(np.array([[1]], np.uint8), modality="x") == [300_001]
        assert collection.verify().problems == ()
        reader = OldReader(numbers)
        assert reader.items() == items_of(collection)
        reader.close()


def test_an_old_reader_reads_a_new_file_right_or_says_that_it_is_newer(numbers, tmp_path):
    with dh.Collection.open(numbers) as golden:
        model = golden.model
    path = tmp_path / "new.dh"
    with dh.Collection.create(path, model) as collection:
        collection.add_codes(np.array([[1], [2]], np.uint8), modality="x", payloads=[{"a": 1}, None])
        expected = items_of(collection)

    if FORMAT_VERSION == 1:
        reader = OldReader(path)
        assert reader.items() == expected
        reader.close()
    else:
        with pytest.raises(NewerFileError, match=f"format version {FORMAT_VERSION}"):
            OldReader(path)
