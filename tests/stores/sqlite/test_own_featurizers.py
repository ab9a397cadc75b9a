"""Featurizers of the user's own in a collection."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import FeatureCountError, InputError, ParameterError, UnknownModalityError
from tests.own_featurizer import CapitalCounts

TEXTS = ["AB", "ab", "Ab c", "QUITE LOUD", "rather quiet", "x"]


class OtherKind(CapitalCounts):
    kind = "another kind"


class OtherWidth(CapitalCounts):
    n_features = 3


OWN = CapitalCounts(2.0, (1.0, -1.0))


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

    for featurizer in (OWN, CapitalCounts):
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
    with dh.Collection.open(other, featurizers={"text": CapitalCounts}) as collection:
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


def refitted(views):
    return dh.DiffHash(n_bits=1).fit(views, dh.Pairs.aligned(6))


OTHER = np.arange(12.0).reshape(6, 2) ** 2


@pytest.mark.parametrize("opened_with", ["object", "class"])
def test_refit_keeps_the_featurizers_that_were_given_to_the_collection(path, text_hasher, opened_with):
    """The writer, a reader that is open already, and later readers can all use raw objects."""
    new = refitted({"text": 2 - OWN.transform(TEXTS), "other": OTHER})
    given = {"text": OWN if opened_with == "object" else CapitalCounts}
    dh.Collection.create(path, text_hasher, featurizers={"text": OWN}).close()
    with (
        dh.Collection.open(path, writable=True, featurizers=given) as collection,
        dh.Collection.open(path, featurizers=given) as reader,
    ):
        fill(collection)
        collection.refit(new, {"text": (range(6), OWN.transform(TEXTS))})
        expected = collection.search(OWN.transform(["LOUD"]), modality="text", k=6)[0]
        assert found(collection) == expected
        assert found(reader) == expected
    with dh.Collection.open(path, featurizers=given) as collection:
        assert found(collection) == expected


def test_a_featurizer_that_the_new_model_brings_replaces_the_old_one(path, text_hasher):
    other = OtherKind(3.0)
    new = refitted({"text": other.transform(TEXTS), "other": OTHER}).set_featurizers({"text": other})
    with (
        dh.Collection.create(path, text_hasher, featurizers={"text": OWN}) as collection,
        dh.Collection.open(path, featurizers={"text": OWN}) as reader,
    ):
        fill(collection)
        collection.refit(new, {"text": (range(6), other.transform(TEXTS))})
        assert collection.model.featurizers == {"text": other}
        with pytest.raises(InputError, match="own featurizer of kind 'another kind'"):
            found(reader)
        assert len(reader.search(other.transform(["LOUD"]), modality="text")[0]) == 6
    with dh.Collection.open(path, featurizers={"text": OtherKind}) as collection:
        assert len(found(collection)) == 6


def test_after_refit_a_featurizer_that_no_longer_fits_is_not_used(path, text_hasher):
    """Features and stored objects can still be searched; only raw objects cannot."""
    wide = np.random.default_rng(0).normal(size=(6, 5))
    with (
        dh.Collection.create(path, text_hasher, featurizers={"text": OWN}) as collection,
        dh.Collection.open(path, featurizers={"text": OWN}) as reader,
    ):
        fill(collection)
        collection.refit(refitted({"text": wide, "other": OTHER}), {"text": (range(6), wide)})
        for opened in (collection, reader):
            assert len(opened.search(wide[:1], modality="text", k=6)[0]) == 6
            assert len(opened.search_item(0, modality="text", into="text", k=6)) == 5
            with pytest.raises(InputError, match="no featurizer for modality 'text'"):
                found(opened)
        assert collection.verify().ok
        (problem,) = reader.verify().problems
        assert problem.startswith(
            "model: Collection.open: the model was fitted on 5 features of modality 'text'"
        )
    with pytest.raises(FeatureCountError, match=r"^Collection\.open: the model was fitted on 5 features"):
        dh.Collection.open(path, featurizers={"text": OWN})


def test_without_a_featurizer_the_error_names_the_call_that_helps(path, text_hasher):
    """``hasher.set_featurizers`` helps a hasher. A collection must be opened with the featurizer."""
    for model in (text_hasher, text_hasher.model_):
        with pytest.raises(InputError, match=r"set_featurizers\({'text'.*with_featurizers\({'text'"):
            model.encode_raw(TEXTS, modality="text")
    with dh.Collection.create(path, text_hasher) as collection:
        for act in (fill, found):
            with pytest.raises(
                InputError, match=r"Collection\.open\(path, featurizers={'text': \.\.\.}\)"
            ) as told:
                act(collection)
            assert "set_featurizers" not in str(told.value)


def test_errors_about_featurizers_name_the_call(path, text_hasher):
    for featurizers in ({"text": OtherWidth()}, {"text": CapitalCounts}, {"text": 3}):
        with pytest.raises((FeatureCountError, ParameterError), match=r"^Collection\.create: "):
            dh.Collection.create(path, text_hasher, featurizers=featurizers)
    dh.Collection.create(path, text_hasher, featurizers={"text": OWN}).close()
    text_hasher.save(path.with_name("model.dhm"))
    wrong = ({"text": OtherWidth()}, {"text": 3}, {"other": CapitalCounts}, [OWN])
    for featurizers in wrong:
        with pytest.raises((FeatureCountError, ParameterError), match=r"^Collection\.open: "):
            dh.Collection.open(path, featurizers=featurizers)
        with pytest.raises((FeatureCountError, ParameterError), match=r"^load: "):
            dh.load(path.with_name("model.dhm"), featurizers=featurizers)
