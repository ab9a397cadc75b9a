"""Principal components, computed with and without the covariance matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from diffhash.maps import LinearMap, MappedView, whitening
from diffhash.maps.whitening import principal_components


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_components_are_eigenvectors_of_the_covariance(rng, monkeypatch, sparse, wide):
    """Also with too many features for a covariance matrix, and for sparse rows that are not centred."""
    X = rng.normal(size=(300, 12)) * np.geomspace(8, 0.01, 12) + 3
    rows = scipy.sparse.csr_array(X) if sparse else X
    if wide:
        monkeypatch.setattr(whitening, "_MAX_COVARIANCE_FEATURES", 4)
    found = principal_components(MappedView(rows, LinearMap.fit(rows)), 5, np.random.default_rng(0))
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    np.testing.assert_allclose(found.variances, values[::-1][:5], rtol=1e-6)
    np.testing.assert_allclose(np.abs(vectors[:, ::-1][:, :5].T @ found.directions), np.eye(5), atol=1e-5)


def test_directions_without_variance_are_left_out(rng):
    X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 6))
    found = principal_components(MappedView(X, LinearMap.fit(X)), 6, np.random.default_rng(0))
    assert found.directions.shape == (6, 2)


def test_ridge_keeps_small_components_small(rng):
    X = rng.normal(size=(400, 3)) * [10, 1, 0.1]
    view = MappedView(X, LinearMap.fit(X))
    found = principal_components(view, 3, np.random.default_rng(0))
    whitened = view.project((found.directions * found.scales(0.0)).T)
    np.testing.assert_allclose(whitened.std(axis=0), 1)
    damped = view.project((found.directions * found.scales(0.01)).T)
    np.testing.assert_allclose(
        damped.std(axis=0) ** 2, found.variances / (found.variances + 0.01 * found.variances[0])
    )
