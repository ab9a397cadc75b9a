"""The model inside a collection: it is a copy, and using it imports little."""

from __future__ import annotations

import subprocess
import sys
import typing

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CollectionFileError
from diffhash.featurizers import TfidfFeatures

from .helpers import sql


def test_the_model_and_its_estimator(path, filled, hasher, views):
    assert isinstance(filled.model, dh.HashModel)
    assert isinstance(filled.hasher, dh.DiffHash)
    assert filled.hasher is filled.hasher
    filled.close()
    with dh.Collection.open(path) as collection:
        model = collection.model
        assert collection.model is model
        assert collection.hasher.model_ is model
        expected = hasher.encode(views["x"], modality="x")
        np.testing.assert_array_equal(model.encode(views["x"], modality="x"), expected)
        np.testing.assert_array_equal(collection.hasher.encode(views["x"], modality="x"), expected)


def test_compacting_keeps_the_model_and_refit_replaces_it(path, filled, views):
    with dh.Collection.open(path) as reader:
        models = [collection.model for collection in (filled, reader)]
        filled.compact()
        assert [collection.model for collection in (filled, reader)] == models
        other = dh.DiffHash(n_bits=8).fit(views, dh.Pairs.aligned(60))
        filled.refit(other.model_, {m: (range(60), views[m]) for m in "xy"})
        for collection in (filled, reader):
            assert collection.model.n_bits == collection.hasher.n_bits == 8


def test_a_model_whose_estimator_cannot_be_made(path, filled, monkeypatch):
    """Such a collection still searches; only the estimator cannot be made."""
    filled.model.parameters["no such parameter"] = 3
    with pytest.raises(CollectionFileError, match="no such parameter"):
        _ = filled.hasher
    assert len(filled.search_item(3, into="y", modality="x")) == 10


def test_a_stored_query_whose_model_is_damaged_is_still_a_query(path, filled):
    """The stored code is enough: without the model there are no chances, and no promises."""
    expected = filled.search_item(7, modality="x", into="y")
    filled.close()
    sql(path, "UPDATE meta SET value = x'00' WHERE name = 'model'")
    with dh.Collection.open(path) as collection:
        assert collection.search_item(7, modality="x", into="y") == expected
        with pytest.raises(CollectionFileError, match=r"model .* is damaged"):
            collection.search_item(7, modality="x", into="y", max_false_matches=1)
        with pytest.raises(CollectionFileError, match=r"model .* is damaged"):
            _ = collection.model


SEARCH = """
import sys
import numpy as np
import diffhash as dh

with dh.Collection.open(sys.argv[1]) as collection:
    query = np.load(sys.argv[2])
    (hits,) = collection.search(query, modality="copy", into="text", k=3, where={"n": {"ge": 0}})
    assert [hit.distance for hit in hits] == sorted(hit.distance for hit in hits)
    assert collection.search_item(0, modality="text", into="text", k=2)
    if sys.argv[3] == "raw":
        assert collection.search_raw(["black star"], modality="text", k=1)[0][0].distance == 0
    assert collection.stats().model == "DiffHash"
for name in ("sklearn", "scipy.stats", "matplotlib", "typer", "rich", "diffhash.hashers", "diffhash.learning"):
    assert name not in sys.modules, name
"""


@pytest.mark.parametrize("query", ["features", "raw"])
def test_searching_imports_neither_scikit_learn_nor_the_estimators(path, tmp_path, query):
    words = ["leftwards arrow", "rightwards arrow", "black star", "white star", "snow man", "two hearts"] * 4
    text = TfidfFeatures().fit(words)
    X = text.transform(words)
    hasher = dh.DiffHash(n_bits=4).fit({"text": X, "copy": X.toarray()}, dh.Pairs.aligned(24))
    hasher.set_featurizers({"text": text})
    with dh.Collection.create(path, hasher) as collection:
        collection.add_raw(words[:6], modality="text", payloads=[{"n": n} for n in range(6)])
    np.save(tmp_path / "query.npy", X.toarray()[0])

    done = subprocess.run(
        [sys.executable, "-c", SEARCH, path, tmp_path / "query.npy", query],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("method", ["create", "open", "__enter__"])
def test_a_collection_keeps_its_type_in_a_with_statement(method):
    assert typing.get_type_hints(getattr(dh.Collection, method), localns={"BaseHasher": object})[
        "return"
    ] == (typing.Self)


@pytest.fixture
def word_hasher():
    """A hasher with a built-in featurizer, its featurizer, and texts."""
    texts = ["white star", "black star", "white king", "black king"]
    words = TfidfFeatures().fit(texts)
    views = {"text": words.transform(texts), "colour": np.array([[1.0, 0], [0, 0], [1, 1], [0, 1]])}
    hasher = dh.DiffHash(n_bits=2).fit(views, dh.Pairs.aligned(4))
    return hasher.set_featurizers({"text": words}), words, texts


@pytest.mark.parametrize("how", ["create", "create with featurizers", "refit"])
def test_later_changes_of_the_hasher_and_its_featurizers_do_not_reach_the_collection(path, word_hasher, how):
    """The model in memory always equals the one in the file, so that all stored codes belong to it."""
    hasher, words, texts = word_hasher
    expected = hasher.encode_raw(texts, modality="text")
    if how == "create with featurizers":
        hasher.set_featurizers({})
        collection = dh.Collection.create(path, hasher, featurizers={"text": words})
    else:
        collection = dh.Collection.create(path, hasher)
    if how == "refit":
        collection.refit(hasher, {})

    words.fit(["zebra apple", "zebra moon", "apple tree", "moon tree"])
    for modality in hasher.modalities_:
        hasher.projections_[modality][:] *= -1

    collection.add_raw(texts, modality="text", ids=range(4))
    stored = [item.codes["text"] for item in collection.get(range(4))]
    collection.close()
    np.testing.assert_array_equal(stored, expected)
    with dh.Collection.open(path) as collection:
        np.testing.assert_array_equal(collection.model.encode_raw(texts, modality="text"), expected)


def test_the_hasher_of_a_new_collection_has_no_callbacks(path, views):
    hasher = dh.RefinedHash(n_bits=4, features="linear", progress=lambda *_: None)
    hasher.fit(views, dh.Pairs.aligned(60))
    with dh.Collection.create(path, hasher) as collection:
        assert collection.hasher.progress is None
