"""KernelDiffHash with a distance function of the user, and with kernel values that were computed before."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import diffhash as dh
from diffhash.errors import FeatureCountError, InputError, ModelFileError, ParameterError, TooManyBitsError
from diffhash.maps import KernelMap


def euclidean(X, landmarks):
    return np.sqrt(((X[:, None] - landmarks) ** 2).sum(axis=2))


def manhattan(X, landmarks):
    return np.abs(X[:, None] - landmarks).sum(axis=2)


def slow_features(X, landmarks, rule):
    """Kernel features by loops, with the L1 distance."""
    d = [[sum(abs(a - b) for a, b in zip(x, z, strict=True)) for z in landmarks] for x in X]
    between = [
        sum(abs(a - b) for a, b in zip(landmarks[i], landmarks[j], strict=True)) ** 2
        for i in range(len(landmarks))
        for j in range(i)
    ]
    h = float(np.median(between)) / (max(1.0, np.log(len(landmarks))) if rule == "balanced" else 1.0)
    return np.array([[np.exp(-(value**2) / h) for value in row] for row in d])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 6),
    n_landmarks=st.integers(2, 6),
    d=st.integers(1, 4),
    rule=st.sampled_from(["balanced", "median"]),
)
def test_features_by_an_own_distance_equal_the_loop(seed, n, n_landmarks, d, rule):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    landmarks = rng.normal(size=(n_landmarks, d))

    fitted = KernelMap.fit(X, landmarks, metric=manhattan, bandwidth=rule)

    np.testing.assert_allclose(fitted.transform(X), slow_features(X, landmarks, rule), atol=1e-12)


@pytest.mark.parametrize(
    "options", [{}, {"bandwidth": 3000.0}, {"width": 0.5}, {"whiten": True, "rotate": True}]
)
def test_own_euclidean_distance_gives_the_codes_of_the_built_in_one(small_data, small_pairs, options):
    views = small_data.train.views
    own, built_in = (
        dh.KernelDiffHash(n_bits=4, n_landmarks=30, metric=metric, **options).fit(views, small_pairs)
        for metric in (euclidean, "euclidean")
    )
    for m, X in small_data.test.views.items():
        differ = own.encode(X, modality=m) ^ built_in.encode(X, modality=m)
        assert np.bitwise_count(differ).mean() < 0.02


def test_a_sparse_view_reaches_the_function_as_it_is(small_data, small_pairs):
    def jaccard_like(X, landmarks):
        dense = X.toarray() if scipy.sparse.issparse(X) else X
        return np.abs(dense[:, None] - landmarks).sum(axis=2)

    views = {m: scipy.sparse.csr_array(np.maximum(X, 0)) for m, X in small_data.train.views.items()}
    hasher = dh.KernelDiffHash(n_bits=3, n_landmarks=20, metric=jaccard_like).fit(views, small_pairs)
    dense = {m: X.toarray() for m, X in views.items()}
    np.testing.assert_array_equal(hasher.encode(views["x"], "x"), hasher.encode(dense["x"], "x"))


def test_an_own_distance_is_passed_to_load_again(small_data, small_pairs, tmp_path):
    metrics = {"x": manhattan, "y": "diagonal"}
    hasher = dh.KernelDiffHash(n_bits=3, n_landmarks=20, metric=metrics).fit(
        small_data.train.views, small_pairs
    )
    hasher.save(tmp_path / "m.dhm")

    with pytest.raises(ModelFileError, match=r"a distance function of your own.*kernel=\.\.\."):
        dh.load(tmp_path / "m.dhm")
    for given_as in (manhattan, {"x": manhattan}):
        loaded = dh.load(tmp_path / "m.dhm", kernel=given_as)
        for m, X in small_data.test.views.items():
            np.testing.assert_array_equal(loaded.encode(X, modality=m), hasher.encode(X, modality=m))
    assert loaded.metric == metrics
    assert loaded.kernel == "gaussian"
    again = clone(loaded).fit(small_data.train.views, small_pairs)
    np.testing.assert_array_equal(again.projections_["x"], hasher.projections_["x"])


def precomputed(landmarks, X):
    return np.exp(-(euclidean(X, landmarks) ** 2) / 400)


def test_precomputed_values_give_the_codes_of_the_same_kernel_function(small_data, small_pairs, tmp_path):
    train, test = small_data.train.views, small_data.test.views
    landmarks = {m: X[:40] for m, X in train.items()}
    values = {m: precomputed(landmarks[m], X) for m, X in train.items()}
    options = {"n_bits": 4, "center": True}

    by_function = dh.KernelDiffHash(
        kernel=lambda X, landmarks: precomputed(landmarks, X), landmarks=landmarks, **options
    ).fit(train, small_pairs)
    by_values = dh.KernelDiffHash(kernel="precomputed", **options).fit(values, small_pairs)
    by_values.save(tmp_path / "m.dhm")
    loaded = dh.load(tmp_path / "m.dhm")

    assert by_values.n_landmarks_ == {"x": 40, "y": 40}
    assert loaded.kernel == "precomputed"
    for m, X in test.items():
        rows = precomputed(landmarks[m], X)
        # The features are float32, and the two fits sum them in blocks of other sizes.
        np.testing.assert_allclose(
            by_values.project(rows, modality=m), by_function.project(X, modality=m), atol=1e-7
        )
        np.testing.assert_array_equal(by_values.encode(rows, modality=m), by_function.encode(X, modality=m))
        np.testing.assert_array_equal(loaded.encode(rows, modality=m), by_values.encode(rows, modality=m))


def test_one_modality_is_precomputed_and_another_has_an_own_function(small_data, small_pairs, tmp_path):
    train = small_data.train.views
    views = {"x": precomputed(train["x"][:25], train["x"]), "y": train["y"]}
    hasher = dh.KernelDiffHash(
        n_bits=3,
        n_landmarks=20,
        kernel={"x": "precomputed", "y": "gaussian"},
        metric={"x": "diagonal", "y": manhattan},
    ).fit(views, small_pairs)
    hasher.save(tmp_path / "m.dhm")

    loaded = dh.load(tmp_path / "m.dhm", kernel=manhattan)

    assert hasher.n_landmarks_ == {"x": 25, "y": 20}
    assert loaded.kernel == {"x": "precomputed", "y": "gaussian"}
    for m, X in views.items():
        np.testing.assert_array_equal(loaded.encode(X, modality=m), hasher.encode(X, modality=m))


def test_bad_distances_and_precomputed_values_raise_one_clear_error(small_data, small_pairs):
    views = small_data.train.views

    def fit(views=views, **parameters):
        return dh.KernelDiffHash(**{"n_bits": 3, "n_landmarks": 10} | parameters).fit(views, small_pairs)

    with pytest.raises(ParameterError, match="metric must be one of"):
        fit(metric="manhattan")
    with pytest.raises(ParameterError, match=r"numbers of shape \(10, 10\), got float64 of shape \(10,\)"):
        fit(metric=lambda X, landmarks: np.zeros(len(X)))
    with pytest.raises(ParameterError, match="Distances must not be negative"):
        fit(metric=lambda X, landmarks: -manhattan(X, landmarks))
    with pytest.raises(ParameterError, match="NaN or infinity"):
        fit(metric=lambda X, landmarks: np.full((len(X), len(landmarks)), np.inf), bandwidth=1.0)
    with pytest.raises(InputError, match="median distance between landmarks is 0"):
        fit(metric=lambda X, landmarks: np.zeros((len(X), len(landmarks))))
    with pytest.raises(ParameterError, match="distance function as metric and kernel="):
        fit(metric=manhattan, kernel=lambda X, landmarks: X @ landmarks.T)
    with pytest.raises(
        ParameterError, match=r"modality 'x' has a distance function as metric and kernel='precom"
    ):
        fit(metric=manhattan, kernel="precomputed")
    with pytest.raises(ParameterError, match=r"modality 'x' has kernel=\"precomputed\".*Leave landmarks out"):
        fit(landmarks=views, kernel="precomputed")
    values = {m: precomputed(X[:8], X) for m, X in views.items()}
    with pytest.raises(TooManyBitsError, match="limit of 8"):
        fit(values, n_bits=9, kernel="precomputed")
    hasher = fit(values, kernel="precomputed")
    with pytest.raises(FeatureCountError, match=r"has 8 features, got an array of shape \(400, 128\)"):
        hasher.encode(views["x"], modality="x")
