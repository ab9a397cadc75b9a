"""Weights of couples by need, and coordinates of the final fit to pairs of many views."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.hashers.refined.couple_needs import multiply_weights, need_factors
from diffhash.hashers.refined.fit_options import FitOptions, ViewOptions
from diffhash.hashers.refined.pair_fit import fit_pairs, rank_like_trials
from diffhash.hashers.refined.pair_search import default_setting
from diffhash.hashers.refined.pair_trial import PairTrial
from diffhash.pairs.couples import ResolvedCouple, ResolvedCouples
from diffhash.pairs.objects import hold_out_couples


def aligned_couples(n, weights):
    pairs = dh.Pairs.aligned(n).resolve(n, n)
    n_views = max(max(couple) for couple in weights) + 1
    return ResolvedCouples(
        (n,) * n_views, tuple(ResolvedCouple(u, v, w, pairs) for (u, v), w in weights.items())
    )


def noisy_views(n, noise, d=12):
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(n, d))
    return [
        (shared @ rng.normal(size=(d, d)) + s * rng.normal(size=(n, d))).astype(np.float32) for s in noise
    ]


def test_couples_in_the_middle_need_most():
    """A couple that finds everything, and one that finds nothing, have little to gain."""
    couples = aligned_couples(4, {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0})

    factors = need_factors(couples, {(0, 1): 1.0, (0, 2): 0.5, (1, 2): 0.02})

    assert factors[0, 2] > 5 * factors[0, 1]
    assert factors[0, 2] > 5 * factors[1, 2] > 0


def test_factors_keep_the_sum_of_the_weights():
    couples = aligned_couples(4, {(0, 1): 3.0, (0, 2): 1.0, (1, 2): 0.5})

    weighted = multiply_weights(couples, need_factors(couples, {(0, 1): 0.9, (0, 2): 0.3}))

    assert sum(c.weight for c in weighted) == pytest.approx(4.5)
    assert all(c.weight > 0 for c in weighted)


def test_weights_by_need_change_learning_but_not_the_judge():
    couples = aligned_couples(80, {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0})
    views = noisy_views(80, (0.1, 0.1, 3.0))
    (split,) = hold_out_couples(couples, 0.25, 80, np.random.default_rng(0), 1)
    trial = PairTrial(views, split, 0, ["a", "b", "c"])
    factors = {(0, 1): 0.1, (0, 2): 1.9}

    other = trial.with_weights(factors)

    assert [c.weight for c in other.split.fit] == [0.1, 1.9, 1.0]
    assert [c.weight for c in other.split.scored] == [c.weight for c in trial.split.fit] == [1.0] * 3
    setting = default_setting(views, FitOptions(8, views=(ViewOptions(),) * 3))
    strengths = [each.directions(setting)[0].strengths for each in (trial, other)]
    assert not np.allclose(strengths[0][:5], strengths[1][:5])


def test_the_report_says_whether_couples_count_by_need():
    """Both ways are compared, and what was chosen is one of them."""
    couples = aligned_couples(150, {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0})
    options = FitOptions(
        8, views=(ViewOptions(features=("linear",), metrics=("euclidean",), ridges=(0.1, 0.01)),) * 3
    )

    found = fit_pairs(noisy_views(150, (0.1, 0.1, 3.0)), couples, options, progress=None, who=["a", "b", "c"])

    tried = {each.description: each.score for each in found.tried}
    by_need = {name for name in tried if name.endswith("couples by need")}
    assert by_need
    assert found.bits in tried
    assert found.score == pytest.approx(tried[found.bits])
    best = max((score for name, score in tried.items() if name in by_need), default=0.0)
    assert found.score >= 0.9 * best


def test_the_final_fit_has_as_many_coordinates_for_an_object_as_the_trials():
    """Six views: a trial has 150 coordinates for 180 of 240 objects, and so the fit has 200."""
    options = FitOptions(8)

    assert rank_like_trials(6, 240, options) == 200
    assert rank_like_trials(3, 240, options) == 400
    assert rank_like_trials(6, 16_000, options) == 2000
