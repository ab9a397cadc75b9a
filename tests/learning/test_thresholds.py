"""Joint counts and thresholds are compared with loops over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.learning.histograms import JointHistogram, bin_values, grid_edges
from diffhash.learning.thresholds import choose_thresholds, joint_cost, search_grid
from diffhash.native import joint_counts

from ..reference import error_rates, pair_sums
from ..strategies import problems


def resolved_of(problem):
    return problem.pairs.resolve(len(problem.x), None if problem.one_view else len(problem.y))


def projections_of(problem, seed):
    """Two bits for each view, from random directions; equal features give equal projections."""
    rng = np.random.default_rng(seed)
    x = problem.x @ rng.integers(-2, 3, size=(problem.x.shape[1], 2)).astype(float)
    y = x if problem.one_view else problem.y @ rng.integers(-2, 3, size=(problem.y.shape[1], 2)).astype(float)
    return x, y


@given(problems(), st.integers(0, 2**31))
def test_histogram_equals_a_loop_over_pairs(problem, seed):
    rng = np.random.default_rng(seed)
    n_bins = 5
    bins_x = rng.integers(0, n_bins, size=(2, len(problem.x)))
    bins_y = bins_x if problem.one_view else rng.integers(0, n_bins, size=(2, len(problem.y)))
    resolved = resolved_of(problem)
    groups = resolved.scheme.groups
    histogram = JointHistogram(resolved.scheme, 2, n_bins).update(
        bins_x,
        None if problem.one_view else bins_y,
        positive=resolved.positive,
        negative=resolved.negative,
        groups_x=None if groups is None else groups.x,
        groups_y=None if groups is None else groups.y,
    )

    for found, pairs in zip(histogram.counts(), (problem.positive, problem.negative), strict=True):
        for bit in (0, 1):
            expected = pair_sums.joint_counts(bins_x[bit], bins_y[bit], pairs, n_bins)
            if problem.one_view:
                expected = (expected + expected.T) / 2
            np.testing.assert_array_equal(found[bit], expected)


@given(problems(), st.data())
def test_merged_histograms_equal_the_histogram_of_all_data(problem, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    resolved = resolved_of(problem)
    scheme, n_bins, n_parts = resolved.scheme, 4, 3
    bins_x = rng.integers(0, n_bins, size=(1, len(problem.x)))
    bins_y = bins_x if problem.one_view else rng.integers(0, n_bins, size=(1, len(problem.y)))
    g = scheme.groups
    everything = {
        "positive": resolved.positive,
        "negative": resolved.negative,
        "groups_x": None if g is None else g.x,
        "groups_y": None if g is None else g.y,
    }
    whole = JointHistogram(scheme, 1, n_bins).update(
        bins_x, None if problem.one_view else bins_y, **everything
    )

    merged = JointHistogram(scheme, 1, n_bins)
    part_x, part_y = (rng.integers(0, n_parts, len(v)) for v in (problem.x, problem.y))
    for number in range(n_parts):
        mx, my = part_x == number, part_y == number
        part = JointHistogram(scheme, 1, n_bins).update(
            bins_x[:, mx],
            None if problem.one_view else bins_y[:, my],
            groups_x=None if g is None else g.x[mx],
            groups_y=None if g is None else g.y[my],
        )
        merged.merge(part)
    # Each listed pair must be counted once, in any part.
    for table, index in ((merged.positive, resolved.positive), (merged.negative, resolved.negative)):
        if index is not None:
            table += joint_counts(bins_x=bins_x, bins_y=bins_y, index=index, n_bins=n_bins)

    for one, other in zip(merged.counts(), whole.counts(), strict=True):
        np.testing.assert_array_equal(one, other)


@given(problems(), st.integers(0, 2**31), st.sampled_from([0.3, 1.0, 4.0]), st.sampled_from([0.0, 0.2]))
def test_thresholds_are_at_least_as_good_as_every_threshold_of_the_grid(
    problem, seed, miss_weight, min_share
):
    """No allowed threshold pair of the coarse grid has a lower cost; a loop over pairs counts the cost."""
    x, y = projections_of(problem, seed)
    resolved = resolved_of(problem)
    n_bins = 12

    a, b = choose_thresholds(
        x,
        None if problem.one_view else y,
        resolved,
        miss_weight=miss_weight,
        min_share=min_share,
        n_bins=n_bins,
    )

    edges_x, edges_y = (grid_edges(v.mean(axis=0), v.std(axis=0), n_bins) for v in (x, y))
    for bit in (0, 1):

        def loss(tx, ty, bit=bit):
            return error_rates.cost(
                x[:, bit], y[:, bit], tx, ty, problem.positive, problem.negative, miss_weight
            )

        if problem.one_view:
            assert a[bit] == b[bit]
        shares = [error_rates.smaller_share(v[:, bit], -t[bit]) for v, t in ((x, a), (y, b))]
        candidates = [
            (tx, ty)
            for u, tx in enumerate(edges_x[bit])
            for v, ty in enumerate(edges_y[bit])
            if not (problem.one_view and u != v)
        ]
        even = {
            pair: min(
                error_rates.smaller_share(x[:, bit], pair[0]), error_rates.smaller_share(y[:, bit], pair[1])
            )
            for pair in candidates
        }
        allowed = [pair for pair in candidates if even[pair] >= min_share and even[pair] > 0]
        # A value that is equal to an edge up to rounding may be counted on either side: skip this case.
        gap = min(np.abs(v[:, bit, None] - e[bit]).min() for v, e in ((x, edges_x), (y, edges_y)))
        if gap < 1e-9 * max(1.0, np.abs(x).max(), np.abs(y).max()):
            continue
        if allowed:
            assert min(shares) >= min_share
            assert loss(-a[bit], -b[bit]) <= min(loss(*pair) for pair in allowed) + 1e-12
        elif max(even.values(), default=0) > 0:
            assert min(shares) >= max(even.values()) - 1e-12


@given(problems(), st.integers(0, 2**31), st.sampled_from([0.5, 3.0]))
def test_costs_of_the_grid_equal_a_loop_over_pairs_at_every_edge(problem, seed, miss_weight):
    x, y = projections_of(problem, seed)
    n_bins = 6
    edges_x, edges_y = (grid_edges(v.mean(axis=0) + 0.0123, v.std(axis=0) + 0.01, n_bins) for v in (x, y))
    if problem.one_view:
        edges_y = edges_x
    bins_x, bins_y = bin_values(x, edges_x), bin_values(y, edges_y)

    cost = joint_cost(bins_x, bins_y, resolved_of(problem), miss_weight, n_bins)

    for bit in (0, 1):
        for u in range(n_bins - 1):
            for v in range(n_bins - 1):
                expected = error_rates.cost(
                    (bins_x[bit] > u).astype(int),
                    (bins_y[bit] > v).astype(int),
                    1,
                    1,
                    problem.positive,
                    problem.negative,
                    miss_weight,
                )
                if not problem.one_view or u == v:
                    np.testing.assert_allclose(cost[bit, u, v], expected, atol=1e-12)


@given(st.integers(0, 2**31), st.sampled_from([np.float32, np.float64]))
def test_the_bin_of_a_value_is_the_number_of_edges_below_it(seed, dtype):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(40, 3)).astype(dtype)
    edges = grid_edges(values.mean(axis=0), values.std(axis=0), 16)

    bins = bin_values(values, edges)

    slow = (values.T[:, :, None] >= edges[:, None, :]).sum(axis=2)
    near = np.abs(values.T[:, :, None] - edges[:, None, :]).min(axis=2) < 1e-5
    np.testing.assert_array_equal(bins[~near], slow[~near])


def test_thresholds_never_choose_a_constant_bit():
    """A constant bit minimises the printed objective. Our thresholds never give one."""
    data = dh.datasets.make_paper_data(n_classes=10, n_train=600, n_test=10, random_state=0)
    pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])

    for miss_weight in (1.0, 10.0, 100.0):
        hasher = dh.DiffHash(n_bits=8, gamma=10.0, miss_weight=miss_weight).fit(data.train.views, pairs)
        for modality in ("x", "y"):
            share = dh.codes.unpack(hasher.encode(data.train.views[modality], modality=modality), 8).mean(
                axis=0
            )
            assert np.all((share >= 0.05) & (share <= 0.95))


def test_the_finer_grid_never_costs_more_than_the_coarse_grid(rng):
    x, y = rng.normal(size=(200, 4)), rng.normal(size=(200, 4))
    y[:, :2] += x[:, :2]
    resolved = dh.Pairs.aligned(200).resolve(200, 200)
    coarse = []

    def cost(bins_x, bins_y):
        table = joint_cost(bins_x, bins_y, resolved, 1.0, 16)
        coarse.append(table)
        return table

    _, _, lowest = search_grid(x, y, cost, min_share=0.0, n_bins=16)

    assert np.all(lowest <= coarse[0].min(axis=(1, 2)) + 1e-12)


def test_a_threshold_is_halfway_between_the_nearest_objects():
    """Rounding cannot change a bit then."""
    x = np.array([[0.0], [1.0], [10.0], [11.0]])
    a, _ = choose_thresholds(x, x, dh.Pairs.from_labels([0, 0, 1, 1], [0, 0, 1, 1]).resolve(4, 4))
    assert a[0] == pytest.approx(-5.5)


def test_counting_a_few_bits_at_a_time_gives_the_same_costs(rng, monkeypatch):
    labels = rng.random((40, 8)) < 0.3
    resolved = dh.Pairs.from_labels(labels, labels).resolve(40, 40)
    bins = rng.integers(0, 8, size=(5, 40))
    whole = joint_cost(bins, bins, resolved, 1.0, 8)
    monkeypatch.setattr("diffhash.learning.thresholds._MAX_GROUP_CELLS", 1)
    np.testing.assert_array_equal(joint_cost(bins, bins, resolved, 1.0, 8), whole)
