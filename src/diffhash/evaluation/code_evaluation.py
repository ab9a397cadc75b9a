"""``evaluate`` and its result: measures of retrieval by binary codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..types import CodeArray, FloatArray, PairIndex
from ..validation import check_choice, check_count, check_number
from .distance_counts import distance_table, pair_distance_table
from .gains import GAIN_RULES, Gains, graded_distance_table, graded_pair_table
from .metrics import (
    average_precision,
    equal_error_point,
    equal_error_rate,
    ndcg,
    precision_recall_at,
    precision_recall_curve,
    precision_recall_within,
    roc_curve,
)

__all__ = ["MEASURES", "Evaluation", "Measures", "evaluate"]

#: Measures that are one number for all queries.
MEASURES = ("mean_average_precision", "equal_error_rate", "mean_ndcg")


class Measures(ABC):
    """Measures that every evaluation has, for codes and for real-valued distances.

    Means over queries leave out the queries for which nothing in the database is relevant.
    :attr:`n_without_relevant` counts these queries.
    """

    @property
    @abstractmethod
    def average_precision(self) -> FloatArray:
        """Average precision of each query, the mean over all orders of tied items; NaN if nothing is relevant."""

    @abstractmethod
    def precision_recall_at(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Precision and recall of the first ``k`` items of each query."""

    @property
    @abstractmethod
    def roc(self) -> tuple[FloatArray, FloatArray]:
        """False and true positive rates within each distance, all queries together."""

    @property
    @abstractmethod
    def precision_recall(self) -> tuple[FloatArray, FloatArray]:
        """Precision and recall within each distance, all queries together."""

    @property
    def n_without_relevant(self) -> int:
        """Number of queries for which nothing in the database is relevant."""
        return int(np.isnan(self.average_precision).sum())

    @property
    def mean_average_precision(self) -> float:
        """Mean of :attr:`average_precision` over the queries that have something relevant."""
        return mean_of(self.average_precision)

    @property
    def equal_error_rate(self) -> float:
        """Error rate at the point of :attr:`roc` where false accepts equal false rejects."""
        return equal_error_rate(*self.roc)

    def precision_at(self, k: int) -> float:
        """Mean share of relevant items among the first ``k``: expected value over all orders of ties."""
        return mean_of(self.precision_recall_at(check_count(k, "k", caller="precision_at"))[0])

    def recall_at(self, k: int) -> float:
        """Mean share of all relevant items that are among the first ``k``: expected value over all orders of ties."""
        return mean_of(self.precision_recall_at(check_count(k, "k", caller="recall_at"))[1])


