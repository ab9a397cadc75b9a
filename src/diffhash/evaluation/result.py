"""The one call that evaluates retrieval by codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..types import CodeArray, FloatArray
from ..validation import check_count
from .metrics import (
    average_precision,
    equal_error_rate,
    precision_recall_at,
    precision_recall_curve,
    roc_curve,
)
from .table import distance_table

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """How well codes retrieve; every figure comes from :attr:`table`.

    Attributes
    ----------
    table : int64 array of shape (q, n_distances, 2)
        Irrelevant and relevant items of the database at every distance from every query.
    """

    table: NDArray[np.int64]

    @property
    def n_without_relevant(self) -> int:
        """Queries for which the database holds nothing relevant; means over queries leave them out."""
        return int((self.table[..., 1].sum(axis=1) == 0).sum())

    @property
    def average_precision(self) -> FloatArray:
        """Of each query, expected over the orders of tied items; NaN where nothing is relevant."""
        return average_precision(self.table)

    @property
    def mean_average_precision(self) -> float:
        """Mean of :attr:`average_precision` over the queries that have something relevant."""
        return _mean(self.average_precision)

    @property
    def roc(self) -> tuple[FloatArray, FloatArray]:
        """False and true positive rates within each distance, all queries together."""
        return roc_curve(self.table)

    @property
    def equal_error_rate(self) -> float:
        """Where false accepts equal false rejects on :attr:`roc`."""
        return equal_error_rate(*self.roc)

    @property
    def precision_recall(self) -> tuple[FloatArray, FloatArray]:
        """Precision and recall within each distance, all queries together."""
        return precision_recall_curve(self.table)

    def precision_at(self, k: int) -> float:
        """Mean share of relevant items among the first ``k``, expected over tied orders."""
        found = precision_recall_at(self.table, check_count(k, "k", caller="Evaluation.precision_at"))
        return _mean(np.where(np.isnan(found[1]), np.nan, found[0]))

    def recall_at(self, k: int) -> float:
        """Mean share of all relevant items that are among the first ``k``, expected over tied orders."""
        return _mean(precision_recall_at(self.table, check_count(k, "k", caller="Evaluation.recall_at"))[1])


def evaluate(
    query_codes: CodeArray, database_codes: CodeArray, query_labels: Any, database_labels: Any
) -> Evaluation:
    """Evaluate retrieval of database items by queries, both as packed codes.

    Parameters
    ----------
    query_codes, database_codes : uint8 arrays of shape (q, n_bytes), (n, n_bytes)
    query_labels, database_labels : arrays of shape (q,), (n,), or bool (q, n_labels), (n, n_labels)
        An item is relevant if it has the query's label, or at least one in common with it.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> codes = np.array([[0b0000], [0b0001], [0b1111]], dtype=np.uint8)
    >>> evaluate(codes, codes, [0, 0, 1], [0, 0, 1]).mean_average_precision
    1.0
    """
    return Evaluation(distance_table(query_codes, database_codes, query_labels, database_labels))


def _mean(values: FloatArray) -> float:
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if kept.size else float("nan")
