"""The space of the rows gives what the space of the features gives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import InputError
from diffhash.maps import LinearMap, MappedView
from diffhash.maps.learning_space import learning_space, plain_view, row_space
from diffhash.maps.whitening import spectrum, stronger_shrinkage
from tests.reference.cross_fit import slow_inverse_root, slow_shrinkage


@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(2, 20), st.floats(0, 0.9), st.booleans())
def test_spectrum_of_row_space_is_that_of_the_features(seed, n, d, shrinkage, sparse):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    rows = scipy.sparse.csr_array(X) if sparse else X
    view = MappedView(rows, LinearMap.fit(rows))
    space = learning_space(view, by_rows=True)

    found = spectrum(space.view, d)

    # Centred rows have one direction fewer; that of sparse rows is left out.
    assert space.view.n_features == (n - 1 if sparse and space.basis is not None else min(n, d))
    assert found.ledoit_wolf == pytest.approx(slow_shrinkage(X), abs=1e-9)
    P = rng.normal(size=(2, space.view.n_features))
    whitened = space.whitened(found.inverse_root(shrinkage))
    basis = np.eye(d) if space.basis is None else space.basis.array()
    expected = (X - X.mean(axis=0)) @ slow_inverse_root(X, shrinkage) @ basis @ P.T
    np.testing.assert_allclose(view.project(whitened.folded(P)), expected, rtol=1e-6, atol=1e-6)


def test_ledoit_wolf_is_that_of_scikit_learn(rng):
    from sklearn.covariance import ledoit_wolf_shrinkage

    for shape in ((40, 7), (15, 60)):
        X = rng.normal(size=shape) * np.geomspace(1, 5, shape[1])
        assert spectrum(plain_view(X)).ledoit_wolf == pytest.approx(ledoit_wolf_shrinkage(X))


def test_row_space_may_have_more_directions_than_rows(rng):
    X = rng.normal(size=(4, 10))
    coordinates, found = row_space(plain_view(X), min_rank=7)
    basis = found.array()
    np.testing.assert_allclose(basis.T @ basis, np.eye(7), atol=1e-12)
    np.testing.assert_allclose(coordinates.X @ basis.T, X, atol=1e-12)
    np.testing.assert_allclose(coordinates.X[:, 4:], 0, atol=1e-12)


def test_whitening_does_not_amplify_directions_without_variance(rng):
    X = rng.normal(size=(30, 2)) @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    assert np.abs(X @ spectrum(plain_view(X)).inverse_root(0.0)).max() < 10


def test_stronger_shrinkage_stays_in_its_range():
    assert stronger_shrinkage(0.0, 16.0) == 0.0
    assert stronger_shrinkage(1.0, 16.0) == 1.0
    assert stronger_shrinkage(0.3, 1.0) == pytest.approx(0.3)
    assert 0.3 < stronger_shrinkage(0.3, 4.0) < 1


def test_features_that_are_too_large_to_square_are_an_error_of_ours(rng):
    X = (rng.normal(size=(20, 3)) * 1e30).astype(np.float32)
    with pytest.raises(InputError, match="modality 'x': the features are too large"):
        spectrum(plain_view(X), who="modality 'x'")


def sparse_counts(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return scipy.sparse.csr_array(rng.poisson(0.2, (n, d)).astype(np.float64))


@pytest.mark.parametrize("min_rank", [0, 30])
@pytest.mark.parametrize("repeated", [False, True])
def test_sparse_rows_have_coordinates_in_an_orthonormal_basis(min_rank, repeated):
    X = sparse_counts(20, 70)
    if repeated:
        X = scipy.sparse.vstack([X, X[:5]], format="csr")
    view = MappedView(X, LinearMap.fit(X, standardize=True))

    coordinates, found = row_space(view, min_rank)

    basis = found.array()
    # Centred, and without the repeated rows: each additional direction would be dense.
    assert basis.shape[1] == max(19, min_rank)
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-9)
    np.testing.assert_allclose(coordinates.X @ basis.T, view.centred_rows(), atol=1e-9)


def test_codes_of_sparse_and_dense_wide_views_are_equal():
    views = {"x": sparse_counts(40, 300), "y": sparse_counts(40, 200, seed=1)}
    dense = {m: X.toarray() for m, X in views.items()}
    pairs, hasher = dh.Pairs.aligned(40), dh.DiffHash(8, standardize=True)

    sparse_codes = hasher.fit(views, pairs).encode(views["x"], modality="x")
    dense_codes = hasher.fit(dense, pairs).encode(dense["x"], modality="x")

    np.testing.assert_array_equal(sparse_codes, dense_codes)


def test_one_hundred_thousand_sparse_features_need_no_matrix_of_that_size():
    rng = np.random.default_rng(0)
    words = (np.ones(600), (np.repeat(np.arange(30), 20), rng.integers(0, 10**5, 600)))
    views = {m: scipy.sparse.csr_array(words, shape=(30, 10**5)) for m in "xy"}

    hasher = dh.DiffHash(4).fit(views, dh.Pairs.aligned(30))

    np.testing.assert_array_equal(hasher.encode(views["x"], "x"), hasher.encode(views["y"], "y"))
