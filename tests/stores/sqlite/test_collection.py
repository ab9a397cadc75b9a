"""Collections: from features to hits, through every way in and out."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import (
    CollectionError,
    CollectionExistsError,
    CollectionNotFoundError,
    InputError,
    NotFittedError,
    ReadOnlyCollectionError,
)
from diffhash.featurizers import TfidfFeatures
from diffhash.stores import Store
from diffhash.stores.hashed import HashedStore


def test_features_of_one_modality_find_objects_of_the_other(filled, hasher, views):
    hits = filled.search(views["y"], modality="y", into="x", k=5)

    index = dh.HammingIndex(hasher.encode(views["x"], modality="x"), n_bits=16)
    expected = index.search(hasher.encode(views["y"], modality="y"), 5)
    assert [[hit.id for hit in row] for row in hits] == expected.ids.tolist()
    assert [[hit.distance for hit in row] for row in hits] == expected.distances.tolist()
    assert all(hit.payload["n"] == hit.id and hit.modality == "x" for row in hits for hit in row)
    assert filled.search(views["y"][3], modality="y", into="x", k=5) == hits[3:4]


def test_arrays_are_the_hits_without_their_payloads(filled, hasher, views):
    queries = hasher.encode(views["y"], modality="y")

    ids, distances = filled.search_arrays(queries, into="x", k=7, where={"even": True})

    hits = filled.search_codes(queries, into="x", k=7, where={"even": True})
    assert (ids.dtype, distances.dtype, ids.shape) == (np.int64, np.uint16, (60, 7))
    assert ids.tolist() == [[hit.id for hit in row] for row in hits]
    assert distances.tolist() == [[hit.distance for hit in row] for row in hits]
    assert not (ids % 2).any()


def test_arrays_of_string_ids(collection, views):
    collection.add(views["x"][:3], modality="x", ids=["a\0", "b", "c"])

    ids, _ = collection.search_arrays(collection.hasher.encode(views["x"][:3], modality="x"), into="x", k=1)

    assert ids.dtype == object
    assert ids[0, 0] == "a\0"


def test_raw_objects_go_through_the_models_featurizer(path):
    words = ["leftwards arrow", "rightwards arrow", "black star", "white star", "snow man", "two hearts"] * 4
    text = TfidfFeatures().fit(words)
    X = text.transform(words)
    hasher = dh.DiffHash(n_bits=4).fit({"text": X, "copy": X.toarray()}, dh.Pairs.aligned(24))
    hasher.set_featurizers({"text": text})
    with dh.Collection.create(path, hasher) as collection:
        collection.add_raw(words[:6], modality="text", payloads=[{"name": word} for word in words[:6]])
    with dh.Collection.open(path) as collection:
        assert collection.search_raw(["black star"], modality="text", k=1)[0][0].distance == 0


def test_a_stored_object_finds_others_but_not_itself(filled):
    everything = filled.search_item(7, modality="x", into="x", k=100)
    assert len(everything) == 59
    assert 7 not in {hit.id for hit in everything}
    across = filled.search_item(7, into="y", k=3)
    assert across == filled.search_item(7, modality="x", into="y", k=3)
    assert len(across) == 3
    assert all(hit.id != 7 and hit.modality == "y" for hit in across)
    assert len(filled.search_item(7, into="x", k=3, where={"even": True})) == 3
    with pytest.raises(InputError, match="Say which one is the query"):
        filled.search_item(7, k=3)


def test_ties_go_to_what_was_added_first(collection):
    same = np.zeros((5, 2), np.uint8)
    collection.add_codes(same, modality="x", ids=[50, 10, 40, 20, 30])
    assert collection.search_arrays(same[:1], into="x", k=5)[0].tolist() == [[50, 10, 40, 20, 30]]
    collection.upsert_codes(same[:1], modality="x", ids=[10])
    expected = [[50, 40, 20, 30, 10]]
    assert collection.search_arrays(same[:1], into="x", k=5)[0].tolist() == expected
    collection.compact()
    assert collection.search_arrays(same[:1], into="x", k=5)[0].tolist() == expected


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (np.array(5), r"one dimension, got an array of shape \(\)"),
        (np.array("a"), r"one dimension, got an array of shape \(\)"),
        (np.zeros((1, 1), dtype=np.int64), r"one dimension, got an array of shape \(1, 1\)"),
        (np.array([["a"]]), r"one dimension, got an array of shape \(1, 1\)"),
        (b"a", "whole numbers or strings, got bytes"),
        (bytearray(b"a"), "whole numbers or strings, got bytearray"),
        ([b"a"], "whole numbers or strings, got b'a'"),
    ],
)
def test_ids_that_are_none(collection, ids, told):
    for act in (
        lambda: collection.add_codes(np.zeros((1, 2), np.uint8), modality="x", ids=ids),
        lambda: collection.get(ids),
        lambda: collection.delete(ids),
    ):
        with pytest.raises(InputError, match=told):
            act()
    assert len(collection) == 0


def test_what_can_be_no_id_is_not_there(filled):
    for id in (2**63, -(2**63) - 1, 10**30, "\ud800", None, 3.0, b"a", True):  # noqa: A001
        assert id not in filled


def test_it_comes_back_as_it_was(path, filled, views):
    before = filled.search(views["y"], modality="y", k=4, where={"n": {"lt": 30}})
    filled.delete([5, 6])
    filled.close()

    with dh.Collection.open(path) as collection:
        assert len(collection) == 58
        assert 5 not in collection
        assert 7 in collection
        assert "7" not in collection
        after = collection.search(views["y"], modality="y", k=6, where={"n": {"lt": 30}})
        for old, new in zip(before, after, strict=True):
            kept = [hit for hit in old if hit.id not in (5, 6)]
            assert [hit for hit in new if hit in kept] == kept
        assert repr(collection) == f"Collection({str(path)!r}, 16 bits, x, y)"
        assert type(collection.hasher) is dh.DiffHash
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_it_is_a_store_and_nothing_is_left_abstract():
    assert issubclass(dh.Collection, HashedStore)
    assert not dh.Collection.__abstractmethods__
    assert issubclass(dh.Collection, object)
    for name in Store.__protocol_attrs__ if hasattr(Store, "__protocol_attrs__") else ():
        assert hasattr(dh.Collection, name)


def test_a_reader_cannot_write(path, filled, hasher, views):
    filled.close()
    with dh.Collection.open(path) as collection:
        for act in (
            lambda: collection.add(views["x"], modality="x"),
            lambda: collection.upsert(views["x"][:1], modality="x", ids=[1]),
            lambda: collection.delete([1]),
            lambda: collection.compact(),
            lambda: collection.index_payload("n"),
            lambda: collection.refit(hasher, {}),
        ):
            with pytest.raises(ReadOnlyCollectionError, match="opened for reading"):
                act()
        assert len(collection) == 60


def test_a_closed_collection_says_so(filled):
    filled.close()
    filled.close()
    assert repr(filled).endswith("closed)")
    for act in (lambda: len(filled), lambda: filled.get(1), lambda: filled.delete([1]), filled.__enter__):
        with pytest.raises(CollectionError, match="was closed"):
            act()


def test_creating_over_a_file(path, filled, hasher, tmp_path):
    with pytest.raises(CollectionError, match="being written to"):
        dh.Collection.create(path, hasher, overwrite=True)
    filled.close()
    with pytest.raises(CollectionExistsError, match="exists already"):
        dh.Collection.create(path, hasher)
    with dh.Collection.create(path, hasher, overwrite=True) as collection:
        assert len(collection) == 0

    other = tmp_path / "notes.txt"
    other.write_text("precious")
    for overwrite in (False, True):
        with pytest.raises(CollectionExistsError):
            dh.Collection.create(other, hasher, overwrite=overwrite)
    assert other.read_text() == "precious"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["notes.txt", "objects.dh"]


def test_what_create_and_open_refuse(tmp_path, hasher):
    cases = [
        (
            lambda: dh.Collection.create(tmp_path / "no" / "c.dh", hasher),
            CollectionNotFoundError,
            "no folder",
        ),
        (lambda: dh.Collection.create(tmp_path / "c.dh", "hasher"), InputError, "must be a fitted hasher"),
        (
            lambda: dh.Collection.create(tmp_path / "c.dh", dh.DiffHash(n_bits=4)),
            NotFittedError,
            "not fitted",
        ),
        (lambda: dh.Collection.create(tmp_path / "a\0b", hasher), InputError, "NUL"),
        (lambda: dh.Collection.create(3, hasher), InputError, "must be a path"),
        (lambda: dh.Collection.create(tmp_path, hasher, overwrite=True), CollectionExistsError, "not a file"),
        (lambda: dh.Collection.open(tmp_path / "c.dh"), CollectionNotFoundError, "does not exist"),
        (lambda: dh.Collection.open(tmp_path / "c.dh", writable=True), FileNotFoundError, "does not exist"),
        (lambda: dh.Collection.open(tmp_path), CollectionNotFoundError, "is not a file"),
    ]
    for act, error, message in cases:
        with pytest.raises(error, match=message):
            act()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["a?b#c%20.dh", "'; DROP TABLE meta.dh", "file:x.dh", "é <b>.dh", "-wal", "a b.dh"]
)
def test_file_names_are_only_names(tmp_path, hasher, name):
    with dh.Collection.create(tmp_path / name, hasher) as collection:
        collection.add_codes(np.zeros((2, 2), np.uint8), modality="x")
    with dh.Collection.open(tmp_path / name) as collection:
        assert len(collection) == 2
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_threads_search_while_one_adds(filled, hasher, views):
    queries = hasher.encode(views["y"], modality="y")
    stop, failures = threading.Event(), []

    def search():
        while not stop.is_set():
            try:
                ids, _ = filled.search_arrays(queries, into="x", k=3)
                assert ids.shape == (60, 3)
                hits = filled.search_codes(queries[:2], into="x", k=3, where={"even": True})
                assert all(hit.payload["even"] for row in hits for hit in row)
            except Exception as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for batch in range(40):
        ids = filled.add_codes(queries, modality="x", payloads=[{"even": bool(i % 2)} for i in range(60)])
        if batch % 3 == 0:
            filled.delete(ids[::2])
        if batch % 10 == 0:
            filled.compact()
    stop.set()
    for thread in threads:
        thread.join()

    assert failures == []
    assert filled.verify().ok


def test_a_collection_that_is_forgotten_lets_go_of_its_lock(path, hasher):
    dh.Collection.create(path, hasher).add_codes(np.zeros((1, 2), np.uint8), modality="x")
    with dh.Collection.open(path, writable=True, timeout=5) as collection:
        assert len(collection) == 1


def test_a_program_that_ends_without_closing_leaves_one_file(path, hasher):
    dh.Collection.create(path, hasher).close()
    script = (
        "import sys, numpy as np, diffhash as dh\n"
        "c = dh.Collection.open(sys.argv[1], writable=True)\n"
        "c.add_codes(np.zeros((3, 2), np.uint8), modality='x')\n"
    )
    subprocess.run([sys.executable, "-c", script, path], check=True, timeout=60)
    assert [file.name for file in Path(path).parent.iterdir()] == [path.name]
    with dh.Collection.open(path) as collection:
        assert len(collection) == 3
