"""Thresholds of several couples together, against loops over pairs and over all thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.learning.couple_costs import CoupleCosts
from diffhash.learning.histograms import grid_edges
from diffhash.learning.joint_thresholds import couple_thresholds, search_couples
from diffhash.learning.thresholds import ThresholdSettings, choose_thresholds, joint_cost
from diffhash.pairs.couples import ResolvedCouple, ResolvedCouples

from ..reference.couples import best_of_all_thresholds, total_cost
from ..strategies import many_views

N_BINS = 10


def projections_of(problem, seed):
    rng = np.random.default_rng(seed)
    return [X @ rng.normal(size=(X.shape[1], 2)) for X in problem.views]


def is_on_an_edge(values, edges):
    """A value that is equal to an edge up to rounding may be counted on either side."""
    return any(np.abs(v[:, None] - e).min() < 1e-9 for v, e in zip(values, edges, strict=True))


@settings(max_examples=100)
@given(many_views(), st.integers(0, 2**31), st.sampled_from([0.5, 1.0, 3.0]))
def test_thresholds_together_never_cost_more_than_thresholds_chosen_couple_by_couple(problem, seed, weight):
    """Every combination of the thresholds that the couples choose for themselves costs at least as much."""
    values = projections_of(problem, seed)
    chosen = ThresholdSettings("joint", weight, 0.1, N_BINS)

    found = couple_thresholds(values, problem.resolved, chosen)

    own = [[] for _ in values]
    for couple in problem.resolved:
        u, v = couple.sides
        a, b = choose_thresholds(
            values[u],
            None if u == v else values[v],
            couple.pairs,
            miss_weight=weight,
            min_share=0.1,
            n_bins=N_BINS,
        )
        own[u].append(-a)
        own[v].append(-b)
    for bit in (0, 1):
        columns = [v[:, bit] for v in values]
        lowest = best_of_all_thresholds(
            columns, [[t[bit] for t in each] or [0.0] for each in own], problem.couples, weight, 0.1
        )
        assert total_cost(columns, [-a[bit] for a in found], problem.couples, weight) <= lowest + 1e-9


@settings(max_examples=40)
@given(many_views(n_modalities=3), st.integers(0, 2**31))
def test_the_descent_ends_where_no_single_threshold_can_be_improved(problem, seed):
    """And never above a start. All costs are counted by loops over pairs."""
    values = projections_of(problem, seed)
    edges = [grid_edges(v.mean(axis=0) + 0.0123, v.std(axis=0) + 0.1, N_BINS) for v in values]

    def cost(number, bins_u, bins_v, n_bins):
        couple = problem.resolved.couples[number]
        return couple.weight * joint_cost(bins_u, bins_v, couple.pairs, 1.0, n_bins)

    costs = CoupleCosts.of(values, edges, [c.sides for c in problem.resolved], cost, 0.0)
    starts = [np.random.default_rng(seed).integers(0, N_BINS - 1, size=(3, 2)) for _ in range(2)]
    most_even = costs.evenness.argmax(axis=2)
    for start in starts:
        refused = ~np.take_along_axis(costs.allowed, start[:, :, None], axis=2)[:, :, 0]
        start[refused] = most_even[refused]
    found = costs.best(starts)

    for bit in (0, 1):
        columns = [v[:, bit] for v in values]
        lines = [e[bit] for e in edges]
        if is_on_an_edge(columns, lines):
            continue
        lowest, *begun = (
            total_cost(columns, [e[c[bit]] for e, c in zip(lines, cells, strict=True)], problem.couples, 1.0)
            for cells in (found, *starts)
        )
        assert costs.total(found)[bit] == pytest.approx(lowest)
        assert lowest <= min(begun) + 1e-9
        for u in range(3):
            line = [[e[c[bit]]] for e, c in zip(lines, found, strict=True)]
            line[u] = list(lines[u])
            assert lowest <= best_of_all_thresholds(columns, line, problem.couples, 1.0, 0.0) + 1e-9


@given(many_views(n_modalities=2), st.integers(0, 2**31))
def test_two_modalities_with_pairs_within_are_searched_exactly(problem, seed):
    values = projections_of(problem, seed)
    if len(problem.couples) == 1:
        return

    found = couple_thresholds(values, problem.resolved, ThresholdSettings("joint", 1.0, 0.0, N_BINS))

    for bit in (0, 1):
        columns = [v[:, bit] for v in values]
        edges = [grid_edges(v.mean(keepdims=True), v.std(keepdims=True), N_BINS)[0] for v in columns]
        if is_on_an_edge(columns, edges):
            continue
        lowest = best_of_all_thresholds(columns, edges, problem.couples, 1.0, 0.0)
        assert total_cost(columns, [-a[bit] for a in found], problem.couples, 1.0) <= lowest + 1e-9


def five_couples(rng, n=60):
    labels = rng.integers(0, 4, size=n)
    means = rng.normal(size=(4, 3))
    values = [means[labels] + 0.6 * rng.normal(size=(n, 3)) for _ in range(5)]
    pairs = dh.Pairs.from_labels(labels, labels).resolve(n, n)
    couples = [ResolvedCouple(u, v, 1.0, pairs) for u in range(5) for v in range(u + 1, 5)]
    return values, ResolvedCouples((n,) * 5, tuple(couples))


def test_a_part_of_the_bits_at_a_time_gives_the_same_thresholds(rng, monkeypatch):
    values, couples = five_couples(rng)
    whole = couple_thresholds(values, couples, ThresholdSettings())
    monkeypatch.setattr("diffhash.learning.joint_thresholds._MAX_COSTS", 1)

    np.testing.assert_array_equal(couple_thresholds(values, couples, ThresholdSettings()), whole)


@pytest.mark.parametrize("n_bins", [4, 64, 256])
def test_every_number_of_intervals_leaves_the_smallest_share_on_either_side(rng, n_bins):
    values, couples = five_couples(rng)

    found = couple_thresholds(values, couples, ThresholdSettings("joint", 30.0, 0.2, n_bins))

    for each, a in zip(values, found, strict=True):
        share = (each + a >= 0).mean(axis=0)
        assert np.all((share >= 0.2) & (share <= 0.8))


def test_a_constant_projection_has_a_threshold(rng):
    values, couples = five_couples(rng)
    values[2][:, 1] = 0.0

    assert np.isfinite(couple_thresholds(values, couples, ThresholdSettings())).all()


def test_the_lowest_cost_is_that_of_the_thresholds(rng):
    """Costs that count nothing but one favourite cell for each couple."""
    values = [rng.normal(size=(40, 1)) for _ in range(3)]

    def cost(number, bins_u, bins_v, n_bins):
        above_u, above_v = (
            (bins[:, :, None] > np.arange(n_bins - 1)).mean(axis=1) for bins in (bins_u, bins_v)
        )
        wanted = 0.3 + 0.2 * number
        return np.abs(above_u[:, :, None] - wanted) + np.abs(above_v[:, None, :] - wanted)

    thresholds, lowest = search_couples(values, [(0, 1), (1, 2)], cost, min_share=0.0, n_bins=32)

    shares = [float((v + a >= 0).mean()) for v, a in zip(values, thresholds, strict=True)]
    expected = sum(abs(shares[u] - w) for u, w in ((0, 0.3), (1, 0.3), (1, 0.5), (2, 0.5)))
    assert lowest[0] == pytest.approx(expected)
    assert shares[0] == pytest.approx(0.3)
    assert shares[2] == pytest.approx(0.5)


@pytest.mark.parametrize("method", ["zero", "median"])
def test_thresholds_that_do_not_depend_on_pairs(rng, method):
    values, couples = five_couples(rng)

    found = couple_thresholds(values, couples, ThresholdSettings(method))

    expected = [np.zeros(3) if method == "zero" else -np.median(v, axis=0) for v in values]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("shape", ["complete", "star"])
def test_very_many_modalities_have_thresholds(shape, rng):
    """More couples than a grid has edges, and more modalities than an array has axes."""
    n_modalities = 24 if shape == "complete" else 70
    shared = rng.normal(size=(30, 2))
    views = {f"m{u}": shared @ rng.normal(size=(2, 2)) for u in range(n_modalities)}
    pairs = dh.Pairs.aligned(30)
    couples = pairs if shape == "complete" else {("m0", m): pairs for m in list(views)[1:]}

    hasher = dh.DiffHash(n_bits=2, n_bins=8).fit(views, couples)

    bits = [dh.codes.unpack(hasher.encode(X, modality=m), 2) for m, X in views.items()]
    assert all(np.all((each.mean(axis=0) > 0.02) & (each.mean(axis=0) < 0.98)) for each in bits)
