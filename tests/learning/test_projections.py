"""The projections minimise the trace loss over all orthonormal matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import diffhash as dh
from diffhash.learning.projections import (
    covariance_difference,
    eigen_projections,
    numerical_rank,
    row_signs,
    singular_projections,
)

matrices = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(-10, 10))
)


def orthonormal_rows(rng, m, n):
    return np.linalg.qr(rng.normal(size=(n, m)))[0].T


@given(matrices, st.data())
def test_two_views_reach_minus_the_sum_of_the_largest_singular_values(difference, data):
    m = data.draw(st.integers(1, min(difference.shape)))

    P, Q, values = singular_projections(difference, m)

    trace = np.trace(P @ difference @ Q.T)
    np.testing.assert_allclose(trace, -np.linalg.svd(difference, compute_uv=False)[:m].sum(), atol=1e-9)
    np.testing.assert_allclose(P @ P.T, np.eye(m), atol=1e-9)
    np.testing.assert_allclose(Q @ Q.T, np.eye(m), atol=1e-9)
    assert np.all(np.diff(values) <= 1e-12)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    for _ in range(5):
        other = np.trace(
            orthonormal_rows(rng, m, difference.shape[0])
            @ difference
            @ orthonormal_rows(rng, m, difference.shape[1]).T
        )
        assert other >= trace - 1e-9


@given(
    st.integers(1, 6).flatmap(lambda n: arrays(np.float64, (n, n), elements=st.floats(-10, 10))), st.data()
)
def test_one_view_reaches_the_sum_of_the_most_negative_eigenvalues(difference, data):
    n = len(difference)
    m = data.draw(st.integers(1, n))

    P, _ = eigen_projections(difference, m)

    trace = np.trace(P @ difference @ P.T)
    np.testing.assert_allclose(
        trace, np.linalg.eigvalsh((difference + difference.T) / 2)[:m].sum(), atol=1e-9
    )
    np.testing.assert_allclose(P @ P.T, np.eye(m), atol=1e-9)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    for _ in range(5):
        R = orthonormal_rows(rng, m, n)
        assert np.trace(R @ difference @ R.T) >= trace - 1e-9


def test_the_entry_of_largest_magnitude_in_each_row_is_positive(rng):
    P, _, _ = singular_projections(rng.normal(size=(8, 5)), 5)
    assert np.all(P[np.arange(5), np.abs(P).argmax(axis=1)] > 0)


def test_infinite_gamma_uses_only_the_positives(rng):
    positive, negative = rng.normal(size=(2, 3, 4))
    np.testing.assert_array_equal(covariance_difference(positive, negative, np.inf), -positive)


def test_with_all_other_pairs_gamma_does_not_change_the_projections(rng):
    """With centred data the covariance of the negatives is a multiple of that of the positives."""
    import diffhash as dh

    views = {"x": rng.normal(size=(60, 6)), "y": rng.normal(size=(60, 5))}
    first, *others = (
        dh.DiffHash(n_bits=4, gamma=gamma).fit(views, dh.Pairs.aligned(60)).projections_["x"]
        for gamma in (0.5, 10.0, np.inf)
    )
    for other in others:
        np.testing.assert_allclose(other, first, atol=1e-8)


def test_rank_counts_singular_values_above_the_rounding_error():
    assert numerical_rank(np.array([1.0, 0.5, 1e-9]), 3, np.dtype(np.float32)) == 2
    assert numerical_rank(np.array([1.0, 0.5, 1e-9]), 3, np.dtype(np.float64)) == 3
    assert numerical_rank(np.zeros(3), 3, np.dtype(np.float64)) == 0


def large_matrix(rng, shape, smallest):
    """A matrix whose singular values fall from 1 to the smallest one."""
    n = min(shape)
    left, right = orthonormal_rows(rng, n, shape[0]), orthonormal_rows(rng, n, shape[1])
    return (left.T * np.geomspace(1.0, smallest, n)) @ right


@pytest.mark.parametrize("shape", [(260, 260), (257, 300), (300, 257)])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("smallest", [1e-4, 1e-30])
def test_large_matrices_give_the_singular_vectors_of_the_full_decomposition(rng, shape, scale, smallest):
    """With 1e-4 squares are precise enough; with 1e-30 the 60th singular value is too small for squares."""
    difference = large_matrix(rng, shape, smallest)
    u, values, vt = np.linalg.svd(difference, full_matrices=False)

    P, Q, found = singular_projections(scale * difference, 60)

    cosines = np.sum(P * u[:, :60].T, axis=1)
    np.testing.assert_allclose(np.abs(cosines), 1.0, atol=1e-9)
    np.testing.assert_allclose(Q, -vt[:60] * np.sign(cosines)[:, None], atol=1e-9)
    np.testing.assert_allclose(found / scale, values, atol=1e-7)
    assert np.all(P[np.arange(60), np.abs(P).argmax(axis=1)] > 0)


def test_directions_of_a_large_matrix_do_not_depend_on_their_number(rng):
    difference = large_matrix(rng, (300, 280), 1e-4)

    few, many = singular_projections(difference, 7), singular_projections(difference, 64)

    for short, long in zip(few[:2], many[:2], strict=True):
        np.testing.assert_allclose(short, long[:7], atol=1e-12)


@pytest.mark.parametrize("n_bits", [8, 65, 75])
def test_directions_of_equal_singular_values_do_not_depend_on_their_number(rng, n_bits):
    """One-hot features of balanced classes have such values. Within their space directions are arbitrary."""
    left, right = (np.linalg.qr(rng.normal(size=(300, 300)))[0] for _ in range(2))
    difference = left * np.repeat([3.0, 1.0], [2, 298]) @ right.T

    few, many = singular_projections(difference, n_bits), singular_projections(difference, 128)

    for short, long in zip(few[:2], many[:2], strict=True):
        np.testing.assert_array_equal(short, long[:n_bits])


def test_a_large_matrix_of_zeros_has_directions():
    P, Q, values = singular_projections(np.zeros((260, 270)), 5)

    np.testing.assert_allclose(P @ P.T, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(Q @ Q.T, np.eye(5), atol=1e-12)
    assert not values.any()


def test_signs_of_mirrored_features_do_not_hang_on_rounding():
    """Two entries of a direction have the same magnitude, up to rounding."""
    row = np.array([0.1, 0.7, -0.7, 0.1])
    for change in (0.0, 1e-9, -1e-9):
        assert row_signs(row[None] + np.array([0, change, 0, 0])).item() == 1.0


def test_codes_of_mirrored_features_are_nested():
    """The short code and the long one are decomposed in different ways."""
    rng = np.random.default_rng(0)
    halves = rng.standard_normal((400, 150))
    X = np.concatenate([halves, -halves], axis=1)
    views = {"x": X, "y": X + 0.1 * rng.standard_normal(X.shape)}

    short, long = (dh.DiffHash(n).fit(views, dh.Pairs.aligned(400)) for n in (8, 128))

    np.testing.assert_array_equal(short.encode(X, modality="x")[:, 0], long.encode(X, modality="x")[:, 0])
