"""Pairs with weights: every sum equals a loop over pairs that multiplies by the weight."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.learning.cross_fit import pair_correlations
from diffhash.learning.thresholds import joint_cost
from diffhash.learning.view_difference import difference_covariances, listed_difference, pair_moments
from diffhash.maps.learning_space import plain_view

from ..reference import couples
from ..strategies import problems


def sizes_of(problem):
    return len(problem.x), None if problem.one_view else len(problem.y)


def weighted(problem, seed):
    """The same listed pairs with weights, resolved, and the weights by pair."""
    assume(problem.pairs.positive is not None)
    listed_negatives = problem.pairs.negative is not None
    assume(problem.negative or not listed_negatives)
    assume(not problem.pairs.resolve(*sizes_of(problem)).labelled)
    rng = np.random.default_rng(seed)
    positive, negative = sorted(problem.positive), sorted(problem.negative) if listed_negatives else []
    weights = {pair: rng.uniform(0.1, 3.0) for pair in (*positive, *negative)}
    given = {"weights": [weights[pair] for pair in positive]}
    if listed_negatives:
        given["negative"] = tuple(np.array(negative).T)
        given["negative_weights"] = [weights[pair] for pair in negative]
    pairs = dh.Pairs(tuple(np.array(positive).T), **given)
    return pairs.resolve(*sizes_of(problem)), weights


@given(problems(), st.integers(0, 2**31))
def test_weights_of_pairs_count_in_every_sum(problem, seed):
    """Covariances, their one-pass form, joint counts and correlations, against loops over pairs."""
    resolved, weights = weighted(problem, seed)
    x, y = plain_view(problem.x), plain_view(problem.y)

    found = pair_moments(x, y, resolved).covariances()

    expected = [
        couples.weighted_covariance(
            problem.x, problem.y, each, weights, problem.x.mean(axis=0), problem.y.mean(axis=0)
        )
        for each in (problem.positive, problem.negative)
    ]
    if problem.one_view:
        expected = [(table + table.T) / 2 for table in expected]
    np.testing.assert_allclose(found[0], expected[0], atol=1e-10)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-10)
    if resolved.negative is not None and not problem.one_view:
        one_pass = listed_difference(x, y, resolved, 3.0, (True, True))
        np.testing.assert_allclose(one_pass, expected[1] - 3.0 * expected[0], atol=1e-9)

    centred = [v - v.mean(axis=0) for v in (problem.x, problem.y)]
    k = min(v.shape[1] for v in centred)
    p, q = (v[:, :k] for v in centred)
    spread = p.std(axis=0) * q.std(axis=0)
    difference = np.diag(expected[0] - expected[1])[:k]
    strengths = np.where(spread > 0, difference / np.where(spread > 0, spread, 1.0), 0.0)
    np.testing.assert_allclose(pair_correlations(p, q, resolved), strengths, atol=1e-8)


@given(problems(), st.integers(0, 2**31))
def test_weights_of_pairs_count_in_joint_histograms(problem, seed):
    resolved, weights = weighted(problem, seed)
    rng = np.random.default_rng(seed)
    bins_x = rng.integers(0, 3, size=(1, len(problem.x)))
    bins_y = bins_x if problem.one_view else rng.integers(0, 3, size=(1, len(problem.y)))

    cost = joint_cost(bins_x, bins_y, resolved, 2.0, 3)

    for u in range(2):
        for v in (u,) if problem.one_view else range(2):
            errors = []
            for each, wrong in ((problem.positive, False), (problem.negative, True)):
                agree = [(bins_x[0][i] > u) == (bins_y[0][j] > v) for i, j in each]
                mass = [weights.get(pair, 1.0) for pair in each]
                errors.append(
                    sum(w for w, a in zip(mass, agree, strict=True) if a == wrong) / (sum(mass) or 1.0)
                )
            np.testing.assert_allclose(cost[0, u, v], 2.0 * errors[0] + errors[1], atol=1e-10)


@given(problems(one_view=True), st.integers(0, 2**31))
def test_weights_of_pairs_count_in_differences_within_one_view(problem, seed):
    resolved, weights = weighted(problem, seed)
    view = plain_view(problem.x)

    found = difference_covariances(view, resolved, pair_moments(view, view, resolved))

    for one, each in zip(found, (problem.positive, problem.negative), strict=True):
        total = sum(
            weights.get((i, j), 1.0) * np.outer(problem.x[i] - problem.x[j], problem.x[i] - problem.x[j])
            for i, j in each
        )
        mass = sum(weights.get(pair, 1.0) for pair in each)
        if mass:
            np.testing.assert_allclose(one, total / mass, atol=1e-9)
