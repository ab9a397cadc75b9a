"""Every measure against enumeration of all orders of tied items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

import diffhash as dh
from diffhash.errors import CodeError, InputError
from diffhash.evaluation import (
    average_precision,
    distance_table,
    equal_error_rate,
    precision_recall_at,
    precision_recall_curve,
    roc_curve,
)

from ..reference import ranking

rankings = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=7)


def table_of(items, n_distances=4):
    table = np.zeros((1, n_distances, 2), dtype=np.int64)
    for distance, relevant in items:
        table[0, distance, int(relevant)] += 1
    return table


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
def test_without_ties_it_is_scikit_learns(seed, n):
    rng = np.random.default_rng(seed)
    relevant = rng.random(n) < 0.4
    if not relevant.any():
        return
    table = np.stack([~relevant, relevant], axis=1).astype(np.int64)[None]
    assert average_precision(table)[0] == pytest.approx(average_precision_score(relevant, -np.arange(n)))


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


@given(rankings)
def test_curves_count_what_lies_within_each_distance(items):
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


@given(st.integers(0, 2**31), st.integers(1, 5), st.integers(1, 30), st.integers(1, 80), st.booleans())
def test_table_equals_a_double_loop(seed, n_queries, n_items, n_bits, multi):
    rng = np.random.default_rng(seed)
    bits = [rng.random((n, n_bits)) < 0.5 for n in (n_queries, n_items)]
    labels = [rng.random((n, 4)) < 0.4 if multi else rng.integers(0, 3, size=n) for n in (n_queries, n_items)]

    table = distance_table(*(dh.codes.pack(b) for b in bits), *labels)

    expected = np.zeros_like(table)
    for q in range(n_queries):
        for i in range(n_items):
            similar = (labels[0][q] & labels[1][i]).any() if multi else labels[0][q] == labels[1][i]
            expected[q, (bits[0][q] != bits[1][i]).sum(), int(similar)] += 1
    np.testing.assert_array_equal(table, expected)


def test_queries_without_anything_relevant_are_left_out_and_counted():
    codes = np.array([[0], [1], [0b11110000]], dtype=np.uint8)
    result = dh.evaluate(codes, codes, [0, 0, 9], [0, 0, 1])
    assert result.n_without_relevant == 1
    assert result.mean_average_precision == 1.0
    assert result.recall_at(2) == 1.0
    assert result.precision_at(1) == 1.0
    assert np.isnan(dh.evaluate(codes, codes, [5, 5, 5], [0, 0, 0]).mean_average_precision)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"query_codes": np.zeros((2, 1))}, CodeError, "query_codes must be packed codes"),
        ({"query_codes": [[1]]}, CodeError, r"got int64 of shape \(1, 1\)"),
        ({"database_codes": np.zeros((0, 1), np.uint8)}, CodeError, "must not be empty"),
        ({"query_codes": np.zeros((2, 2), np.uint8)}, CodeError, "2 bytes, database codes 1"),
        ({"query_labels": [1]}, InputError, "query_labels has 1 rows for 2 objects"),
        ({"database_labels": [[True], [False], [True]]}, InputError, "one form"),
    ],
)
def test_bad_input_says_what_is_wrong(change, error, says):
    good = {
        "query_codes": np.zeros((2, 1), np.uint8),
        "database_codes": np.zeros((3, 1), np.uint8),
        "query_labels": [0, 1],
        "database_labels": [0, 1, 1],
    }
    with pytest.raises(error, match=says):
        dh.evaluate(**(good | change))
    with pytest.raises(dh.errors.ParameterError, match="k must be"):
        dh.evaluate(**good).recall_at(0)
