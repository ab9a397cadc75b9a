"""The same measures for real-valued distances, such as retrieval without hashing as a reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError, ParameterError
from ..pairs.labels import LabelGroups
from ..types import FloatArray, IntArray
from ..validation import as_array, check_count
from .code_evaluation import Measures
from .distance_counts import checked_groups, checked_own
from .metrics import average_precision, expected_hits, precision_recall_curve, roc_curve, shares_of

__all__ = ["DistanceEvaluation", "euclidean_distances", "evaluate_distances", "tied_table"]

_BLOCK_CELLS = 1 << 21
_N_LEVELS = 2048

#: ``distances(rows)`` returns the distances of a slice of queries to the whole database.
DistanceRows = Callable[[slice], FloatArray]


@dataclass(frozen=True)
class DistanceEvaluation(Measures):
    """How well real-valued distances retrieve.

    Attributes
    ----------
    levels : array of shape (n_levels,)
        Distances at which the pooled curves have a point.
    pooled : int array of shape (n_levels + 1, 2)
        Number of irrelevant and relevant items of all queries between two levels, and beyond the last.
    hits : array of shape (q, max_k)
        Expected number of relevant items among the first 1, 2, ... items of each query.
    n_relevant : int array of shape (q,)
    """

    levels: FloatArray = field(repr=False)
    pooled: IntArray = field(repr=False)
    hits: FloatArray = field(repr=False)
    n_relevant: IntArray = field(repr=False)
    _average_precision: FloatArray = field(repr=False)

    @property
    def average_precision(self) -> FloatArray:
        """Average precision of each query, exact; NaN if nothing is relevant."""
        return self._average_precision

    def precision_recall_at(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Precision and recall of the first ``k`` items of each query, ``k`` up to ``max_k``."""
        if k > self.hits.shape[1]:
            raise ParameterError(
                f"DistanceEvaluation: k={k} is more than max_k={self.hits.shape[1]}. "
                "Evaluate again with a larger max_k."
            )
        return shares_of(self.hits[:, k - 1], np.full(len(self.hits), k), self.n_relevant)

    @property
    def roc(self) -> tuple[FloatArray, FloatArray]:
        """False and true positive rates within each level, for all queries together."""
        return roc_curve(self.pooled[None])

    @property
    def precision_recall(self) -> tuple[FloatArray, FloatArray]:
        """Precision and recall within each level, for all queries together."""
        return precision_recall_curve(self.pooled[None])


