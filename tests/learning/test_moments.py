"""Moments equal loops over pairs, and parts can be merged."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import InputError
from diffhash.learning.moments import PairMoments
from diffhash.learning.view_difference import difference_covariances, listed_difference, pair_moments
from diffhash.maps import LinearMap, MappedView

from ..reference import pair_sums
from ..strategies import problems


def resolved_of(problem):
    return problem.pairs.resolve(len(problem.x), None if problem.one_view else len(problem.y))


def plain_view(X):
    """A view whose features are the unchanged array."""
    return MappedView(X, LinearMap(np.zeros(X.shape[1])))


def expected_covariances(problem, center):
    centers = [
        v.mean(axis=0) if wanted else np.zeros(v.shape[1])
        for v, wanted in zip((problem.x, problem.y), center, strict=True)
    ]
    if problem.one_view:
        return [
            pair_sums.symmetric_covariance(problem.x, p, centers[0])
            for p in (problem.positive, problem.negative)
        ]
    return [
        pair_sums.covariance(problem.x, problem.y, p, *centers) for p in (problem.positive, problem.negative)
    ]


@given(problems(), st.booleans())
def test_covariances_equal_a_loop_over_pairs(problem, center):
    moments = pair_moments(plain_view(problem.x), plain_view(problem.y), resolved_of(problem))

    found = moments.covariances(center=(center, center))

    for one, other in zip(found, expected_covariances(problem, (center, center)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


@given(problems(), st.booleans())
def test_sparse_rows_give_the_same_moments(problem, center):
    x, y = scipy.sparse.csr_array(problem.x), scipy.sparse.csr_array(problem.y)

    moments = pair_moments(plain_view(x), plain_view(y), resolved_of(problem))

    expected = expected_covariances(problem, (center, center))
    for one, other in zip(moments.covariances(center=(center, center)), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


@given(problems(), st.sampled_from([0.5, 10.0]))
def test_one_pass_over_listed_pairs_gives_the_covariance_difference(problem, gamma):
    resolved = resolved_of(problem)
    if problem.one_view or resolved.positive is None or not resolved.n_negative:
        return
    listed = resolved.listed(100, 1000, np.random.default_rng(0), caller="test")

    difference = listed_difference(plain_view(problem.x), plain_view(problem.y), listed, gamma, (True, True))

    positive, negative = expected_covariances(problem, (True, True))
    np.testing.assert_allclose(difference, negative - gamma * positive, atol=1e-9)


@given(problems(one_view=True))
def test_difference_covariances_of_one_view_equal_a_loop_over_pairs(problem):
    resolved = resolved_of(problem)
    view = plain_view(problem.x)

    found = difference_covariances(view, resolved, pair_moments(view, view, resolved))

    for one, pairs in zip(found, (problem.positive, problem.negative), strict=True):
        np.testing.assert_allclose(one, pair_sums.difference_covariance(problem.x, pairs), atol=1e-10)


@given(problems(), st.data())
def test_merged_parts_equal_the_moments_of_all_data(problem, data):
    """Rows and listed pairs are assigned to random parts. Each part has another shift."""
    resolved = resolved_of(problem)
    scheme = resolved.scheme
    groups = scheme.groups
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    n_parts = data.draw(st.integers(1, 4))
    d_x, d_y = problem.x.shape[1], problem.y.shape[1]
    parts = []
    for _ in range(n_parts):
        shift = rng.normal(size=d_x) * 5
        parts.append(PairMoments(scheme, shift, shift if problem.one_view else rng.normal(size=d_y) * 5))
    part_x, part_y = rng.integers(0, n_parts, len(problem.x)), rng.integers(0, n_parts, len(problem.y))
    for number, part in enumerate(parts):
        mine = part_x == number
        part.update_rows("x", problem.x[mine], None if groups is None else groups.x[mine])
        if not problem.one_view:
            mine = part_y == number
            part.update_rows("y", problem.y[mine], None if groups is None else groups.y[mine])
    for kind, index in (("positive", resolved.positive), ("negative", resolved.negative)):
        if index is not None:
            for i, j in zip(*index, strict=True):
                part = parts[rng.integers(0, n_parts)]
                part.update_pairs(kind, problem.x[[i]], problem.y[[j]], np.ones(1))

    merged = parts[0]
    for part in parts[1:]:
        merged.merge(part)

    whole = pair_moments(plain_view(problem.x), plain_view(problem.y), resolved)
    for one, other in zip(merged.covariances(), whole.covariances(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)


def test_update_adds_rows_and_pairs(rng):
    x, y = rng.normal(size=(6, 3)), rng.normal(size=(5, 2))
    positive, negative = ([0, 1], [2, 3]), ([4, 5, 0], [0, 1, 4])
    resolved = dh.Pairs(positive, negative).resolve(6, 5)

    updated = PairMoments(resolved.scheme, x.mean(axis=0), y.mean(axis=0)).update(
        x, y, positive=resolved.positive, negative=resolved.negative
    )

    whole = pair_moments(plain_view(x), plain_view(y), resolved)
    np.testing.assert_allclose(updated.covariances(), whole.covariances(), atol=1e-12)


def test_a_large_mean_does_not_reduce_the_precision(rng):
    """Sums of float32 rows far from zero are precise only if a shift is subtracted first."""
    x = (rng.normal(size=(500, 3)) + 3000).astype(np.float32)
    resolved = dh.Pairs.aligned(500).resolve(500, 500)
    exact = pair_sums.covariance(
        x.astype(float), x.astype(float), [(r, r) for r in range(500)], *[x.mean(axis=0, dtype=float)] * 2
    )

    shift = x[0].astype(float)
    moments = PairMoments(resolved.scheme, shift, shift).update(x, x, positive=resolved.positive)

    np.testing.assert_allclose(moments.covariances()[0], exact, atol=1e-5)


@pytest.mark.parametrize("n", [7, 5000])
def test_blocks_do_not_change_the_sums(rng, n, monkeypatch):
    x, y = rng.normal(size=(n, 6)), rng.normal(size=(n, 4))
    resolved = dh.Pairs.aligned(n).resolve(n, n)
    whole = pair_moments(plain_view(x), plain_view(y), resolved).covariances()

    monkeypatch.setattr("diffhash.maps.mapped_view._BLOCK_SIZE", 64)
    blocked = pair_moments(
        MappedView(x, LinearMap(np.zeros(6)), keep_bytes=0),
        MappedView(y, LinearMap(np.zeros(4)), keep_bytes=0),
        resolved,
    ).covariances()

    np.testing.assert_allclose(blocked, whole, atol=1e-12)


def test_parts_of_different_shapes_cannot_be_merged():
    one = dh.Pairs.aligned(4).resolve(4, 4).scheme
    three = dh.Pairs.from_labels([0, 1, 2, 0], [0, 1, 2, 0]).resolve(4, 4).scheme
    with pytest.raises(InputError, match="same views and groups"):
        PairMoments(one, np.zeros(2), np.zeros(2)).merge(PairMoments(three, np.zeros(2), np.zeros(2)))
    with pytest.raises(InputError, match="groups if labels imply"):
        PairMoments(three, np.zeros(2), np.zeros(2)).update(np.ones((4, 2)), np.ones((4, 2)))
    with pytest.raises(InputError, match="give y unless"):
        PairMoments(one, np.zeros(2), np.zeros(2)).update(np.ones((4, 2)))
