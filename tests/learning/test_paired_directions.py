"""Regularised CCA and held-out strengths against slow references."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.learning.block_difference import BlockMatrix
from diffhash.learning.paired_directions import (
    PrincipalAxes,
    covariance_blocks,
    held_out_strengths,
    pair_covariance,
    paired_directions,
)
from diffhash.maps import LinearMap, MappedView
from diffhash.pairs.couples import ResolvedCouple, ResolvedCouples
from tests.strategies import Problem, problems


def linear_view(X):
    return MappedView(X, LinearMap.fit(X, standardize=False, who="test"))


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 12), st.integers(1, 12))
@settings(deadline=None, max_examples=40)
def test_directions_solve_the_generalised_eigenproblem(seed, n, d, e):
    """Strengths are the positive eigenvalues of the regularised problem, solved in the features."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, d)) + 1.0, rng.normal(size=(n, e))
    ridges = 0.1, 0.5
    axes = [PrincipalAxes.of(linear_view(V), 100) for V in (X, Y)]
    z = [a.coordinates(linear_view(V)) for a, V in zip(axes, (X, Y), strict=True)]
    covariances = BlockMatrix((z[0].shape[1], z[1].shape[1]), {(0, 1): z[0].T @ z[1] / n})
    found = paired_directions(covariances, [a.scales(r) for a, r in zip(axes, ridges, strict=True)], 100)

    A, B = X - X.mean(axis=0), Y - Y.mean(axis=0)
    cross = A.T @ B / n
    own = [
        c + r * np.linalg.eigvalsh(c)[-1] * np.eye(len(c))
        for c, r in ((A.T @ A / n, 0.1), (B.T @ B / n, 0.5))
    ]
    left = np.block([[np.zeros((d, d)), cross], [cross.T, np.zeros((e, e))]])
    values = scipy.linalg.eigh(left, scipy.linalg.block_diag(*own), eigvals_only=True)[::-1]

    k = len(found.strengths)
    assert np.allclose(found.strengths, np.maximum(values[:k], 0.0), atol=1e-6)
    assert np.all(values[k : min(d, e)] < 1e-5)


@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(3, 12), st.booleans())
@settings(deadline=None, max_examples=40)
def test_axes_in_row_space_equal_those_in_feature_space(seed, n, d, sparse):
    """Variances and coordinates do not depend on the space in which they are computed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    view = linear_view(scipy.sparse.csr_array(X) if sparse else X)
    axes = PrincipalAxes.of(view, 100)
    centred = X - X.mean(axis=0)
    expected = np.linalg.svd(centred, compute_uv=False) ** 2 / n

    assert np.allclose(axes.variances, expected[: len(axes.variances)], atol=1e-9)
    z = axes.coordinates(view)
    assert np.allclose(z @ z.T, centred @ centred.T, atol=1e-5)


@given(problems())
@settings(deadline=None, max_examples=60)
def test_held_out_strengths_equal_a_loop_over_pairs(problem: Problem):
    """Mean product over the positives minus that over the negatives, in units of the deviations."""
    k = min(problem.x.shape[1], problem.y.shape[1])
    x, y = problem.x[:, :k], problem.y[:, :k]
    pairs = problem.pairs.resolve(len(x), None if problem.one_view else len(y))
    found = held_out_strengths([x] if problem.one_view else [x, y], ResolvedCouples.of_pairs(pairs))
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    for direction in range(k):
        means = []
        for listed in (problem.positive, problem.negative):
            products = [a[i, direction] * b[j, direction] for i, j in listed]
            if problem.one_view:
                products = [
                    (a[i, direction] * a[j, direction] + a[j, direction] * a[i, direction]) / 2
                    for i, j in listed
                ]
            means.append(sum(products) / max(len(products), 1))
        spread = x[:, direction].std() * y[:, direction].std()
        expected = (means[0] - means[1]) / spread if spread > 0 else 0.0
        assert found[:, direction] == pytest.approx(expected, abs=1e-8)


def test_one_view_keeps_only_directions_along_which_partners_agree():
    """A direction along which partners are opposite has a negative eigenvalue and is left out."""
    covariances = BlockMatrix((2,), {(0, 0): np.diag([0.5, -0.8])})
    found = paired_directions(covariances, [np.ones(2)], 2)

    assert found.strengths.tolist() == [0.5]
    assert np.abs(found.parts[0]).tolist() == [[1.0], [0.0]]


def test_large_float32_features_do_not_overflow():
    """Squares of 1e30 do not fit in float32."""
    X = np.array([[1e30, 0.0], [-1e30, 1e30], [0.0, 2e30]], np.float32)
    axes = PrincipalAxes.of(linear_view(X), 2)

    assert np.isfinite(axes.variances).all()
    assert np.isfinite(axes.directions).all()


def test_pair_covariance_of_aligned_rows_is_nearly_the_covariance():
    """With implied negatives the mean over the negatives is nearly zero."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(500, 3)), rng.normal(size=(500, 2))
    (couple,) = ResolvedCouples.of_pairs(dh.Pairs.aligned(500).resolve(500, 500))

    found = pair_covariance([x, y], couple)

    assert np.allclose(found, np.cov(x.T, y.T)[:3, 3:], atol=0.01)


