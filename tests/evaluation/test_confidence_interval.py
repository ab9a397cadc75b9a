"""Bootstrap intervals over the queries."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import ParameterError


def test_intervals_contain_the_estimate_and_narrow_with_more_queries(rng):
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


def test_the_interval_contains_the_true_mean_as_often_as_it_says():
    """Over repeated draws of queries, the 90 % interval contains the mean of the population about 90 times in 100."""
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


def test_without_a_relevant_item_there_is_no_interval():
    codes = np.zeros((3, 1), np.uint8)

    result = dh.evaluate(codes, codes, [0, 0, 0], [1, 1, 1])

    assert np.isnan([*result.confidence_interval(), *result.confidence_interval("mean_ndcg")]).all()
