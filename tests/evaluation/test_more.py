"""Truncated measures, own items, given pairs, radii, real distances, intervals and single bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import InputError, PairsError, ParameterError
from diffhash.evaluation import (
    average_precision,
    bit_agreement,
    bit_diagnostics,
    euclidean_distances,
    evaluate_distances,
    evaluate_model,
    precision_recall_within,
)
from diffhash.evaluation.metrics import expected_hits

from ..reference import ranking
from ..strategies import problems
from .test_evaluation import rankings, table_of


@given(rankings, st.integers(1, 9))
def test_truncated_average_precision_is_the_mean_over_all_orders(items, r):
    distances, relevant = zip(*items, strict=True)
    found = average_precision(table_of(items), at=r)[0]
    if not any(relevant):
        assert np.isnan(found)
    else:
        expected = ranking.expected(lambda order: ranking.average_precision_at(order, r), distances, relevant)
        assert found == pytest.approx(expected, abs=1e-12)


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


def random_codes(rng, n):
    return rng.integers(0, 16, size=(n, 1), dtype=np.uint8)


@given(st.integers(0, 2**31), st.booleans())
def test_own_items_are_left_out(seed, multi):
    rng = np.random.default_rng(seed)
    codes = random_codes(rng, 8)
    labels = rng.random((8, 3)) < 0.4 if multi else rng.integers(0, 3, 8)
    own = np.where(rng.random(8) < 0.7, np.arange(8), -1)

    table = dh.evaluate(codes, codes, labels, labels, own=own).table

    for q in range(8):
        others = np.arange(8) != own[q]
        expected = dh.evaluate(codes[[q]], codes[others], labels[[q]], labels[others]).table[0]
        np.testing.assert_array_equal(table[q], expected)


@given(st.integers(0, 2**31))
def test_given_pairs_are_the_relevant_ones(seed):
    rng = np.random.default_rng(seed)
    queries, items = random_codes(rng, 4), random_codes(rng, 6)
    i, j = rng.integers(0, 4, 9), rng.integers(0, 6, 9)

    table = dh.evaluate(queries, items, relevant=(i, j)).table

    expected = np.zeros_like(table)
    for q in range(4):
        for item in range(6):
            similar = (q, item) in set(zip(i, j, strict=True))
            expected[q, int(np.bitwise_count(queries[q, 0] ^ items[item, 0])), int(similar)] += 1
    np.testing.assert_array_equal(table, expected)


@given(st.integers(0, 2**31), st.booleans(), st.booleans())
def test_real_distances_go_through_the_same_measures(seed, multi, leave_own):
    """Small whole distances, many of them tied, against enumeration of all orders."""
    rng = np.random.default_rng(seed)
    n = 6
    distances = rng.integers(0, 4, size=(n, n)).astype(float)
    labels = rng.random((n, 3)) < 0.4 if multi else rng.integers(0, 2, n)
    own = np.arange(n) if leave_own else None

    result = evaluate_distances(distances, labels, labels, own=own, max_k=3)

    for q in range(n):
        kept = [i for i in range(n) if not (leave_own and i == q)]
        similar = [
            bool((labels[q] & labels[i]).any()) if multi else bool(labels[q] == labels[i]) for i in kept
        ]
        d = distances[q, kept].tolist()
        if not any(similar):
            assert np.isnan(result.average_precision[q])
            continue
        assert result.average_precision[q] == pytest.approx(
            ranking.expected(ranking.average_precision, d, similar), abs=1e-12
        )
        for k in (1, 2, 3):
            assert result.hits[q, k - 1] == pytest.approx(
                ranking.expected(lambda o, k=k: sum(o[:k]), d, similar)
            )


def test_hamming_distances_as_real_ones_give_the_same_figures(rng):
    codes = rng.integers(0, 256, size=(60, 2), dtype=np.uint8)
    labels = rng.integers(0, 4, 60)
    by_codes = dh.evaluate(codes, codes, labels, labels)
    distances = np.bitwise_count(codes[:, None] ^ codes[None]).sum(axis=2).astype(float)
    by_distances = evaluate_distances(distances, labels, labels)

    assert by_distances.mean_average_precision == pytest.approx(by_codes.mean_average_precision)
    assert by_distances.equal_error_rate == pytest.approx(by_codes.equal_error_rate, abs=1e-9)
    assert by_distances.recall_at(7) == pytest.approx(by_codes.recall_at(7))
    assert by_distances.precision_at(7) == pytest.approx(by_codes.precision_at(7))
    with pytest.raises(ParameterError, match="larger max_k"):
        by_distances.recall_at(101)


def test_euclidean_distances_in_blocks(rng, monkeypatch):
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(30, 3))
    labels = rng.integers(0, 3, 20), rng.integers(0, 3, 30)
    full = ((X[:, None] - Y[None]) ** 2).sum(axis=2)
    whole = evaluate_distances(full, *labels)
    monkeypatch.setattr("diffhash.evaluation.distance_evaluation._BLOCK_CELLS", 70)
    blocked = evaluate_distances(euclidean_distances(X, Y), *labels)
    np.testing.assert_allclose(blocked.average_precision, whole.average_precision)
    assert blocked.equal_error_rate == pytest.approx(whole.equal_error_rate, abs=0.02)


def test_equal_error_threshold_is_a_distance():
    """Everything relevant at 1, everything else at 3: the errors meet between them."""
    codes = np.array([[0b0]], dtype=np.uint8)
    items = np.array([[0b1], [0b10], [0b111], [0b1110]], dtype=np.uint8)
    result = dh.evaluate(codes, items, [0], [0, 0, 1, 1])
    assert result.equal_error_rate == 0
    assert 1 <= result.equal_error_threshold < 3


def test_confidence_intervals_hold_the_estimate_and_narrow_with_queries(rng):
    def interval(n, measure):
        codes = rng.integers(0, 256, size=(n, 1), dtype=np.uint8)
        labels = codes[:, 0] % 3
        result = dh.evaluate(codes, codes, labels, labels)
        low, high = result.confidence_interval(measure)
        assert low <= getattr(result, measure) <= high
        return high - low

    for measure in ("mean_average_precision", "equal_error_rate"):
        assert interval(400, measure) < interval(25, measure)
    with pytest.raises(ParameterError, match="measure must be one of"):
        dh.evaluate(np.zeros((1, 1), np.uint8), np.zeros((1, 1), np.uint8), [0], [0]).confidence_interval(
            "f1"
        )


def test_confidence_interval_covers_the_true_mean():
    """Over repeated draws of queries the 90 % interval holds the population's mean about so often."""
    rng = np.random.default_rng(0)
    database = rng.integers(0, 256, size=(200, 1), dtype=np.uint8)
    labels = database[:, 0] % 5
    population = dh.evaluate(database, database, labels, labels).average_precision
    held = 0
    for _ in range(100):
        q = rng.integers(0, 200, 60)
        result = dh.evaluate(database[q], database, labels[q], labels)
        low, high = result.confidence_interval(level=0.9, n_resamples=200)
        held += low <= population.mean() <= high
    assert 75 <= held <= 100


