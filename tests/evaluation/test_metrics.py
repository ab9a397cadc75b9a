"""Every measure equals its mean over all orders of tied items, which are enumerated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from diffhash.evaluation import (
    average_precision,
    equal_error_rate,
    expected_hits,
    precision_recall_at,
    precision_recall_curve,
    precision_recall_within,
    roc_curve,
)

from ..reference import ranking
from .tables import rankings, table_of


@given(rankings)
def test_average_precision_is_the_mean_over_all_orders_of_ties(items):
    distances, relevant = zip(*items, strict=True)
    found = average_precision(table_of(items))[0]
    if not any(relevant):
        assert np.isnan(found)
    else:
        assert found == pytest.approx(
            ranking.expected(ranking.average_precision, distances, relevant), abs=1e-12
        )


@given(st.integers(0, 2**31), st.integers(2, 40))
def test_without_ties_average_precision_equals_that_of_scikit_learn(seed, n):
    rng = np.random.default_rng(seed)
    relevant = rng.random(n) < 0.4
    if not relevant.any():
        return
    table = np.stack([~relevant, relevant], axis=1).astype(np.int64)[None]
    assert average_precision(table)[0] == pytest.approx(average_precision_score(relevant, -np.arange(n)))


@given(rankings, st.integers(1, 9))
def test_truncated_average_precision_is_the_mean_over_all_orders(items, r):
    distances, relevant = zip(*items, strict=True)
    found = average_precision(table_of(items), at=r)[0]
    if not any(relevant):
        assert np.isnan(found)
    else:
        expected = ranking.expected(lambda order: ranking.average_precision_at(order, r), distances, relevant)
        assert found == pytest.approx(expected, abs=1e-12)


@given(rankings, st.integers(1, 9))
def test_precision_and_recall_at_k_are_means_over_orders(items, k):
    distances, relevant = zip(*items, strict=True)
    precision, recall = (values[0] for values in precision_recall_at(table_of(items), k))
    assert np.isnan(precision) == np.isnan(recall) == (not any(relevant))
    if any(relevant):
        assert precision == pytest.approx(
            ranking.expected(lambda order: sum(order[:k]) / k, distances, relevant)
        )
        assert recall == pytest.approx(
            ranking.expected(lambda order: sum(order[:k]) / sum(relevant), distances, relevant)
        )


@given(rankings, st.integers(0, 4))
def test_precision_and_recall_within_a_radius(items, radius):
    precision, recall = (values[0] for values in precision_recall_within(table_of(items), radius))
    within = [relevant for distance, relevant in items if distance <= radius]
    n_relevant = sum(relevant for _, relevant in items)
    if not n_relevant:
        assert np.isnan(precision)
    else:
        assert precision == pytest.approx(sum(within) / max(len(within), 1))
        assert recall == pytest.approx(sum(within) / n_relevant)


@given(rankings)
def test_curves_equal_counts_within_each_distance(items):
    false_positive, true_positive = roc_curve(table_of(items))
    precision, recall = precision_recall_curve(table_of(items))
    n_relevant = sum(relevant for _, relevant in items)
    assert false_positive[0] == true_positive[0] == 0
    for distance in range(4):
        hits = sum(relevant and d <= distance for d, relevant in items)
        within = sum(d <= distance for d, _ in items)
        assert true_positive[distance + 1] == pytest.approx(hits / max(n_relevant, 1))
        assert false_positive[distance + 1] == pytest.approx(
            (within - hits) / max(len(items) - n_relevant, 1)
        )
        assert recall[distance] == pytest.approx(hits / max(n_relevant, 1))
        assert precision[distance] == pytest.approx(hits / within if within else 1)


def test_equal_error_rate_interpolates():
    assert equal_error_rate(np.array([0.0, 0.2, 1.0]), np.array([0.0, 0.6, 1.0])) == pytest.approx(1 / 3)
    assert equal_error_rate(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])) == 0
    assert equal_error_rate(np.array([0.0, 1.0]), np.array([0.0, 1.0])) == 0.5


def test_measures_in_blocks_equal_those_of_single_queries(rng):
    table = rng.integers(0, 4, (3000, 33, 2))
    table[7, :, 1] = 0
    each = [np.concatenate([average_precision(row[None], at) for row in table]) for at in (None, 20)]
    np.testing.assert_array_equal(average_precision(table), each[0])
    np.testing.assert_array_equal(average_precision(table, 20), each[1])
    hits = np.concatenate([expected_hits(row[None], 10) for row in table])
    np.testing.assert_array_equal(expected_hits(table, 10), hits)
    assert average_precision(table[:0]).shape == (0,)
