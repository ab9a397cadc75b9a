"""Smallest and largest value in each interval of a grid."""

from __future__ import annotations

import numpy as np

from ..types import FloatArray, IntArray

__all__ = ["bin_extremes"]


def bin_extremes(values: FloatArray, bins: IntArray, n_bins: int) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value in each interval, for every bit.

    Parameters
    ----------
    values : array of shape (n, n_bits)
    bins : uint8 array of shape (n_bits, n)
        Interval of each value.
    n_bins : int, at most 256

    Returns
    -------
    low, high : float64 arrays of shape (n_bits, n_bins)
        Infinity and minus infinity in intervals without values.

    Examples
    --------
    >>> low, high = bin_extremes(np.array([[1.0], [3.0], [2.0]]), np.array([[0, 1, 0]], dtype=np.uint8), 3)
    >>> low, high
    (array([[ 1.,  3., inf]]), array([[  2.,   3., -inf]]))
    """
    low = np.full((len(bins), n_bins), np.inf)
    high = np.full((len(bins), n_bins), -np.inf)
    for bit, row in enumerate(bins):
        # Sorting small integers is a radix sort, and sorted intervals are reduced one after another.
        order = np.argsort(row, kind="stable")
        starts = np.searchsorted(row[order], np.arange(n_bins))
        present = np.flatnonzero(np.bincount(row, minlength=n_bins))
        column = values[order, bit]
        low[bit, present] = np.minimum.reduceat(column, starts[present])
        high[bit, present] = np.maximum.reduceat(column, starts[present])
    return low, high
