"""Rotated bits: more bits than useful directions do not lower the accuracy."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import TooManyBitsError
from diffhash.learning.rotation import bits_in_subspace
from diffhash.maps.learning_space import plain_view
from diffhash.maps.whitening import spectrum


@pytest.fixture(scope="module")
def data():
    return dh.datasets.make_paper_data(n_classes=6, n_train=800, n_test=300, random_state=3)


@pytest.fixture(scope="module")
def pairs(data):
    return dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])


def precision(hasher, data):
    codes = [hasher.encode(data.test.views[m], modality=m) for m in ("x", "y")]
    return dh.evaluate(*codes, data.test.labels["x"], data.test.labels["y"]).mean_average_precision


def test_useful_rank_is_the_number_of_classes_minus_one(data, pairs):
    """Six class means span five dimensions around their mean; the other 59 directions are random."""
    hasher = dh.DiffHash(n_bits=16, whiten=True, rotate=True).fit(data.train.views, pairs)
    assert len(hasher.singular_values_) == 5


def test_useful_rank_is_about_one_when_pairs_are_random(rng):
    views = {"x": rng.normal(size=(300, 10)), "y": rng.normal(size=(300, 8))}
    hasher = dh.DiffHash(n_bits=4, rotate=True).fit(views, dh.Pairs.aligned(300))
    assert len(hasher.singular_values_) <= 2, "in one of six cases a random direction passes the test"


def test_doubling_the_bits_does_not_lower_the_accuracy(data):
    """Without rotation the accuracy falls with more bits than the five useful directions."""
    labels = data.train.labels
    pairs = dh.Pairs.from_labels(labels["x"], labels["y"], 2_000, 20_000, random_state=0)
    plain, rotated = (
        [precision(make(b).fit(data.train.views, pairs), data) for b in (4, 8, 16, 32, 64)]
        for make in (
            lambda b: dh.DiffHash(n_bits=b),
            lambda b: dh.DiffHash(n_bits=b, whiten=True, rotate=True),
        )
    )
    assert plain[-1] < plain[0], "otherwise this test shows nothing"
    assert np.all(np.diff(rotated) > -0.01)
    assert rotated[-1] > 0.95


@pytest.mark.parametrize(
    "hasher",
    [
        dh.DiffHash(n_bits=150, whiten=True, rotate=True),
        dh.KernelDiffHash(n_bits=150, n_landmarks=50, whiten=True, rotate=True),
    ],
    ids=str,
)
def test_there_may_be_more_bits_than_features(data, pairs, hasher):
    hasher.fit(data.train.views, pairs)
    bits = dh.codes.unpack(hasher.encode(data.test.views["x"], modality="x"), 150)
    assert precision(hasher, data) > 0.9
    assert np.all((bits.mean(axis=0) > 0.01) & (bits.mean(axis=0) < 0.99))
    assert len(np.unique(bits.T, axis=0)) > 10, "several different rotations"


def test_without_rotation_the_error_about_too_many_bits_recommends_rotate(data, pairs):
    with pytest.raises(TooManyBitsError, match="rotate=True"):
        dh.DiffHash(n_bits=65).fit(data.train.views, pairs)


def test_rotation_works_with_one_view(data):
    labels = data.train.labels["x"]
    hasher = dh.DiffHash(n_bits=24, whiten=True, rotate=True)
    hasher.fit({"x": data.train.views["x"]}, dh.Pairs.from_labels(labels, labels))
    codes = hasher.encode(data.test.views["x"], modality="x")
    truth = data.test.labels["x"]
    own = dh.evaluate(codes, codes, truth, truth)
    assert own.mean_average_precision > 0.9


def test_as_many_bits_as_directions_give_an_orthogonal_matrix(rng):
    values = rng.normal(size=(200, 3)) * [3, 2, 1]
    (mix,) = bits_in_subspace([values], np.ones(3), 3, np.random.default_rng(0))
    np.testing.assert_allclose(mix.T @ mix / np.trace(mix.T @ mix) * 3, np.eye(3), atol=1e-6)


def test_inverse_root_decorrelates_features_that_are_not_centred(rng):
    X = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)) + 5
    whitened = X @ spectrum(plain_view(X)).inverse_root(0.0)
    np.testing.assert_allclose(np.cov(whitened.T, bias=True), np.eye(4), atol=1e-8)


@pytest.mark.parametrize("kernel", [False, True])
def test_rotation_depends_on_random_state(data, pairs, kernel):
    def codes(seed):
        options = {"n_bits": 16, "whiten": True, "rotate": True, "random_state": seed}
        if kernel:
            # Fixed landmarks, so that the seed affects only the rotation.
            landmarks = {m: X[:40] for m, X in data.train.views.items()}
            hasher = dh.KernelDiffHash(landmarks=landmarks, **options)
        else:
            hasher = dh.DiffHash(**options)
        return hasher.fit(data.train.views, pairs).encode(data.test.views["x"], modality="x")

    assert np.array_equal(codes(3), codes(3))
    assert not np.array_equal(codes(3), codes(4))
    assert codes(None).shape == codes(3).shape
