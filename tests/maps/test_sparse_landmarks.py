"""Kernel features of sparse rows with very many features are computed without dense rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from diffhash.maps import KernelMap, landmarks, sparse_landmarks
from diffhash.maps.landmarks import choose_landmarks
from diffhash.maps.sparse_landmarks import SparseLandmarks


def sparse_counts(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return scipy.sparse.csr_array(rng.poisson(0.02, (n, d)).astype(np.float64))


@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "hellinger"])
@pytest.mark.parametrize("bandwidth", ["balanced", 3.0])
def test_features_and_bandwidth_are_those_of_dense_rows(metric, bandwidth, monkeypatch):
    X = sparse_counts(60, 400)
    points = X[:20].toarray()
    dense = KernelMap.fit(X.toarray(), points, metric=metric, bandwidth=bandwidth)
    expected = dense.transform(X.toarray())

    monkeypatch.setattr(sparse_landmarks, "_MIN_FEATURES", 1)
    found = KernelMap.fit(X, points, metric=metric, bandwidth=bandwidth)

    assert found._sparse_landmarks is not None
    assert found.bandwidth == pytest.approx(dense.bandwidth)
    np.testing.assert_allclose(found.transform(X), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.transform(X.toarray()), expected, rtol=1e-9, atol=1e-12)


def test_a_loaded_map_has_the_same_features(monkeypatch):
    monkeypatch.setattr(sparse_landmarks, "_MIN_FEATURES", 1)
    X = sparse_counts(30, 300).astype(np.float32)
    fitted = KernelMap.fit(X, X[:10].toarray())

    again = KernelMap.from_state(*fitted.state())

    assert again.transform(X).dtype == np.float32
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))


def test_few_features_many_numbers_and_full_matrices_stay_dense(monkeypatch):
    points = sparse_counts(10, 300).toarray()
    assert SparseLandmarks.of(points, None, root=False) is None

    monkeypatch.setattr(sparse_landmarks, "_MIN_FEATURES", 1)

    assert SparseLandmarks.of(points, None, root=False) is not None
    assert SparseLandmarks.of(points + 1.0, None, root=False) is None
    assert SparseLandmarks.of(points, np.eye(300), root=False) is None


@pytest.mark.parametrize("max_dense", [0, 1 << 26])
def test_landmarks_of_repeated_sparse_rows_are_different(max_dense, monkeypatch):
    monkeypatch.setattr(landmarks, "_MAX_DENSE", max_dense)
    X = sparse_counts(12, 200)
    stacked = scipy.sparse.vstack([X, X, scipy.sparse.csr_array((3, 200))], format="csr")

    found = choose_landmarks(stacked, 20, "random", 0, caller="test", modality="x")

    n_distinct = len(np.unique(stacked.toarray(), axis=0))
    assert len(found) == n_distinct
    assert len(np.unique(found, axis=0)) == n_distinct


def test_a_feature_far_from_zero_does_not_hide_the_others():
    """Such as a time stamp: squared lengths of 10^18 leave no digits for distances of 1."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((30, 5000), density=0.01, rng=rng, format="lil")
    X[:, 0] = 1.7e9 + rng.random(30)[:, None]
    rows = scipy.sparse.csr_array(X)
    kernel = KernelMap(rows.toarray()[:6], bandwidth=10.0)

    np.testing.assert_allclose(kernel.transform(rows), kernel.transform(rows.toarray()), atol=1e-6)
