"""Centring and standardising give the mean and variance they should."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from diffhash.errors import InputError
from diffhash.maps import LinearMap, MappedView
from diffhash.maps.linear import inverse_root, row_moments


@pytest.fixture
def rows(rng):
    return rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)) + rng.normal(size=4) * 10


def test_centred_rows_have_mean_zero(rows):
    X = rows
    np.testing.assert_allclose(LinearMap.fit(X).transform(X).mean(axis=0), 0, atol=1e-12)


def test_standardised_features_have_unit_variance(rows):
    X = rows
    np.testing.assert_allclose(LinearMap.fit(X, standardize=True).transform(X).std(axis=0), 1)


def test_shrinkage_mixes_the_covariance_with_a_multiple_of_the_identity(rows):
    X = rows
    covariance = np.cov(X.T, bias=True)
    shrunk = 0.7 * covariance + 0.3 * np.trace(covariance) / 4 * np.eye(4)
    root = inverse_root(covariance, 0.3)
    np.testing.assert_allclose(root @ shrunk @ root, np.eye(4), atol=1e-8)


def test_a_constant_feature_becomes_zero_and_only_constant_features_are_an_error(rng):
    X = np.column_stack([rng.normal(size=20), np.full(20, 7.0)])
    assert np.all(LinearMap.fit(X, standardize=True).transform(X)[:, 1] == 0)
    with pytest.raises(InputError, match="every feature is constant"):
        LinearMap.fit(np.full((5, 2), 0.1, dtype=np.float32))


@pytest.mark.parametrize("options", [{}, {"standardize": True}, {"matrix": True}, {"center": False}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_and_dense_rows_have_the_same_projections(rng, options, dtype):
    X = rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.4)
    X = X.astype(dtype)
    P, a = rng.normal(size=(3, 5)), rng.normal(size=3)
    if "matrix" in options:
        # Old model files have linear maps with a matrix that whitens.
        dense = sparse = LinearMap(X.mean(axis=0), inverse_root(np.cov(X.T, bias=True), 0.01))
    else:
        dense, sparse = (LinearMap.fit(rows, **options) for rows in (X, scipy.sparse.csr_array(X)))

    expected = dense.project(X, P, a)

    np.testing.assert_allclose(sparse.project(scipy.sparse.csr_array(X), P, a), expected, atol=2e-5)
    np.testing.assert_allclose(dense.project(scipy.sparse.csr_array(X), P, a), expected, atol=2e-5)


def test_moments_of_float32_rows_far_from_zero_are_precise(rng):
    X = (rng.normal(size=(2000, 3)) + 1e4).astype(np.float32)
    mean, variance, covariance = row_moments(X, full=True)
    exact = X.astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(variance, exact.var(axis=0), rtol=1e-3)
    np.testing.assert_allclose(covariance, np.cov(exact.T, bias=True), atol=1e-3)


def test_blocks_do_not_change_the_projections_of_a_view(rng, monkeypatch):
    X = rng.normal(size=(100, 6))
    fitted = LinearMap.fit(X)
    P = rng.normal(size=(4, 6))
    whole = MappedView(X, fitted).project(P)
    monkeypatch.setattr("diffhash.maps.mapped_view._BLOCK_SIZE", 60)
    np.testing.assert_allclose(MappedView(X, fitted, keep_bytes=0).project(P), whole, atol=1e-12)
    np.testing.assert_allclose(MappedView(scipy.sparse.csr_array(X), fitted).project(P), whole, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_constant_feature_has_no_variance_in_spite_of_rounding(sparse):
    """The mean of many values 0.1 is not exactly 0.1; the tiny variance must not become a scale of 10^12."""
    X = np.column_stack([np.full(100_000, 0.1), np.random.default_rng(0).normal(size=100_000)])
    fitted = LinearMap.fit(scipy.sparse.csr_array(X) if sparse else X, standardize=True)
    assert fitted.scale[0] == 1.0
    with pytest.raises(InputError, match="every feature is constant"):
        LinearMap.fit(np.full((100_000, 3), 0.1))
