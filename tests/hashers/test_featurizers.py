"""Hashers with featurizers: encoding raw objects, saving and loading."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import (
    FeatureCountError,
    InputError,
    ModelFileError,
    NotFittedError,
    ParameterError,
    UnknownModalityError,
)
from diffhash.featurizers import HogFeatures, PictureFeatures, TfidfFeatures
from diffhash.hashers import hasher_from_model
from diffhash.model import HashModel
from diffhash.model.file import read_model, write_model
from tests.golden.make import raw_inputs, raw_model
from tests.own_featurizer import CapitalCounts


class CapitalCountsThatCannotBeSaved(CapitalCounts):
    def state(self):
        return {"scale": object()}, {}


@pytest.fixture
def hasher():
    return raw_model()


@pytest.fixture
def raw():
    return raw_inputs()


@pytest.fixture
def model_with_own_featurizer():
    """A model of which one modality is featurized by a class of the user's own."""
    texts = ["AB", "ab", "Ab c", "QUITE LOUD", "rather quiet", "x"]
    own = CapitalCounts(2.0, (1.0, -1.0))
    views = {"a": own.transform(texts), "b": np.arange(12.0).reshape(6, 2) ** 2}
    model = dh.DiffHash(n_bits=1).fit(views, dh.Pairs.aligned(6))
    return model.set_featurizers({"a": own}), texts


def test_raw_objects_get_the_codes_of_their_features(hasher, raw):
    for modality in ("image", "text"):
        features = hasher.featurize(raw[modality], modality=modality)
        np.testing.assert_array_equal(
            hasher.encode_raw(raw[modality], modality=modality), hasher.encode(features, modality=modality)
        )
    assert hasher.encode_raw([], modality="text").shape == (0, 1)
    assert hasher.encode_raw(["words never seen"], modality="text").shape == (1, 1)


def test_featurizers_are_saved_with_the_model(hasher, raw, tmp_path):
    hasher.save(tmp_path / "m")
    for loaded in (
        dh.load(tmp_path / "m"),
        hasher_from_model(HashModel.from_bytes(hasher.model_.to_bytes(), name="bytes")),
    ):
        assert set(loaded.featurizers_) == {"image", "text"}
        for modality in ("image", "text"):
            np.testing.assert_array_equal(
                loaded.encode_raw(raw[modality], modality=modality),
                hasher.encode_raw(raw[modality], modality=modality),
            )


def test_the_file_of_a_model_without_featurizers_does_not_mention_them(hasher, tmp_path):
    hasher.set_featurizers({}).save(tmp_path / "m")

    header, arrays = read_model(tmp_path / "m")

    assert "featurizers" not in header
    assert not [name for name in arrays if name.startswith("featurizer/")]
    assert dh.load(tmp_path / "m").featurizers_ == {}


def test_only_one_modality_may_have_a_featurizer(hasher, raw, tmp_path):
    hasher.set_featurizers({"text": hasher.featurizers_["text"]}).save(tmp_path / "m")

    loaded = dh.load(tmp_path / "m")

    assert loaded.encode_raw(raw["text"], modality="text").shape == (60, 1)
    with pytest.raises(InputError, match=r"no featurizer for modality 'image'.*set_featurizers"):
        loaded.encode_raw(raw["image"], modality="image")


def test_fitting_again_removes_the_featurizers(hasher, small_data, small_pairs):
    """They computed the features of the previous fit, not those of this one."""
    hasher.fit(small_data.train.views, small_pairs)

    assert hasher.featurizers_ == {}


def test_featurizers_must_give_the_number_of_features_of_the_model(hasher):
    before = hasher.featurizers_
    with pytest.raises(FeatureCountError, match=r"was fitted on 40 features.*gives 2212"):
        hasher.set_featurizers({"text": before["text"], "image": PictureFeatures()})
    assert hasher.featurizers_ is before


@pytest.mark.parametrize(
    ("featurizers", "error", "words"),
    [
        ({"sound": HogFeatures()}, UnknownModalityError, "sound"),
        ([HogFeatures()], ParameterError, "dict of featurizers"),
        ({"image": object()}, ParameterError, "without kind, n_features, transform"),
        ({"image": HogFeatures}, ParameterError, r"such as HogFeatures\(\)"),
        ({"text": TfidfFeatures()}, NotFittedError, "call fit"),
    ],
)
def test_objects_that_are_not_featurizers_are_refused(hasher, featurizers, error, words):
    with pytest.raises(error, match=words):
        hasher.set_featurizers(featurizers)


