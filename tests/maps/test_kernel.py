"""Kernel features equal the formula; landmarks are chosen and checked."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from diffhash.errors import InputError, ParameterError
from diffhash.maps import KernelMap
from diffhash.maps.kernel import gaussian_kernel, landmark_bandwidth
from diffhash.maps.landmarks import choose_landmarks


def slow_kernel(X, landmarks, inverse_covariance, bandwidth):
    """The Gaussian of a Mahalanobis distance, computed value by value."""
    return np.array(
        [[np.exp(-(x - z) @ inverse_covariance @ (x - z) / bandwidth) for z in landmarks] for x in X]
    )


@given(st.integers(1, 8), st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**31))
def test_gaussian_kernel_equals_the_formula(n, n_landmarks, d, seed):
    rng = np.random.default_rng(seed)
    X, landmarks = rng.normal(size=(n, d)), rng.normal(size=(n_landmarks, d))
    np.testing.assert_allclose(
        gaussian_kernel(X, landmarks, 1.7), slow_kernel(X, landmarks, np.eye(d), 1.7), atol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "mahalanobis"])
def test_each_metric_uses_its_inverse_covariance(rng, metric, sparse, dtype):
    X = (rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 20).astype(dtype)
    covariance = np.cov(X.T.astype(float), bias=True)
    inverse = {
        "euclidean": np.eye(4),
        "diagonal": np.diag(1 / np.diag(covariance)),
        "mahalanobis": np.linalg.inv(covariance),
    }[metric]
    rows = scipy.sparse.csr_array(X) if sparse else X

    fitted = KernelMap.fit(rows, X[:10], metric=metric, bandwidth=3.0, shrinkage=0.0)

    expected = slow_kernel(X.astype(float), X[:10].astype(float), inverse, 3.0)
    np.testing.assert_allclose(fitted.transform(rows), expected, atol=2e-4 if dtype == np.float32 else 1e-8)
    assert fitted.transform(rows).dtype == dtype


def test_median_bandwidth_is_the_median_squared_distance(rng):
    points = rng.normal(size=(9, 3))
    distances = [((points[i] - points[j]) ** 2).sum() for i in range(9) for j in range(i)]
    assert landmark_bandwidth(points, "median") == pytest.approx(np.median(distances))
    assert landmark_bandwidth(points, "balanced") == pytest.approx(np.median(distances) / np.log(9))


def test_with_the_balanced_bandwidth_all_landmarks_contribute_as_much_as_one_match(rng):
    landmarks = rng.normal(size=(500, 100))
    values = KernelMap.fit(landmarks, landmarks, metric="euclidean", bandwidth="balanced").transform(
        landmarks
    )
    off_diagonal = values.sum(axis=1) - 1
    assert 0.3 < np.median(off_diagonal) < 3


def test_centred_kernel_features_have_mean_zero(rng):
    X = rng.normal(size=(40, 3))
    np.testing.assert_allclose(KernelMap.fit(X, X[:8], center=True).transform(X).mean(axis=0), 0, atol=1e-12)


def test_a_kernel_function_is_called_with_rows_and_landmarks(rng):
    X = rng.normal(size=(20, 3))
    fitted = KernelMap.fit(X, X[:5], kernel=lambda rows, landmarks: rows @ landmarks.T)
    np.testing.assert_allclose(fitted.transform(X), X @ X[:5].T)
    bad = KernelMap.fit(X, X[:5], kernel=lambda rows, landmarks: rows)
    with pytest.raises(ParameterError, match=r"must return floats of shape \(20, 5\)"):
        bad.transform(X)


def test_what_a_kernel_function_returns_is_not_changed(rng):
    """It may return an array that it keeps, or its argument."""
    X = rng.random(size=(20, 5))
    before = X.copy()
    fitted = KernelMap.fit(X, X[:5], kernel=lambda rows, landmarks: rows, center=True)

    centred = fitted.transform(X)

    assert np.array_equal(X, before)
    np.testing.assert_allclose(centred, X - X.mean(axis=0))


def test_a_bandwidth_cannot_be_computed_from_equal_landmarks(rng):
    X = np.column_stack([rng.normal(size=30), np.zeros(30)])
    X[:, 0] = np.r_[np.zeros(20), np.arange(10)]
    with pytest.raises(InputError, match="median distance between landmarks is 0"):
        KernelMap.fit(X, X[:25], metric="euclidean", bandwidth="median")
    with pytest.raises(ParameterError, match="at least 2"):
        KernelMap.fit(X, X[:1], metric="euclidean")
    with pytest.raises(InputError, match="every feature is constant"):
        KernelMap.fit(np.ones((5, 2)), np.ones((2, 2)))


@pytest.mark.parametrize("how", ["random", "kmeans"])
@pytest.mark.parametrize("sparse", [False, True])
def test_landmarks_are_distinct_and_reproducible(rng, how, sparse):
    X = rng.normal(size=(60, 3)).astype(np.float32)
    X = np.concatenate([X, X[:30]])
    rows = scipy.sparse.csr_array(X) if sparse else X
    first, again = (choose_landmarks(rows, 20, how, 1, caller="test", modality="x") for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first.shape == (20, 3)
    assert first.dtype == np.float32
    assert len(np.unique(first, axis=0)) == 20


def test_random_landmarks_are_different_objects(rng):
    X = np.repeat(rng.normal(size=(10, 2)), 30, axis=0)
    assert len(np.unique(choose_landmarks(X, 10, "random", 0, caller="test", modality="x"), axis=0)) == 10
    assert len(choose_landmarks(X, 11, "random", 0, caller="test", modality="x")) == 10, "clipped"


def test_equal_landmarks_or_landmarks_of_wrong_shape_are_refused(rng):
    X = rng.normal(size=(10, 2))
    with pytest.raises(ParameterError, match="only 1 are different"):
        choose_landmarks(X, 2, X[[0, 0]], 0, caller="test", modality="x")
    with pytest.raises(ValueError, match="has 2 features"):
        choose_landmarks(X, 2, rng.normal(size=(4, 3)), 0, caller="test", modality="x")


@pytest.mark.parametrize("sparse", [False, True])
def test_hellinger_compares_square_roots(rng, sparse):
    X = rng.dirichlet(np.ones(5), size=30)
    rows = scipy.sparse.csr_array(X) if sparse else X
    fitted = KernelMap.fit(rows, X[:6], metric="hellinger", bandwidth=0.5)
    expected = slow_kernel(np.sqrt(X), np.sqrt(X[:6]), np.eye(5), 0.5)
    np.testing.assert_allclose(fitted.transform(rows), expected, atol=1e-12)
    again = KernelMap.from_state(*fitted.state())
    np.testing.assert_array_equal(again.transform(rows), fitted.transform(rows))


def test_hellinger_refuses_negative_features(rng):
    X = rng.normal(size=(20, 3))
    with pytest.raises(InputError, match="never negative"):
        KernelMap.fit(X, X[:5], metric="hellinger")


def test_an_unknown_rule_for_the_bandwidth_is_refused(rng):
    with pytest.raises(ParameterError, match="bandwidth must be one of 'balanced', 'median', got 'auto'"):
        landmark_bandwidth(rng.normal(size=(9, 2)), "auto")
