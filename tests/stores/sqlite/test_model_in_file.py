"""The model inside a collection: own featurizers and kernels, and what is imported to use it."""

from __future__ import annotations

import subprocess
import sys
import typing

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import (
    CollectionFileError,
    FeatureCountError,
    InputError,
    ParameterError,
    UnknownModalityError,
)
from diffhash.featurizers import TfidfFeatures

TEXTS = ["AB", "ab", "Ab c", "QUITE LOUD", "rather quiet", "x"]


class UpperCaseCounts:
    """A user's own featurizer with a learned state."""

    kind = "upper case counts"
    n_features = 2

    def __init__(self, scale=1.0, offset=(0.0, 0.0)):
        self.scale, self.offset = scale, np.asarray(offset)

    def transform(self, raw):
        counts = [[sum(map(str.isupper, text)), len(text)] for text in raw]
        return np.array(counts, dtype=np.float64) * self.scale + self.offset

    def state(self):
        return {"scale": self.scale}, {"offset": self.offset}

    @classmethod
    def from_state(cls, parameters, arrays):
        return cls(parameters["scale"], arrays["offset"])


class OtherKind(UpperCaseCounts):
    kind = "another kind"


class OtherWidth(UpperCaseCounts):
    n_features = 3


OWN = UpperCaseCounts(2.0, (1.0, -1.0))


@pytest.fixture
def text_hasher():
    views = {"text": OWN.transform(TEXTS), "other": np.arange(12.0).reshape(6, 2) ** 2}
    return dh.DiffHash(n_bits=1).fit(views, dh.Pairs.aligned(6))


def fill(collection):
    collection.add_raw(TEXTS, modality="text", payloads=[{"text": text} for text in TEXTS])


def found(collection):
    return collection.search_raw(["LOUD"], modality="text", k=6)[0]


@pytest.mark.parametrize("given", ["to the model", "to create", "as a HashModel"])
def test_an_own_featurizer_of_a_new_collection(path, text_hasher, given):
    """It is used at once, after compact, and after it is given to open again: as an object or as its class."""
    own = {"text": OWN}
    if given == "to create":
        collection = dh.Collection.create(path, text_hasher, featurizers=own)
    else:
        text_hasher.set_featurizers(own)
        collection = dh.Collection.create(
            path, text_hasher if given == "to the model" else text_hasher.model_
        )
    fill(collection)
    expected = found(collection)
    collection.delete([5])
    collection.compact()
    expected = [hit for hit in expected if hit.id != 5]
    assert found(collection) == expected
    collection.close()

    for featurizer in (OWN, UpperCaseCounts):
        with dh.Collection.open(path, featurizers={"text": featurizer}) as collection:
            assert found(collection) == expected
            assert collection.model.featurizers["text"].scale == 2.0


def test_without_the_own_featurizer_the_error_names_open(path, text_hasher):
    with dh.Collection.create(path, text_hasher, featurizers={"text": OWN}) as collection:
        fill(collection)
    with dh.Collection.open(path, writable=True) as collection:
        for act in (lambda: found(collection), lambda: fill(collection)):
            with pytest.raises(InputError) as told:
                act()
            assert "Collection.open(path, featurizers={'text': ...})" in str(told.value)
        assert len(collection.search(OWN.transform(["LOUD"]), modality="text")[0]) == 6


def test_own_featurizers_beside_others_are_kept(path, text_hasher):
    """A model that was loaded without its own featurizer can get another one and does not lose the first."""
    text_hasher.set_featurizers({"text": OWN})
    with dh.Collection.create(path, text_hasher):
        pass
    with dh.Collection.open(path) as collection:
        model = collection.model
    other = path.with_name("other.dh")
    with dh.Collection.create(other, model, featurizers={"other": OtherKind()}) as collection:
        fill_other = collection.add_raw(TEXTS, modality="other")
        assert len(fill_other) == 6
    with dh.Collection.open(other, featurizers={"text": UpperCaseCounts}) as collection:
        assert collection.model.featurizers["text"].scale == 2.0
        assert set(collection.model.absent_featurizers) == {"other"}


def test_wrong_featurizers_are_refused_at_once(path, text_hasher):
    cases = [
        ({"text": OtherWidth()}, FeatureCountError, "fitted on 2 features"),
        ({"speech": OWN}, UnknownModalityError, "unknown modality 'speech'"),
        ([OWN], ParameterError, "must be a dict by modality, got list"),
        ({"text": 3}, ParameterError, "must follow featurizers.Featurizer"),
    ]
    for featurizers, error, message in cases:
        with pytest.raises(error, match=message):
            dh.Collection.create(path, text_hasher, featurizers=featurizers)
    assert not path.exists()

    dh.Collection.create(path, text_hasher, featurizers={"text": OWN}).close()
    for featurizers, error, message in [
        *cases,
        ({"text": OtherKind()}, ParameterError, "of kind 'another kind'"),
    ]:
        for writable in (False, True):
            with pytest.raises(error, match=message):
                dh.Collection.open(path, featurizers=featurizers, writable=writable)
    with dh.Collection.open(path, writable=True) as collection:  # nothing is still locked
        assert collection.verify().ok
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def linear(A, B):
    return A @ B.T


def test_an_own_kernel_of_a_new_collection_is_used_at_once(path, views):
    hasher = dh.KernelDiffHash(n_bits=4, kernel=linear, n_landmarks=20, random_state=0)
    hasher.fit(views, dh.Pairs.aligned(60))
    with dh.Collection.create(path, hasher) as collection:
        collection.add(views["x"], modality="x")
        collection.compact()
        expected = collection.search(views["y"], modality="y")
    with dh.Collection.open(path, kernel=linear) as collection:
        assert collection.search(views["y"], modality="y") == expected


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