def test_bit_statistics_equal_numpys(rng):
    bits = rng.random((300, 11)) < np.linspace(0, 0.9, 11)
    found = bit_diagnostics(dh.codes.pack(bits), 11)
    np.testing.assert_allclose(found.balance, bits.mean(axis=0))
    assert found.entropy[0] == 0
    np.testing.assert_allclose(found.correlation[1:, 1:], np.corrcoef(bits[:, 1:].T), atol=1e-5)
    assert not found.correlation[0].any()


@given(problems(), st.integers(0, 2**31))
def test_agreement_equals_counting_pairs(problem, seed):
    rng = np.random.default_rng(seed)
    bits_x = rng.random((len(problem.x), 3)) < 0.5
    bits_y = bits_x if problem.one_view else rng.random((len(problem.y), 3)) < 0.5
    packed = dh.codes.pack(bits_x), None if problem.one_view else dh.codes.pack(bits_y)

    found = bit_agreement(*packed, problem.pairs, 3)

    for shares, pairs in zip(found, (problem.positive, problem.negative), strict=True):
        expected = [
            np.mean([bits_x[i, b] == bits_y[j, b] for i, j in pairs]) if pairs else 0.0 for b in range(3)
        ]
        np.testing.assert_allclose(shares, expected)


def test_a_model_is_evaluated_in_all_directions_and_both_protocols(small_data, small_pairs):
    hasher = dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs)
    unseen = evaluate_model(hasher, small_data.test.views, small_data.test.labels)
    assert set(unseen) == {("x", "x"), ("x", "y"), ("y", "x"), ("y", "y")}
    assert unseen["x", "x"].table.sum() == 200 * 199, "a query does not find itself"
    assert unseen["x", "y"].table.sum() == 200 * 200
    training = evaluate_model(
        hasher,
        small_data.test.views,
        small_data.test.labels,
        database=small_data.train.views,
        database_labels=small_data.train.labels,
    )
    assert training["y", "x"].table.sum() == 200 * 400


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({}, ParameterError, "give the labels"),
        (
            {"query_labels": [0, 1], "database_labels": [0, 1], "relevant": ([0], [0])},
            ParameterError,
            "not both",
        ),
        ({"relevant": ([0], [5])}, PairsError, "item outside 0 to 1"),
        ({"relevant": ([0, 1], [1])}, PairsError, "one length"),
        ({"query_labels": [0, 1], "database_labels": [0, 1], "own": [0]}, InputError, "each of 2 queries"),
        ({"query_labels": [0, 1], "database_labels": [0, 1], "own": [0, 2]}, InputError, "between -1"),
    ],
)
def test_bad_relevance_is_told(options, error, says):
    codes = np.zeros((2, 1), np.uint8)
    with pytest.raises(error, match=says):
        dh.evaluate(codes, codes, **options)


def test_bad_distances_are_told():
    with pytest.raises(InputError, match=r"shape \(2, 3\), got \(3, 2\)"):
        evaluate_distances(np.zeros((3, 2)), [0, 1], [0, 1, 1])
    with pytest.raises(InputError, match="finite"):
        evaluate_distances(np.full((2, 2), np.nan), [0, 1], [0, 1])


def test_many_queries_are_measured_in_blocks_that_do_not_show(rng):
    table = rng.integers(0, 4, (3000, 33, 2))
    table[7, :, 1] = 0
    each = [np.concatenate([average_precision(row[None], at) for row in table]) for at in (None, 20)]
    np.testing.assert_array_equal(average_precision(table), each[0])
    np.testing.assert_array_equal(average_precision(table, 20), each[1])
    hits = np.concatenate([expected_hits(row[None], 10) for row in table])
    np.testing.assert_array_equal(expected_hits(table, 10), hits)
    assert average_precision(table[:0]).shape == (0,)
