"""Evaluation of real-valued distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import InputError, ParameterError
from diffhash.evaluation import (
    euclidean_distances,
    evaluate_distances,
)

from ..reference import ranking


@given(st.integers(0, 2**31), st.booleans(), st.booleans())
def test_measures_of_real_distances_are_means_over_all_orders_of_ties(seed, multi, leave_own):
    """The distances are small integers, so that many are tied. All orders are enumerated."""
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


def test_hamming_distances_as_floats_give_the_same_measures(rng):
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


def test_euclidean_distances_in_blocks_equal_the_full_matrix(rng, monkeypatch):
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(30, 3))
    labels = rng.integers(0, 3, 20), rng.integers(0, 3, 30)
    full = ((X[:, None] - Y[None]) ** 2).sum(axis=2)
    whole = evaluate_distances(full, *labels)
    monkeypatch.setattr("diffhash.evaluation.distance_evaluation._BLOCK_CELLS", 70)
    blocked = evaluate_distances(euclidean_distances(X, Y), *labels)
    np.testing.assert_allclose(blocked.average_precision, whole.average_precision)
    assert blocked.equal_error_rate == pytest.approx(whole.equal_error_rate, abs=0.02)


def test_bad_distances_are_an_error():
    with pytest.raises(InputError, match=r"shape \(2, 3\), got \(3, 2\)"):
        evaluate_distances(np.zeros((3, 2)), [0, 1], [0, 1, 1])
    with pytest.raises(InputError, match="finite"):
        evaluate_distances(np.full((2, 2), np.nan), [0, 1], [0, 1])
