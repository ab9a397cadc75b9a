"""NDCG for graded relevance: ties, grades by shared labels, gains of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

import diffhash as dh
from diffhash.errors import InputError, ParameterError
from diffhash.evaluation import direction_matrix, evaluate_model, gains, ndcg
from tests.evaluation.tables import random_codes, rankings, table_of
from tests.reference import ranking as reference

RULES = {"shared": lambda g: float(g), "exponential": lambda g: 2.0**g - 1}


def hamming(queries, items):
    return np.bitwise_count(queries[:, None] ^ items).sum(axis=2)


def by_hand(distances, gain, at):
    """NDCG of each query, by all orders of ties; NaN if nothing is relevant."""
    return [
        reference.expected(lambda order: reference.ndcg(order, at), row.tolist(), worth.tolist())
        if worth.any()
        else np.nan
        for row, worth in zip(distances, gain, strict=True)
    ]


@settings(max_examples=100, deadline=None)
@given(items=rankings, at=st.one_of(st.none(), st.integers(1, 8)))
def test_with_equal_gains_it_is_the_mean_over_all_orders(items, at):
    distances, relevant = zip(*items, strict=True)

    found = ndcg(table_of(items), at=at)[0]

    expected = by_hand(np.array([distances]), np.array([relevant], dtype=float), at)[0]
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 6),
    n_labels=st.integers(1, 70),
    rule=st.sampled_from(list(RULES)),
    at=st.one_of(st.none(), st.integers(1, 7)),
    leave_out=st.booleans(),
)
def test_shared_labels_give_the_mean_over_all_orders(seed, n, n_labels, rule, at, leave_out):
    rng = np.random.default_rng(seed)
    queries, items = random_codes(rng, 3), random_codes(rng, n)
    a, b = rng.random((3, n_labels)) < 3 / n_labels, rng.random((n, n_labels)) < 3 / n_labels
    own = rng.integers(-1, n, 3) if leave_out else np.full(3, -1)

    found = dh.evaluate(queries, items, a, b, own=own, gains=rule)

    gain = np.vectorize(RULES[rule])((a[:, None] & b).sum(axis=2))
    kept = [np.flatnonzero(np.arange(n) != row) for row in own]
    distances = [row[k] for row, k in zip(hamming(queries, items), kept, strict=True)]
    expected = by_hand(distances, [row[k] for row, k in zip(gain, kept, strict=True)], at)
    np.testing.assert_allclose(ndcg(found.table, found.gains, at), expected, atol=1e-9)
    plain = dh.evaluate(queries, items, a, b, own=own)
    np.testing.assert_array_equal(found.table, plain.table)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_pairs=st.integers(0, 20), at=st.one_of(st.none(), st.integers(1, 6)))
def test_gains_of_pairs_give_the_mean_over_all_orders(seed, n_pairs, at):
    """Some pairs are repeated; their largest gain counts."""
    rng = np.random.default_rng(seed)
    queries, items = random_codes(rng, 4), random_codes(rng, 5)
    i, j, worth = rng.integers(0, 4, n_pairs), rng.integers(0, 5, n_pairs), rng.integers(1, 4, n_pairs) / 2

    found = dh.evaluate(queries, items, relevant=(i, j), gains=worth)

    gain = np.zeros((4, 5))
    for row, column, value in zip(i, j, worth, strict=True):
        gain[row, column] = max(gain[row, column], value)
    expected = by_hand(hamming(queries, items), gain, at)
    np.testing.assert_allclose(ndcg(found.table, found.gains, at), expected, atol=1e-12)
    np.testing.assert_array_equal(found.table, dh.evaluate(queries, items, relevant=(i, j)).table)


@pytest.mark.parametrize("k", [None, 5])
def test_ties_are_averaged_as_scikit_learn_averages_them(rng, k):
    codes = rng.integers(0, 256, size=(60, 1), dtype=np.uint8)
    labels = rng.random((60, 9)) < 0.4
    labels[:, 0] = True

    found = dh.evaluate(codes[:20], codes, labels[:20], labels, gains="shared")

    shared = (labels[:20, None] & labels).sum(axis=2)
    expected = ndcg_score(shared, -hamming(codes[:20], codes), k=k)
    value = found.mean_ndcg if k is None else found.mean_ndcg_at(k)
    assert value == pytest.approx(expected, abs=1e-12)


def test_blocks_of_queries_give_the_same_as_all_at_once(rng, monkeypatch):
    codes = rng.integers(0, 256, size=(50, 2), dtype=np.uint8)
    labels = rng.random((50, 12)) < 0.5
    whole = dh.evaluate(codes, codes, labels, labels, own=np.arange(50), gains="exponential")

    monkeypatch.setattr(gains, "_BLOCK_BYTES", 10_000)
    parts = dh.evaluate(codes, codes, labels, labels, own=np.arange(50), gains="exponential")

    np.testing.assert_array_equal(parts.ndcg, whole.ndcg)
    np.testing.assert_array_equal(parts.table, whole.table)


def test_single_labels_have_equal_gains(rng):
    codes = random_codes(rng, 30)
    labels = rng.integers(0, 3, 30)
    plain = dh.evaluate(codes, codes, labels, labels)
    for rule in RULES:
        np.testing.assert_array_equal(dh.evaluate(codes, codes, labels, labels, gains=rule).ndcg, plain.ndcg)


def test_intervals_contain_the_mean_and_a_rank_can_be_given(rng):
    codes = rng.integers(0, 256, size=(80, 1), dtype=np.uint8)
    labels = rng.random((80, 6)) < 0.3
    found = dh.evaluate(codes, codes, labels, labels, gains="shared", own=np.arange(80))

    low, high = found.confidence_interval("mean_ndcg")
    assert low < found.mean_ndcg < high
    low, high = found.confidence_interval("mean_ndcg", at=3)
    assert low < found.mean_ndcg_at(3) < high
    low, high = found.confidence_interval(at=3)
    assert low < found.mean_average_precision_at(3) < high
    with pytest.raises(ParameterError, match="no ranks to count"):
        found.confidence_interval("equal_error_rate", at=3)


def test_a_model_has_a_matrix_of_ndcg(small_data, small_pairs):
    hasher = dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs)
    test = small_data.test

    found = evaluate_model(hasher, test.views, test.labels, gains="shared")

    matrix = direction_matrix(found, "mean_ndcg")
    assert matrix.values[0, 1] == found["x", "y"].mean_ndcg
    assert 0 < matrix.within <= 1


def test_bad_gains_raise_one_clear_error():
    codes, labels = np.zeros((2, 1), np.uint8), np.ones((2, 60), dtype=bool)
    pairs = ([0, 1], [0, 1])
    with pytest.raises(ParameterError, match=r"gains with labels must be one of 'shared', 'exponential'"):
        dh.evaluate(codes, codes, labels, labels, gains="linear")
    with pytest.raises(ParameterError, match="Numbers are for relevant pairs"):
        dh.evaluate(codes, codes, labels, labels, gains=[1.0, 2.0])
    with pytest.raises(ParameterError, match="is for labels"):
        dh.evaluate(codes, codes, relevant=pairs, gains="shared")
    with pytest.raises(InputError, match=r"2 relevant pairs.*got float64 of shape \(3,\)"):
        dh.evaluate(codes, codes, relevant=pairs, gains=[1.0, 2.0, 3.0])
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match=rf"above 0, got {bad} for pair 1"):
            dh.evaluate(codes, codes, relevant=pairs, gains=[1.0, bad])
    with pytest.raises(InputError, match=r'at most 50 labels.*up to 60.*gains="shared"'):
        dh.evaluate(codes, codes, labels, labels, gains="exponential")
    assert dh.evaluate(codes, codes, labels, labels, gains="shared").mean_ndcg == 1.0
