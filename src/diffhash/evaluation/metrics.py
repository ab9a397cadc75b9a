"""Measures of retrieval from counts of relevant and irrelevant items at every distance.

All take a table of shape (..., n_distances, 2) as :func:`~diffhash.evaluation.distance_table`
makes it. Items at one distance are tied, and ties are the rule in Hamming space; what depends on
their order is the *expectation* over all orders of tied items.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..types import FloatArray, IntArray

__all__ = [
    "average_precision",
    "equal_error_rate",
    "precision_recall_at",
    "precision_recall_curve",
    "roc_curve",
]


def average_precision(table: IntArray) -> FloatArray:
    r"""Average precision of every query, expected over the orders of tied items.

    Parameters
    ----------
    table : int array of shape (q, n_distances, 2)

    Returns
    -------
    array of shape (q,)
        NaN for a query without any relevant item.

    Notes
    -----
    Let a distance hold t items, r of them relevant, with T items and R relevant ones nearer. The
    item at place p of these t is relevant with probability r/t, and then R + 1 + (p - 1)(r - 1)/(t - 1)
    relevant ones are expected up to it. The sum over p of their ratio to T + p has a closed form in
    harmonic numbers :math:`H_n = \sum_{k \le n} 1/k`.

    Examples
    --------
    Two items at one distance, one of them relevant: either order is as likely.

    >>> average_precision(np.array([[[1, 1]]]))
    array([0.75])
    """
    relevant = table[..., 1].astype(np.float64)
    tied = table.sum(axis=-1)
    before = np.cumsum(tied, axis=-1) - tied
    relevant_before = np.cumsum(relevant, axis=-1) - relevant
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, tied.sum(axis=-1).max(initial=0) + 1))])
    inverse_places = harmonic[before + tied] - harmonic[before]
    size = np.maximum(tied, 1)
    slope = np.where(tied > 1, (relevant - 1) / np.maximum(tied - 1, 1), 0.0)
    gained = (relevant_before + 1) * inverse_places + slope * (tied - (before + 1) * inverse_places)
    total = relevant.sum(axis=-1)
    summed = (relevant / size * gained).sum(axis=-1)
    return np.asarray(np.divide(summed, total, out=np.full(total.shape, np.nan), where=total > 0))


def roc_curve(table: IntArray) -> tuple[FloatArray, FloatArray]:
    """Rates at which irrelevant and relevant items lie within each distance, all queries together.

    Returns
    -------
    false_positive, true_positive : arrays of shape (n_distances + 1,)
        From (0, 0), accepting nothing, to (1, 1).
    """
    counts = table.reshape(-1, *table.shape[-2:]).sum(axis=0)
    within = np.concatenate([np.zeros((1, 2)), np.cumsum(counts, axis=0)])
    rates = within / np.maximum(within[-1], 1)
    return rates[:, 0], rates[:, 1]


def equal_error_rate(false_positive: FloatArray, true_positive: FloatArray) -> float:
    """Error rate where false accepts equal false rejects.

    Parameters
    ----------
    false_positive, true_positive : arrays of shape (n_thresholds,)
        A ROC curve from (0, 0) to (1, 1), both non-decreasing.

    Notes
    -----
    Between two points of the curve the rates are interpolated linearly, as a Hamming distance
    takes only ``n_bits + 1`` values.

    Examples
    --------
    >>> equal_error_rate(np.array([0.0, 0.1, 1.0]), np.array([0.0, 0.9, 1.0]))
    0.1
    """
    excess = false_positive - (1 - true_positive)
    above = int(np.argmax(excess >= 0))
    if above == 0:
        return float(false_positive[0])
    low, high = excess[above - 1], excess[above]
    share = -low / (high - low)
    return float(false_positive[above - 1] + share * (false_positive[above] - false_positive[above - 1]))


def precision_recall_curve(table: IntArray) -> tuple[FloatArray, FloatArray]:
    """Precision and recall of the items within each distance, all queries together.

    Returns
    -------
    precision, recall : arrays of shape (n_distances,)
        Precision is 1 within distances that no item reaches.
    """
    counts = table.reshape(-1, *table.shape[-2:]).sum(axis=0)
    irrelevant, relevant = np.cumsum(counts, axis=0).T
    retrieved = irrelevant + relevant
    precision = np.where(retrieved > 0, relevant / np.maximum(retrieved, 1), 1.0)
    return precision, relevant / max(relevant[-1], 1)


def precision_recall_at(table: IntArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Precision and recall of the first ``k`` items of every query, expected over tied orders.

    Returns
    -------
    precision, recall : arrays of shape (q,)
        Recall is NaN for a query without any relevant item. With fewer than ``k`` items in the
        database precision is still a share of ``k``.

    Examples
    --------
    >>> precision_recall_at(np.array([[[1, 1], [0, 1]]]), k=1)
    (array([0.5]), array([0.25]))
    """
    tied = table.sum(axis=-1)
    before = np.cumsum(tied, axis=-1) - tied
    # Of the items at one distance, those that fit within k are a random choice among them.
    taken = np.clip(k - before, 0, tied)
    found = (table[..., 1] * (taken / np.maximum(tied, 1))).sum(axis=-1)
    total: NDArray[np.int64] = table[..., 1].sum(axis=-1)
    recall = np.divide(found, total, out=np.full(found.shape, np.nan), where=total > 0)
    return found / k, recall
