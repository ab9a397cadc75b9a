"""Figures of each query, and intervals in which all methods are resampled with the same queries."""

from __future__ import annotations

import numpy as np

from ..evaluation.distance_evaluation import tied_table
from ..evaluation.metrics import average_precision, precision_recall_at
from ..types import BoolArray, FloatArray

__all__ = ["FIRST", "Resamples", "query_scores"]

#: Ranks that the recall counts.
FIRST = 10
_BLOCK_CELLS = 1 << 21
#: Distances that differ by less are tied: items with the same features are, but for rounding.
_DIGITS = 6


def query_scores(distances: FloatArray, relevant: BoolArray, measure: str) -> FloatArray:
    """Average precision of each query, or its recall among the first ten; NaN if nothing is relevant.

    Parameters
    ----------
    distances : array of shape (q, n)
    relevant : bool array of shape (q, n)
    measure : {"mAP", "recall@10"}

    Examples
    --------
    >>> query_scores(np.array([[0.1, 0.2, 0.2]]), np.array([[False, True, False]]), "mAP").round(3)
    array([0.417])
    """
    q, n = distances.shape
    found = np.empty(q)
    scale = float(np.abs(distances).max(initial=0.0)) or 1.0
    step = max(1, _BLOCK_CELLS // max(n, 1))
    for start in range(0, q, step):
        rows = slice(start, start + step)
        block = np.round(distances[rows].astype(np.float64) / scale, _DIGITS)
        table = tied_table(block, relevant[rows], np.ones(block.shape, dtype=np.bool_))
        if measure == "mAP":
            found[rows] = average_precision(table)
        else:
            found[rows] = precision_recall_at(table, min(FIRST, n))[1]
    found[~relevant.any(axis=1)] = np.nan
    return found


class Resamples:
    """Means over both directions of resampled queries.

    Parameters
    ----------
    n_queries : two ints
        If they are equal, row r of both views is one object, and both of its queries are drawn together.
    rng : Generator
    n_resamples : int

    Examples
    --------
    >>> resamples = Resamples((2, 2), np.random.default_rng(0))
    >>> float(resamples.means(np.array([1.0, 1.0]), np.array([0.0, np.nan])).max())
    0.5
    """

    def __init__(self, n_queries: tuple[int, int], rng: np.random.Generator, n_resamples: int = 1000) -> None:
        def draw(n: int) -> FloatArray:
            return rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(np.float64)

        first = draw(n_queries[0])
        self._weights = first, first if n_queries[0] == n_queries[1] else draw(n_queries[1])

    def means(self, forth: FloatArray, back: FloatArray) -> FloatArray:
        """The mean of both directions in each resample; queries without anything relevant are left out."""
        found = []
        for weights, values in zip(self._weights, (forth, back), strict=True):
            known = ~np.isnan(values)
            drawn = weights[:, known]
            found.append(drawn @ values[known] / np.maximum(drawn.sum(axis=1), 1))
        return np.asarray(np.mean(found, axis=0))


def interval(values: FloatArray) -> tuple[float, float]:
    """The middle 95 % of resampled values."""
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
