"""Evaluation of codes: queries without relevant items, and errors for bad input."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CodeError, InputError, PairsError, ParameterError


def test_queries_without_anything_relevant_are_left_out_and_counted():
    codes = np.array([[0], [1], [0b11110000]], dtype=np.uint8)
    result = dh.evaluate(codes, codes, [0, 0, 9], [0, 0, 1])
    assert result.n_without_relevant == 1
    assert result.mean_average_precision == 1.0
    assert result.recall_at(2) == 1.0
    assert result.precision_at(1) == 1.0
    assert np.isnan(dh.evaluate(codes, codes, [5, 5, 5], [0, 0, 0]).mean_average_precision)


def test_without_relevant_items_the_equal_error_rate_is_nan():
    codes = np.zeros((2, 1), np.uint8)
    assert np.isnan(dh.evaluate(codes, codes, [0, 0], [1, 1]).equal_error_rate)


def test_equal_error_threshold_is_a_distance():
    """All relevant items are at distance 1, all others at 3, so the threshold is between them."""
    codes = np.array([[0b0]], dtype=np.uint8)
    items = np.array([[0b1], [0b10], [0b111], [0b1110]], dtype=np.uint8)
    result = dh.evaluate(codes, items, [0], [0, 0, 1, 1])
    assert result.equal_error_rate == 0
    assert 1 <= result.equal_error_threshold < 3


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"query_codes": np.zeros((2, 1))}, CodeError, "query_codes must be packed codes"),
        ({"query_codes": [[1]]}, CodeError, r"got int64 of shape \(1, 1\)"),
        ({"database_codes": np.zeros((0, 1), np.uint8)}, CodeError, "must not be empty"),
        ({"query_codes": np.zeros((2, 2), np.uint8)}, CodeError, "2 bytes, database codes 1"),
        ({"query_labels": [1]}, InputError, "query_labels has 1 rows for 2 objects"),
        ({"database_labels": [[True], [False], [True]]}, InputError, "same form"),
    ],
)
def test_errors_name_the_bad_argument(change, error, says):
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
        ({"relevant": ([0, 1], [1])}, PairsError, "same length"),
        ({"query_labels": [0, 1], "database_labels": [0, 1], "own": [0]}, InputError, "each of 2 queries"),
        ({"query_labels": [0, 1], "database_labels": [0, 1], "own": [0, 2]}, InputError, "between -1"),
    ],
)
def test_bad_relevance_is_an_error(options, error, says):
    codes = np.zeros((2, 1), np.uint8)
    with pytest.raises(error, match=says):
        dh.evaluate(codes, codes, **options)
