"""What is measured of one direction: per query from ``dh.evaluate``, with intervals over queries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import diffhash as dh
from diffhash.comparison.linear_algebra import unit_rows
from diffhash.evaluation import average_precision, equal_error_rate, precision_recall_at, roc_curve
from diffhash.types import FloatArray, IntArray

FIRST = 10
N_RESAMPLES = 1000
#: Products that differ by less are tied: items with the same features are, but for rounding.
_TIED = 1e-6
_EER_BINS = 4096


@dataclass(frozen=True)
class Scores:
    """Average precision and recall among the first ten of every query, and the equal error rate."""

    precision: FloatArray
    recall: FloatArray
    equal_error_rate: float


def score(
    queries: Any, database: Any, query_labels: IntArray, database_labels: IntArray, *, inner: bool = False
) -> Scores:
    """Scores of packed codes by Hamming distance, or of real vectors by their cosine or inner product.

    Inner products must be in [-1, 1], as those of probabilities are.
    """
    if queries.dtype == np.uint8:
        result = dh.evaluate(queries, database, query_labels, database_labels)
        recall = precision_recall_at(result.table, FIRST)[1]
        return Scores(result.average_precision, recall, result.equal_error_rate)
    if not inner:
        queries, database = unit_rows(queries), unit_rows(database)
    return _score_real(queries, database, query_labels, database_labels)


def _score_real(
    queries: FloatArray, database: FloatArray, query_labels: IntArray, database_labels: IntArray
) -> Scores:
    step = max(1, (1 << 21) // len(database))
    precision, recall = [], []
    pooled = np.zeros((1, _EER_BINS, 2), dtype=np.int64)
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        apart = 1 - queries[block] @ database.T
        relevant = query_labels[block, None] == database_labels
        table = rank_table(apart, relevant)
        precision.append(average_precision(table))
        recall.append(precision_recall_at(table, FIRST)[1])
        bins = np.clip(apart * (_EER_BINS / 2), 0, _EER_BINS - 1).astype(np.int64)
        pooled += np.bincount((2 * bins + relevant).ravel(), minlength=2 * _EER_BINS).reshape(1, -1, 2)
    return Scores(np.concatenate(precision), np.concatenate(recall), equal_error_rate(*roc_curve(pooled)))


def rank_table(apart: FloatArray, relevant: Any) -> IntArray:
    """Counts as ``distance_table`` gives them, with one place for every different distance of a query.

    Examples
    --------
    >>> rank_table(np.array([[0.5, 0.1, 0.5]]), np.array([[True, False, False]]))
    array([[[1, 0],
            [1, 1],
            [0, 0]]])
    """
    q, n = apart.shape
    order = np.argsort(apart, axis=1)
    ranked = np.take_along_axis(apart, order, axis=1)
    place = np.zeros((q, n), dtype=np.int64)
    np.cumsum(np.diff(ranked, axis=1) > _TIED, axis=1, out=place[:, 1:])
    cells = 2 * (place + n * np.arange(q)[:, None]) + np.take_along_axis(relevant, order, axis=1)
    return np.bincount(cells.ravel(), minlength=2 * n * q).reshape(q, n, 2)


def interval(values: FloatArray) -> tuple[float, float]:
    """Percentile bootstrap interval (95 %) of the mean over queries; NaN queries are left out."""
    values = values[~np.isnan(values)]
    means = values[_resamples(len(values))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


@lru_cache(maxsize=4)
def _resamples(n: int) -> IntArray:
    return np.random.default_rng(0).integers(n, size=(N_RESAMPLES, n), dtype=np.int32)


def summary(values: FloatArray) -> dict[str, float]:
    """Mean over queries and its interval, as kept in the results."""
    low, high = interval(values)
    return {"mean": round(float(np.nanmean(values)), 5), "low": round(low, 5), "high": round(high, 5)}
