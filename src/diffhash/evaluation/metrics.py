"""Measures of retrieval from counts of relevant and irrelevant items at every distance.

All functions take a table of shape (..., n_distances, 2) as :func:`~diffhash.evaluation.distance_table`
returns it. Items at the same distance are tied, and ties are common in Hamming space. If a measure
depends on the order of tied items, its *expected value* over all orders is returned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..types import FloatArray, IntArray
from .gains import Gains

__all__ = [
    "average_precision",
    "equal_error_rate",
    "expected_hits",
    "ndcg",
    "precision_recall_at",
    "precision_recall_curve",
    "precision_recall_within",
    "roc_curve",
]

#: Size of a block: number of queries times number of distances.
_BLOCK_CELLS = 1 << 15


def average_precision(table: IntArray, at: int | None = None) -> FloatArray:
    r"""Average precision of every query: the expected value over all orders of tied items.

    Parameters
    ----------
    table : int array of shape (q, n_distances, 2)
    at : int, optional
        Count only the first ``at`` ranks. This is the truncated measure AP@R; its sum is
        divided by the number of relevant items or by ``at``, whichever is smaller.

    Returns
    -------
    array of shape (q,)
        NaN for a query without any relevant item.

    Notes
    -----
    Suppose that t items lie at one distance, r of them relevant, and that T items, R of them relevant, are
    nearer. The p-th of the t items is relevant with probability r/t. If it is, the expected number of
    relevant items up to it is R + 1 + (p - 1)(r - 1)/(t - 1). The sum over p of its ratio to T + p has a
    closed form in harmonic numbers :math:`H_n = \sum_{k \le n} 1/k`. With ``at`` the sum may end within
    the t items.

    Examples
    --------
    Two items at one distance, one of them relevant. Both orders are equally likely:

    >>> average_precision(np.array([[[1, 1]]]))
    array([0.75])
    >>> average_precision(np.array([[[1, 1]]]), at=1)
    array([0.5])
    """
    most = int(table.sum(axis=(-2, -1)).max(initial=0))
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, most + 1))])
    return _by_blocks(table, lambda block: _average_precision(block, harmonic, at))


def _by_blocks(table: IntArray, measure: Callable[[IntArray], FloatArray]) -> FloatArray:
    """Compute a measure of every query in blocks, so that intermediate arrays stay in the cache."""
    if table.ndim < 3:
        return measure(table)
    step = max(1, _BLOCK_CELLS // max(1, table.shape[-2]))
    blocks = [measure(table[start : start + step]) for start in range(0, len(table), step)]
    return np.concatenate(blocks) if blocks else np.empty(0)


def _average_precision(table: IntArray, harmonic: FloatArray, at: int | None) -> FloatArray:
    """See :func:`average_precision`. ``harmonic`` holds the harmonic numbers H_0, H_1, …, H_n for n items."""
    relevant = table[..., 1].astype(np.float64)
    # For two numbers, + is several times faster than a sum along the axis.
    tied = table[..., 0] + table[..., 1]
    before = np.cumsum(tied, axis=-1) - tied
    counted = tied if at is None else np.clip(at - before, 0, tied)
    relevant_before = np.cumsum(relevant, axis=-1) - relevant
    inverse_places = harmonic[before + counted] - harmonic[before]
    slope = np.where(tied > 1, (relevant - 1) / np.maximum(tied - 1, 1), 0.0)
    gained = (relevant_before + 1) * inverse_places + slope * (counted - (before + 1) * inverse_places)
    summed = (relevant / np.maximum(tied, 1) * gained).sum(axis=-1)
    total = relevant.sum(axis=-1)
    best = total if at is None else np.minimum(total, at)
    return np.asarray(np.divide(summed, best, out=np.full(total.shape, np.nan), where=total > 0))


def ndcg(table: IntArray, gains: Gains | None = None, at: int | None = None) -> FloatArray:
    r"""Normalised discounted cumulative gain of every query: the expected value over all orders of tied items.

    Parameters
    ----------
    table : int array of shape (q, n_distances, 2)
    gains : Gains, optional
        How much each relevant item is worth. By default every relevant item is worth 1.
    at : int, optional
        Count only the first ``at`` ranks, of the ranking and of the ideal ranking: NDCG@k.

    Returns
    -------
    array of shape (q,)
        NaN for a query without any relevant item.

    Notes
    -----
    The item at rank p contributes its gain divided by :math:`\log_2(1 + p)`. The sum is divided by that of the ideal
    ranking, which has the largest gains first. If t items lie at one distance and their gains sum to G, each of
    their ranks has the expected gain G/t. So their expected contribution is G/t times the sum of
    :math:`1 / \log_2(1 + p)` over their ranks, a difference of two prefix sums.

    Examples
    --------
    Two items at one distance, one of them relevant. It is first or second with equal chance:

    >>> ndcg(np.array([[[1, 1]]])).round(4)
    array([0.8155])
    >>> ndcg(np.array([[[1, 1]]]), at=1)
    array([0.5])
    """
    gains = Gains.binary(table) if gains is None else gains
    tied = table[..., 0] + table[..., 1]
    most = int(tied.sum(axis=1).max(initial=0))
    prefix = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(2, most + 2)))])
    last = most if at is None else min(at, most)
    places = np.cumsum(tied, axis=1)
    discount = prefix[np.minimum(places, last)] - prefix[np.minimum(places - tied, last)]
    found = (gains.at_distance * discount / np.maximum(tied, 1)).sum(axis=1)
    queries = np.repeat(np.arange(len(table)), np.diff(gains.starts))
    totals = np.concatenate([[0], np.cumsum(gains.counts)])
    places = totals[1:] - np.repeat(totals[gains.starts[:-1]], np.diff(gains.starts))
    discount = prefix[np.minimum(places, last)] - prefix[np.minimum(places - gains.counts, last)]
    ideal = np.bincount(queries, gains.values * discount, minlength=len(table))
    return np.asarray(np.divide(found, ideal, out=np.full(len(table), np.nan), where=ideal > 0))


def roc_curve(table: IntArray | FloatArray, *, pooled: bool = True) -> tuple[FloatArray, FloatArray]:
    """Compute the share of irrelevant and of relevant items within each distance.

    Parameters
    ----------
    table : array of shape (q, n_distances, 2)
    pooled : bool
        Return one curve for all queries together; otherwise one for each query.

    Returns
    -------
    false_positive, true_positive : arrays of shape (n_distances + 1,) or (q, n_distances + 1)
        From (0, 0), where no item is accepted, to (1, 1).
    """
    counts = table.reshape(-1, *table.shape[-2:]).sum(axis=0) if pooled else table
    within = np.cumsum(counts, axis=-2)
    within = np.concatenate([np.zeros_like(within[..., :1, :]), within], axis=-2)
    rates = within / np.maximum(within[..., -1:, :], 1)
    return rates[..., 0], rates[..., 1]


def equal_error_rate(false_positive: FloatArray, true_positive: FloatArray) -> float:
    """Error rate where false accepts equal false rejects.

    Parameters
    ----------
    false_positive, true_positive : arrays of shape (n_thresholds,)
        A ROC curve from (0, 0) to (1, 1), both non-decreasing.

    Notes
    -----
    Between two points of the curve the rates are interpolated linearly, because a Hamming distance
    takes only ``n_bits + 1`` values. The result is NaN if no item or every item is relevant.

    Examples
    --------
    >>> equal_error_rate(np.array([0.0, 0.1, 1.0]), np.array([0.0, 0.9, 1.0]))
    0.1
    """
    if true_positive[-1] == 0 or false_positive[-1] == 0:
        return float("nan")
    above, share = equal_error_point(false_positive, true_positive)
    low, high = false_positive[max(above - 1, 0)], false_positive[above]
    return float(low + share * (high - low))


def equal_error_point(false_positive: FloatArray, true_positive: FloatArray) -> tuple[int, float]:
    """Find where both errors of a ROC curve are equal.

    Returns
    -------
    (int, float)
        The first point of the curve after the crossing, and the fraction of the way to it from the point before.
    """
    excess = false_positive - (1 - true_positive)
    above = int(np.argmax(excess >= 0))
    if above == 0:
        return 0, 1.0
    low, high = excess[above - 1], excess[above]
    return above, float(-low / (high - low))


def precision_recall_curve(table: IntArray) -> tuple[FloatArray, FloatArray]:
    """Compute precision and recall of the items within each distance, for all queries together.

    Returns
    -------
    precision, recall : arrays of shape (n_distances,)
        Precision is 1 if no item lies within the distance.
    """
    counts = table.reshape(-1, *table.shape[-2:]).sum(axis=0)
    irrelevant, relevant = np.cumsum(counts, axis=0).T
    retrieved = irrelevant + relevant
    precision = np.where(retrieved > 0, relevant / np.maximum(retrieved, 1), 1.0)
    return precision, relevant / max(relevant[-1], 1)


def expected_hits(table: IntArray, k: int) -> FloatArray:
    """Expected number of relevant items among the first ``k`` of every query, over all orders of ties.

    Examples
    --------
    >>> expected_hits(np.array([[[1, 1], [0, 1]]]), k=1)
    array([0.5])
    """
    return _by_blocks(table, lambda block: _expected_hits(block, k))


def _expected_hits(table: IntArray, k: int) -> FloatArray:
    tied = table[..., 0] + table[..., 1]
    before = np.cumsum(tied, axis=-1) - tied
    # If only some of the items at one distance fit within k, they are a random choice.
    taken = np.clip(k - before, 0, tied)
    return np.asarray((table[..., 1] * (taken / np.maximum(tied, 1))).sum(axis=-1))


def precision_recall_at(table: IntArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Precision and recall of the first ``k`` items of every query: expected values over all orders of ties.

    Returns
    -------
    precision, recall : arrays of shape (q,)
        NaN for a query without any relevant item. Precision is always divided by ``k``, even if the
        database has fewer items.

    Examples
    --------
    >>> precision_recall_at(np.array([[[1, 1], [0, 1]]]), k=1)
    (array([0.5]), array([0.25]))
    """
    return shares_of(expected_hits(table, k), np.full(table.shape[:-2], k), table[..., 1].sum(axis=-1))


def precision_recall_within(table: IntArray, radius: int) -> tuple[FloatArray, FloatArray]:
    """Precision and recall of all items within a distance from each query.

    Returns
    -------
    precision, recall : arrays of shape (q,)
        NaN for a query without any relevant item. Precision is 0 if no item is found.
    """
    found = table[..., : radius + 1, :].sum(axis=-2)
    return shares_of(found[..., 1], found.sum(axis=-1), table[..., 1].sum(axis=-1))


def shares_of(
    hits: NDArray[np.generic], retrieved: IntArray, relevant: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Precision and recall from counts; NaN if nothing is relevant."""
    nothing = relevant == 0
    precision = np.where(nothing, np.nan, hits / np.maximum(retrieved, 1))
    return precision, np.where(nothing, np.nan, hits / np.maximum(relevant, 1))
