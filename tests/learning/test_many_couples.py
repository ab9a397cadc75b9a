"""Boosting and strengths on held-out pairs with several couples, against loops over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.learning.boosting import boost
from diffhash.learning.cross_fit import Shrinkage, cross_fitted_strengths
from diffhash.learning.view_difference import DifferenceSettings
from diffhash.maps.learning_space import plain_view
from diffhash.pairs.couples import ResolvedCouple, ResolvedCouples
from diffhash.pairs.objects import hold_out_couples

from ..reference.couples import block_matrix, split_directions
from ..reference.cross_fit import slow_correlations, slow_inverse_root

SIDES = [(0, 1), (0, 2), (1, 2), (2, 2)]
WEIGHTS = [1.0, 2.0, 0.5, 1.5]


def three_views(seed, n=40):
    """Views with labels, and couples across and within."""
    rng = np.random.default_rng(seed)
    labels = [rng.integers(0, 3, size=n - 3 * k) for k in range(3)]
    views = [
        rng.normal(size=(3, d))[each] * 2 + rng.normal(size=(len(each), d))
        for d, each in zip((5, 4, 3), labels, strict=True)
    ]
    pairs = dh.Pairs.from_labels(dict(zip("abc", labels, strict=True)))
    couples = [
        ResolvedCouple(
            u,
            v,
            w,
            pairs.couple("abc"[u], "abc"[v]).resolve(len(labels[u]), None if u == v else len(labels[v])),
        )
        for (u, v), w in zip(SIDES, WEIGHTS, strict=True)
    ]
    return views, labels, ResolvedCouples(tuple(map(len, labels)), tuple(couples))


def test_bits_boosted_over_all_couples_are_those_of_loops_over_pairs():
    views, _, couples = three_views(2)
    views = [X - X.mean(axis=0) for X in views]
    listed = couples.listed(25, 50, np.random.default_rng(0), caller="test")

    projections, thresholds, correlations = boost(
        [plain_view(X) for X in views], listed, n_bits=4, n_directions=1, min_share=0.0, n_bins=16
    )

    index, signs, weights = [], [], []
    for couple in listed:
        for pairs, sign in ((couple.pairs.positive, 1.0), (couple.pairs.negative, -1.0)):
            both = list(zip(*pairs, strict=True))
            index += [(couple.sides, pair) for pair in both]
            signs += [sign] * len(both)
            weights += [0.5 / len(both) * couple.weight / sum(WEIGHTS)] * len(both)
    weights = np.array(weights)
    for bit in range(4):
        ends = np.array([0, 5, 9, 12])
        moment = np.zeros((12, 12))
        for ((u, v), (i, j)), s, w in zip(index, signs, weights, strict=True):
            product = w * s * np.outer(views[u][i], views[v][j])
            moment[ends[u] : ends[u + 1], ends[v] : ends[v + 1]] += product / (2 if u == v else 1)
            moment[ends[v] : ends[v + 1], ends[u] : ends[u + 1]] += product.T / (2 if u == v else 1)
        _, expected, _ = split_directions(-moment, (5, 4, 3), 1)
        sign = np.sign(expected[0][0] @ projections[0][bit])
        for found, part in zip(projections, expected, strict=True):
            np.testing.assert_allclose(found[bit], sign * part[0], atol=1e-6)
        bits = [
            np.where(X @ P[bit] + a[bit] >= 0, 1, -1)
            for X, P, a in zip(views, projections, thresholds, strict=True)
        ]
        products = np.array(
            [s * bits[u][i] * bits[v][j] for ((u, v), (i, j)), s in zip(index, signs, strict=True)]
        )
        r = float(weights @ products)
        assert correlations[bit] == pytest.approx(r, abs=1e-9)
        weights = weights * np.exp(-0.5 * np.log((1 + r) / (1 - r)) * products)
        weights /= weights.sum()


@settings(max_examples=15)
@given(st.integers(0, 2**31), st.sampled_from([None, 0.2]))
def test_strengths_are_means_over_the_couples_of_held_out_correlations(seed, shrinkage):
    views, labels, couples = three_views(seed, n=60)
    candidate = [None if shrinkage is None else Shrinkage(shrinkage)] * 3

    (found,) = cross_fitted_strengths(
        views,
        couples,
        DifferenceSettings(2.0, center=(True,) * 3),
        [candidate],
        np.random.default_rng(seed),
        n_directions=2,
    )

    def pairs_between(u, v, rows):
        one, other = labels[u][rows[u]], labels[v][rows[v]]
        every = [(i, j) for i in range(len(one)) for j in range(len(other)) if u != v or i < j]
        return [[(i, j) for i, j in every if (one[i] == other[j]) == similar] for similar in (True, False)]

    strengths = []
    for split in hold_out_couples(couples, 0.25, 2000, np.random.default_rng(seed), 4):
        roots = [
            np.eye(X.shape[1]) if shrinkage is None else slow_inverse_root(X[rows], shrinkage)
            for X, rows in zip(views, split.fit_rows, strict=True)
        ]
        fit = [
            (X[rows] - X[rows].mean(axis=0)) @ R
            for X, rows, R in zip(views, split.fit_rows, roots, strict=True)
        ]
        blocks = [
            (u, v, w, *pairs_between(u, v, split.fit_rows)) for (u, v), w in zip(SIDES, WEIGHTS, strict=True)
        ]
        _, parts, _ = split_directions(block_matrix(fit, blocks, 2.0), (5, 4, 3), 2)
        scored = [
            X[rows] @ R @ part.T
            for X, rows, R, part in zip(views, split.scored_rows, roots, parts, strict=True)
        ]
        held_out = [pairs_between(u, v, split.scored_rows) for u, v in SIDES]
        # The mean over no pairs is not defined.
        assume(all(positive and negative for positive, negative in held_out))
        each = [
            slow_correlations(scored[u], scored[v], *pairs)
            for (u, v), pairs in zip(SIDES, held_out, strict=True)
        ]
        strengths.append(np.average(each, axis=0, weights=WEIGHTS))
    np.testing.assert_allclose(found.strengths, np.mean(strengths, axis=0), atol=1e-6)