def test_an_unfitted_hasher_refuses_featurizers():
    with pytest.raises(NotFittedError, match=r"DiffHash\.set_featurizers.*Call fit first"):
        dh.DiffHash().set_featurizers({})


def test_a_featurizer_of_the_user_is_given_to_load(model_with_own_featurizer, tmp_path):
    model, texts = model_with_own_featurizer
    model.save(tmp_path / "m")
    expected = model.encode_raw(texts, modality="a")

    for own in (CapitalCounts(2.0, (1.0, -1.0)), CapitalCounts):
        loaded = dh.load(tmp_path / "m", featurizers={"a": own})
        np.testing.assert_array_equal(loaded.encode_raw(texts, modality="a"), expected)


def test_without_the_featurizer_a_loaded_model_encodes_features_and_can_be_saved_again(
    model_with_own_featurizer, tmp_path
):
    model, texts = model_with_own_featurizer
    model.save(tmp_path / "m")

    loaded = dh.load(tmp_path / "m")

    X = model.featurize(texts, modality="a")
    np.testing.assert_array_equal(loaded.encode(X, modality="a"), model.encode(X, modality="a"))
    with pytest.raises(InputError, match=r"of kind 'capital-counts'.*load\(path, featurizers="):
        loaded.encode_raw(texts, modality="a")
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_load_refuses_a_featurizer_of_another_kind_than_in_the_file(model_with_own_featurizer, tmp_path):
    model_with_own_featurizer[0].save(tmp_path / "m")
    other = CapitalCounts()
    other.kind = "another-kind"

    with pytest.raises(ParameterError, match=r"'capital-counts'.*'another-kind'"):
        dh.load(tmp_path / "m", featurizers={"a": other})
    with pytest.raises(ParameterError, match="dict by modality"):
        dh.load(tmp_path / "m", featurizers=CapitalCounts())
    with pytest.raises(ParameterError, match="no state"):
        dh.load(tmp_path / "m", featurizers={"b": CapitalCounts})


def test_a_featurizer_of_the_user_cannot_have_a_built_in_kind(model_with_own_featurizer):
    own = CapitalCounts()
    own.kind = "tfidf"

    with pytest.raises(ParameterError, match="another one"):
        model_with_own_featurizer[0].set_featurizers({"a": own})


def test_a_state_that_cannot_be_saved_is_an_error_and_no_file_is_written(model_with_own_featurizer, tmp_path):
    model = model_with_own_featurizer[0].set_featurizers({"a": CapitalCountsThatCannotBeSaved()})

    with pytest.raises(ParameterError, match="plain JSON"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_featurizer_that_returns_the_wrong_number_of_features_is_an_error(model_with_own_featurizer):
    model, texts = model_with_own_featurizer
    model.featurizers_["a"].transform = lambda raw: np.ones((len(raw), 3))

    with pytest.raises(FeatureCountError, match=r"DiffHash\.encode_raw"):
        model.encode_raw(texts, modality="a")


def changed(modality, key, value):
    def change(header, arrays):
        header["featurizers"][modality][key] = value

    return change


def changed_parameter(modality, key, value):
    def change(header, arrays):
        header["featurizers"][modality]["parameters"][key] = value

    return change


def changed_array(key, value):
    def change(header, arrays):
        arrays[key] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        changed("image", "kind", "tfidf"),
        changed("image", "kind", ["hog"]),
        changed("image", "kind", None),
        changed("image", "parameters", None),
        changed("image", "parameters", {}),
        changed_parameter("image", "cells", 10**9),
        changed_parameter("image", "orientations", 10**9),
        changed_parameter("image", "thumbnail", 10**9),
        changed_parameter("image", "size", 10**9),
        changed_parameter("text", "char_ngrams", None),
        changed_array("featurizer/1/words", np.array([0xFF], dtype=np.uint8)),
        changed_array("featurizer/1/idf", np.ones(3, dtype=np.float32)),
        changed_array("featurizer/1/surplus", np.ones(3, dtype=np.float32)),
        lambda header, arrays: header["featurizers"].update(sound={"kind": "hog", "parameters": {}}),
        lambda header, arrays: header.update(featurizers=[]),
        lambda header, arrays: header.update(featurizers={"text": 5}),
        lambda header, arrays: arrays.pop("featurizer/1/words"),
    ],
)
def test_a_tampered_file_is_refused(hasher, tmp_path, change):
    hasher.save(tmp_path / "m")
    header, arrays = read_model(tmp_path / "m")
    change(header, arrays)
    write_model(tmp_path / "m", header, arrays)

    with pytest.raises(ModelFileError):
        dh.load(tmp_path / "m")