def test_directions_of_several_couples_are_those_of_the_whole_block_matrix():
    """Three views, one couple missing, one within a view."""
    rng = np.random.default_rng(0)
    sizes, weights = (4, 3, 5), {(0, 1): 1.0, (1, 2): 2.0, (2, 2): 0.5}
    values = [rng.normal(size=(30, d)) for d in sizes]
    couples = []
    for (u, v), weight in weights.items():
        pairs = dh.Pairs(positive=(np.arange(15), np.arange(15, 30)))
        couples.append(ResolvedCouple(u, v, weight, pairs.resolve(30, None if u == v else 30)))
    scales = [rng.uniform(0.5, 2.0, d) for d in sizes]

    blocks = covariance_blocks(values, ResolvedCouples((30, 30, 30), tuple(couples)))
    found = paired_directions(blocks, scales, 3)

    whole = np.zeros((12, 12))
    starts = [0, 4, 7, 12]
    for couple in couples:
        u, v = couple.sides
        block = scales[u][:, None] * pair_covariance(values, couple) * scales[v] * couple.weight
        block = (block + block.T) / 2 if u == v else block
        whole[starts[u] : starts[u + 1], starts[v] : starts[v + 1]] = block
        whole[starts[v] : starts[v + 1], starts[u] : starts[u + 1]] = block.T
    eigenvalues, vectors = np.linalg.eigh(whole)
    np.testing.assert_allclose(found.strengths, eigenvalues[::-1][:3])
    for k in range(3):
        parts = np.split(vectors[:, ::-1][:, k], starts[1:-1])
        sign = np.sign(parts[0] @ found.parts[0][:, k])
        for part, expected in zip(found.parts, parts, strict=True):
            np.testing.assert_allclose(part[:, k], sign * np.sqrt(3) * expected, atol=1e-8)


def test_a_view_that_says_nothing_about_a_direction_has_a_short_part():
    """Views 0 and 1 share two things, view 2 knows only the first: its values along the second are nearly zero."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(2000, 2))
    values = [shared + 0.1 * rng.normal(size=shared.shape) for _ in range(2)]
    values.append(np.column_stack([shared[:, 0], rng.normal(size=2000)]))
    pairs = dh.Pairs.aligned(2000).resolve(2000, 2000)
    couples = [ResolvedCouple(u, v, 1.0, pairs) for u, v in ((0, 1), (0, 2), (1, 2))]

    blocks = covariance_blocks(values, ResolvedCouples((2000,) * 3, tuple(couples)))
    found = paired_directions(blocks, [1.0 / each.std(axis=0) for each in values], 2)

    lengths = np.array([np.linalg.norm(part, axis=0) for part in found.parts])
    np.testing.assert_allclose(np.square(lengths).mean(axis=0), 1.0)
    assert lengths[:, 0].min() > 0.9
    assert lengths[2, 1] < 0.2 < 1.0 < lengths[:2, 1].min()