def evaluate_distances(
    distances: FloatArray | DistanceRows,
    query_labels: Any,
    database_labels: Any,
    *,
    own: Any = None,
    max_k: int = 100,
) -> DistanceEvaluation:
    """Evaluate retrieval by real-valued distances.

    Parameters
    ----------
    distances : array of shape (q, n), or a function that returns the rows for a slice of queries
        With a function, the q x n matrix is never in memory as a whole; see :func:`euclidean_distances`.
    query_labels, database_labels : arrays of shape (q,), (n,), or bool (q, n_labels), (n, n_labels)
    own : int array of shape (q,), optional
        Database row that is the query itself; it is left out. -1 for a query that is not in the database.
    max_k : int
        Largest k for ``precision_at`` and ``recall_at``.

    Returns
    -------
    DistanceEvaluation
        Average precision and the measures at k are exact, with equal distances treated as ties. The pooled
        curves, and therefore the equal error rate, have 2,048 points at quantiles of the distances.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [5.0], [5.2]])
    >>> result = evaluate_distances(euclidean_distances(X, X), [0, 0, 1, 1], [0, 0, 1, 1], own=np.arange(4))
    >>> result.mean_average_precision, result.equal_error_rate
    (1.0, 0.0)
    """
    n_queries, n_items = np.shape(query_labels)[0], np.shape(database_labels)[0]
    groups = checked_groups(query_labels, database_labels, n_queries, n_items)
    max_k = min(check_count(max_k, "max_k", caller="evaluate_distances"), n_items)
    rows_of = _checked_rows(distances, n_queries, n_items)
    own_rows = np.full(n_queries, -1)
    if own is not None:
        queries, items = checked_own(own, n_queries, n_items)
        own_rows[queries] = items
    step = max(1, _BLOCK_CELLS // n_items)
    levels = _quantiles(rows_of, n_queries, step)
    pooled = np.zeros((len(levels) + 1, 2), dtype=np.int64)
    hits = np.empty((n_queries, max_k))
    precision = np.empty(n_queries)
    for start in range(0, n_queries, step):
        rows = slice(start, min(start + step, n_queries))
        block = rows_of(rows).astype(np.float64, copy=False)
        if block.shape != (rows.stop - rows.start, n_items) or not np.isfinite(block).all():
            raise InputError(
                f"evaluate_distances: expected finite distances of shape "
                f"{(rows.stop - rows.start, n_items)}, got shape {block.shape}."
            )
        relevant = _relevance(groups, rows)
        mine = own_rows[rows]
        kept = np.ones(block.shape, dtype=bool)
        kept[np.flatnonzero(mine >= 0), mine[mine >= 0]] = False
        cells = np.searchsorted(levels, block[kept], side="left") * 2 + relevant[kept]
        pooled += np.bincount(cells, minlength=2 * len(pooled)).reshape(-1, 2)
        table = tied_table(block, relevant, kept)
        precision[rows] = average_precision(table)
        first = table[:, : max_k + 1]
        for k in range(1, max_k + 1):
            hits[rows, k - 1] = expected_hits(first, k)
    n_relevant = _count_relevant(groups, own_rows)
    return DistanceEvaluation(levels, pooled, hits, n_relevant, precision)


def euclidean_distances(queries: FloatArray, database: FloatArray) -> DistanceRows:
    """Return a function that computes squared Euclidean distances for :func:`evaluate_distances`, block by block.

    Parameters
    ----------
    queries, database : arrays of shape (q, n_features), (n, n_features)
    """
    caller = "euclidean_distances"
    x, y = as_array(queries, f"{caller}: queries"), as_array(database, f"{caller}: database")
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise InputError(
            f"{caller}: queries and database must have shapes (q, n_features) and (n, n_features), "
            f"got {x.shape} and {y.shape}."
        )
    # Distances between points far from 0 would lose digits in the formula below.
    middle = y.mean(axis=0, dtype=np.float64)
    x, y = x - middle, y - middle
    norms = np.einsum("ij,ij->i", y, y)

    def rows(block: slice) -> FloatArray:
        return np.asarray(norms - 2 * (x[block] @ y.T) + np.einsum("ij,ij->i", x[block], x[block])[:, None])

    return rows


def _checked_rows(distances: Any, n_queries: int, n_items: int) -> DistanceRows:
    """Function that returns the rows for a slice of queries as an array."""
    who = "evaluate_distances: distances"
    if callable(distances):
        return lambda rows: as_array(distances(rows), who)
    matrix = as_array(distances, who)
    if matrix.shape != (n_queries, n_items):
        raise InputError(
            f"evaluate_distances: {n_queries} and {n_items} labels need distances of shape "
            f"{(n_queries, n_items)}, got {matrix.shape}."
        )
    return lambda rows: matrix[rows]


def _quantiles(rows_of: DistanceRows, n_queries: int, step: int) -> FloatArray:
    """Choose the levels of the pooled curves from the distances of at most 64 queries."""
    chosen = np.unique(np.linspace(0, n_queries - 1, min(n_queries, step, 64)).astype(int))
    sample = np.concatenate([np.ravel(rows_of(slice(q, q + 1))) for q in chosen]).astype(np.float64)
    # More levels at small distances, where the relevant items are.
    share = np.linspace(0, 1, _N_LEVELS) ** 2
    return np.unique(np.quantile(sample, share, method="higher"))


def _relevance(groups: LabelGroups, rows: slice) -> Any:
    if groups.sets is None:
        return groups.x[rows, None] == groups.y
    sets = groups.sets.astype(np.float32)
    return (sets[groups.x[rows]] @ sets[groups.y].T) > 0


def _count_relevant(groups: LabelGroups, own: IntArray) -> IntArray:
    """Number of relevant items of each query, without its own item."""
    sizes = np.bincount(groups.y, minlength=groups.n_groups).astype(np.float64)
    counts = groups.related(sizes[:, None])[:, 0][groups.x].astype(np.int64)
    with_own = np.flatnonzero(own >= 0)
    x, y = groups.x[with_own], groups.y[own[with_own]]
    counts[with_own] -= (x == y) if groups.sets is None else (groups.sets[x] & groups.sets[y]).any(axis=1)
    return counts


def tied_table(block: FloatArray, relevant: Any, kept: Any) -> IntArray:
    """Counts by rank, of shape (q, n, 2); items at equal distance have the same rank."""
    n_rows, n = block.shape
    order = np.argsort(block, axis=1)
    ordered = np.take_along_axis(block, order, axis=1)
    place = np.zeros((n_rows, n), dtype=np.int64)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=place[:, 1:])
    cells = (place + np.arange(n_rows)[:, None] * n) * 2 + np.take_along_axis(relevant, order, axis=1)
    cells = cells[np.take_along_axis(kept, order, axis=1)]
    return np.bincount(cells, minlength=n_rows * n * 2).reshape(n_rows, n, 2)