@dataclass(frozen=True)
class Evaluation(Measures):
    """Quality of retrieval by codes. Every measure is computed from :attr:`table`.

    Attributes
    ----------
    table : int64 array of shape (q, n_distances, 2)
        Number of irrelevant and of relevant items at every distance from every query.
    gains : Gains or None
        How much each relevant item is worth, used by NDCG; None if every relevant item is worth 1.
    """

    table: NDArray[np.int64] = field(repr=False)
    gains: Gains | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return (
            f"Evaluation({len(self.table)} queries, mAP {self.mean_average_precision:.4f}, "
            f"EER {self.equal_error_rate:.4f})"
        )

    @property
    def average_precision(self) -> FloatArray:
        """Average precision of each query, the mean over all orders of tied items; NaN if nothing is relevant."""
        return average_precision(self.table)

    def mean_average_precision_at(self, r: int) -> float:
        """Mean of AP@R, which counts only the first ``r`` ranks of each query."""
        return mean_of(average_precision(self.table, check_count(r, "r", caller="mean_average_precision_at")))

    @property
    def ndcg(self) -> FloatArray:
        """NDCG of each query, the whole ranking, the mean over all orders of tied items; NaN if nothing is relevant."""
        return ndcg(self.table, self.gains)

    @property
    def mean_ndcg(self) -> float:
        """Mean of :attr:`ndcg` over the queries that have something relevant."""
        return mean_of(self.ndcg)

    def mean_ndcg_at(self, k: int) -> float:
        """Mean of NDCG@k, which counts only the first ``k`` ranks of each query."""
        return mean_of(ndcg(self.table, self.gains, check_count(k, "k", caller="mean_ndcg_at")))

    def precision_recall_at(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Precision and recall of the first ``k`` items of each query."""
        return precision_recall_at(self.table, k)

    def precision_recall_within(self, radius: int) -> tuple[FloatArray, FloatArray]:
        """Precision and recall of all items within ``radius`` of each query."""
        return precision_recall_within(
            self.table, check_count(radius, "radius", caller="evaluate", minimum=0)
        )

    def precision_within(self, radius: int) -> float:
        """Mean precision of all items within ``radius``; 0 for a query that finds nothing."""
        return mean_of(self.precision_recall_within(radius)[0])

    def recall_within(self, radius: int) -> float:
        """Mean recall of all items within ``radius``."""
        return mean_of(self.precision_recall_within(radius)[1])

    @property
    def roc(self) -> tuple[FloatArray, FloatArray]:
        """False and true positive rates within each distance, all queries together."""
        return roc_curve(self.table)

    @property
    def equal_error_threshold(self) -> float:
        """Distance at which the errors are equal, interpolated. Items up to this distance are accepted."""
        above, share = equal_error_point(*self.roc)
        return above - 2 + share

    @property
    def precision_recall(self) -> tuple[FloatArray, FloatArray]:
        """Precision and recall within each distance, all queries together."""
        return precision_recall_curve(self.table)

    def confidence_interval(
        self,
        measure: str = "mean_average_precision",
        *,
        at: int | None = None,
        level: float = 0.95,
        n_resamples: int = 1000,
        random_state: int | None = 0,
    ) -> tuple[float, float]:
        """Compute a bootstrap interval (percentiles over resampled queries).

        Parameters
        ----------
        measure : {"mean_average_precision", "equal_error_rate", "mean_ndcg"}
        at : int, optional
            Count only the first ``at`` ranks of each query; not for the equal error rate.
        level : float
            Share of the resamples that lie within the interval.
        n_resamples : int
        random_state : int or None

        Examples
        --------
        >>> codes = np.arange(32, dtype=np.uint8)[:, None]
        >>> result = evaluate(codes, codes, np.arange(32) // 8, np.arange(32) // 8)
        >>> low, high = result.confidence_interval()
        >>> low < result.mean_average_precision < high
        True
        """
        caller = "Evaluation.confidence_interval"
        check_choice(measure, "measure", MEASURES, caller=caller)
        if at is not None:
            check_count(at, "at", caller=caller)
            if measure == "equal_error_rate":
                raise ParameterError(f"{caller}: the equal error rate has no ranks to count. Leave `at` out.")
        check_number(level, "level", caller=caller, high=1.0)
        check_count(n_resamples, "n_resamples", caller=caller)
        rng = np.random.default_rng(random_state)
        n = len(self.table)
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(np.float64)
        if measure != "equal_error_rate":
            by_map = measure == "mean_average_precision"
            values = average_precision(self.table, at) if by_map else ndcg(self.table, self.gains, at)
            known = ~np.isnan(values)
            if not known.any():
                return float("nan"), float("nan")
            weights = drawn[:, known]
            estimates = weights @ values[known] / np.maximum(weights.sum(axis=1), 1)
        else:
            pooled = (drawn @ self.table.reshape(n, -1)).reshape(n_resamples, *self.table.shape[1:])
            curves = zip(*roc_curve(pooled, pooled=False), strict=True)
            estimates = np.array([equal_error_rate(*curve) for curve in curves])
        low, high = np.quantile(estimates, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


def evaluate(
    query_codes: CodeArray,
    database_codes: CodeArray,
    query_labels: Any = None,
    database_labels: Any = None,
    *,
    relevant: PairIndex | None = None,
    own: Any = None,
    gains: Any = None,
) -> Evaluation:
    """Evaluate retrieval with packed codes of queries and of database items.

    Parameters
    ----------
    query_codes, database_codes : uint8 arrays of shape (q, n_bytes), (n, n_bytes)
    query_labels, database_labels : arrays of shape (q,), (n,), or bool (q, n_labels), (n, n_labels)
        An item is relevant if it has the same label as the query, or at least one label in common with it.
    relevant : (i, j), optional
        Instead of labels: item ``j[p]`` is relevant to query ``i[p]``, and no other item is.
    own : int array of shape (q,), optional
        Database row that is the query itself; it is left out. -1 for a query that is not in the database.
    gains : {"shared", "exponential"}, or array of shape (n_pairs,), optional
        How much each relevant item is worth, for NDCG; by default 1. With labels: "shared" is the number g of labels
        that an item shares with the query, "exponential" is ``2**g - 1``. With relevant pairs: a number above
        0 for each pair, such as the weights of :class:`~diffhash.Pairs`. A repeated pair counts once, with its largest
        gain.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> codes = np.array([[0b0000], [0b0001], [0b1111]], dtype=np.uint8)
    >>> evaluate(codes, codes, [0, 0, 1], [0, 0, 1]).mean_average_precision
    1.0

    The nearer item shares one label with the query, the farther one shares two:

    >>> labels = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0]], dtype=bool)
    >>> found = evaluate(codes[:1], codes, labels[:1], labels, own=[0], gains="shared")
    >>> found.mean_average_precision, round(found.mean_ndcg, 3)
    (1.0, 0.86)
    """
    if relevant is not None:
        if query_labels is not None or database_labels is not None or own is not None:
            raise ParameterError(
                "evaluate: give labels or relevant pairs, not both. own can be used with labels only."
            )
        if gains is None:
            return Evaluation(pair_distance_table(query_codes, database_codes, relevant))
        if isinstance(gains, str):
            raise ParameterError(
                f"evaluate: gains={gains!r} is for labels. With relevant pairs give a number for each pair."
            )
        return Evaluation(*graded_pair_table(query_codes, database_codes, relevant, gains))
    if query_labels is None or database_labels is None:
        raise ParameterError(
            "evaluate: give the labels of the queries and of the database, or relevant pairs."
        )
    if gains is None:
        return Evaluation(distance_table(query_codes, database_codes, query_labels, database_labels, own=own))
    if not isinstance(gains, str):
        raise ParameterError(
            f"evaluate: with labels, gains must be one of {', '.join(map(repr, GAIN_RULES))}. Numbers are for "
            "relevant pairs."
        )
    return Evaluation(
        *graded_distance_table(query_codes, database_codes, query_labels, database_labels, gains, own=own)
    )


def mean_of(values: FloatArray) -> float:
    """Mean of the values that are not NaN; NaN if there are none."""
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if kept.size else float("nan")
