"""A HashModel gives the same results as its hasher, without the estimator."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import InputError, ModelFileError, NotFittedError
from diffhash.hashers import hasher_from_model
from diffhash.model import HashModel, load_model, model_of
from diffhash.model.file import read_model
from tests.golden.make import raw_inputs, raw_model

HASHERS = {
    "diff": dh.DiffHash(n_bits=6),
    "rotated": dh.DiffHash(n_bits=20, whiten=True, rotate=True),
    "kernel": dh.KernelDiffHash(n_bits=6, n_landmarks=30, whiten=True),
    "boosted": dh.BoostedHash(n_bits=4, sample_size=(300, 600)),
    "refined": dh.RefinedHash(n_bits=6, features="linear", ridge=0.03, penalty=0.003, negative_target=-0.7),
}


@pytest.fixture(params=HASHERS.values(), ids=HASHERS)
def hasher(request, small_data, small_pairs):
    return copy.deepcopy(request.param).fit(small_data.train.views, small_pairs)


def assert_same_codes(one, other, views):
    for modality, X in views.items():
        np.testing.assert_array_equal(one.encode(X, modality=modality), other.encode(X, modality=modality))
        np.testing.assert_array_equal(one.project(X, modality=modality), other.project(X, modality=modality))


def test_model_encodes_like_its_hasher(hasher, small_data):
    assert isinstance(hasher.model_, HashModel)
    assert_same_codes(hasher.model_, hasher, small_data.test.views)


def test_model_file_can_be_read_with_and_without_the_estimator(hasher, small_data, tmp_path):
    hasher.model_.save(tmp_path / "model.dhm")

    model, loaded = load_model(tmp_path / "model.dhm"), dh.load(tmp_path / "model.dhm")

    assert (model.method, model.n_bits) == (type(hasher).__name__, hasher.n_bits)
    assert model.n_features == hasher.n_features_in_
    assert type(loaded) is type(hasher)
    assert loaded.get_params() == hasher.get_params()
    assert_same_codes(model, hasher, small_data.test.views)
    assert_same_codes(loaded, hasher, small_data.test.views)
    assert model.to_bytes() == (tmp_path / "model.dhm").read_bytes()


@pytest.mark.parametrize("copied", [lambda h: pickle.loads(pickle.dumps(h)), copy.deepcopy])
def test_pickled_and_copied_hashers_give_the_same_codes(hasher, small_data, copied):
    again = copied(hasher)

    assert repr(again) == repr(hasher)
    assert_same_codes(again, hasher, small_data.test.views)
    for name in hasher.extra_attributes:
        np.testing.assert_array_equal(getattr(again, f"{name}_"), getattr(hasher, f"{name}_"))


def test_hasher_from_model_has_all_attributes(hasher):
    again = hasher_from_model(hasher.model_)

    assert again.modalities_ == hasher.modalities_
    assert again.maps_ is hasher.maps_
    for name in hasher.extra_attributes:
        np.testing.assert_array_equal(getattr(again, f"{name}_"), getattr(hasher, f"{name}_"))


def test_with_featurizers_leaves_the_model_unchanged():
    model = raw_model().model_

    bare = model.with_featurizers({})

    assert set(model.featurizers) == {"image", "text"}
    assert bare.featurizers == {}
    assert model.encode_raw(raw_inputs()["text"], modality="text").shape == (60, 1)
    with pytest.raises(InputError, match="no featurizer for modality 'text'"):
        bare.encode_raw(["a"], modality="text")


def test_model_of_takes_a_model_or_a_fitted_hasher():
    hasher = raw_model()

    assert model_of(hasher, caller="f") is hasher.model_
    assert model_of(hasher.model_, caller="f") is hasher.model_
    with pytest.raises(NotFittedError, match="f: this DiffHash is not fitted yet"):
        model_of(dh.DiffHash(), caller="f")
    with pytest.raises(InputError, match="f: hasher must be a fitted hasher or a HashModel"):
        model_of("hasher", caller="f")


def test_attributes_of_an_unfitted_hasher_raise_and_hasattr_is_false():
    from sklearn.exceptions import NotFittedError as SklearnNotFittedError
    from sklearn.utils.validation import check_is_fitted

    hasher = dh.DiffHash()

    assert not hasattr(hasher, "projections_")
    for act in (lambda: hasher.maps_, lambda: check_is_fitted(hasher), lambda: hasher.singular_values_):
        with pytest.raises(SklearnNotFittedError, match="not fitted"):
            act()
    with pytest.raises(NotFittedError, match=r"DiffHash\.thresholds_: this DiffHash is not fitted yet"):
        _ = hasher.thresholds_


def test_a_default_that_older_releases_do_not_know_is_left_out_of_the_file(small_data, small_pairs, tmp_path):
    for seed in (0, 7):
        hasher = dh.DiffHash(n_bits=4, random_state=seed).fit(small_data.train.views, small_pairs)
        hasher.save(tmp_path / "model.dhm")

        header, _ = read_model(tmp_path / "model.dhm")

        assert ("random_state" in header["parameters"]) == (seed != 0)
        assert dh.load(tmp_path / "model.dhm").random_state == seed


def test_a_model_does_not_keep_callbacks(small_data, small_pairs):
    hasher = copy.deepcopy(HASHERS["refined"]).set_params(progress=lambda iteration, loss: None)

    model = hasher.fit(small_data.train.views, small_pairs).model_

    assert hasher.progress is not None
    assert model.parameters["progress"] is None
    assert pickle.loads(pickle.dumps(model)).n_bits == 6


def test_load_says_that_a_collection_is_not_a_model(hasher, tmp_path):
    dh.Collection.create(tmp_path / "items.dh", hasher).close()

    with pytest.raises(ModelFileError, match=r"is a collection .*Use Collection\.open"):
        dh.load(tmp_path / "items.dh")


class Lengths:
    """A featurizer that forgets objects."""

    kind, n_features = "lengths", 2

    def transform(self, raw):
        return np.zeros((min(1, len(raw)), 2))

    def state(self):
        return {}, {}

    @classmethod
    def from_state(cls, *_):
        return cls()


def test_a_featurizer_must_give_one_row_for_each_object(rng):
    views = {"a": rng.normal(size=(20, 2)), "b": rng.normal(size=(20, 3))}
    model = dh.DiffHash(n_bits=2).fit(views, dh.Pairs.aligned(20)).model_.with_featurizers({"a": Lengths()})

    with pytest.raises(InputError, match="'lengths' featurizer gave 1 rows for 3 objects"):
        model.encode_raw(["x", "y", "z"], modality="a")
    with pytest.raises(InputError, match=r"expected a list of objects, got one str\. Write \[x\]"):
        model.encode_raw("xyz", modality="a")
    assert model.encode_raw(["x"], modality="a").shape == (1, 1)
