"""Intervals of values on grids, and the smallest and largest value of each interval."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..threads import thread_count
from ..types import FloatArray, IntArray
from . import dispatch

__all__ = ["bin_columns", "bin_extremes", "count_bins"]


def bin_columns(
    values: FloatArray,
    first: FloatArray,
    inverse: FloatArray,
    n_bins: int,
    *,
    n_own: int | None = None,
    extremes: bool = False,
    n_threads: int | None = None,
    kernel: str | None = None,
) -> tuple[NDArray[np.uint8], FloatArray | None, FloatArray | None]:
    """Interval of each value between evenly spaced edges, for every column.

    Parameters
    ----------
    values : float32 or float64 array of shape (n, n_bits)
    first, inverse : arrays of shape (n_bits,)
        The first edge, and one divided by the distance of the edges.
    n_bins : int, at most 256
    n_own : int, optional
        Extremes are those of so many first rows; of all by default.
    extremes : bool
        Whether the smallest and largest value of each interval are wanted.
    n_threads, kernel : optional
        As in :func:`top_k`.

    Returns
    -------
    bins : uint8 array of shape (n_bits, n)
        Number of edges that are not above each value. Values very close to an edge may be off by one.
    low, high : float64 arrays of shape (n_bits, n_bins), or None
        Infinity and minus infinity in intervals without values.

    Examples
    --------
    >>> values = np.array([[0.5], [3.0], [1.5]])
    >>> bin_columns(values, np.array([1.0]), np.array([1.0]), 3, extremes=True)
    (array([[0, 2, 1]], dtype=uint8), array([[0.5, 1.5, 3. ]]), array([[0.5, 1.5, 3. ]]))
    """
    values = np.ascontiguousarray(values)
    n, n_bits = values.shape
    bins = np.empty((n_bits, n), dtype=np.uint8)
    low = np.full((n_bits, n_bins), np.inf) if extremes else None
    high = np.full((n_bits, n_bins), -np.inf) if extremes else None
    backend, _ = dispatch.choose(kernel)
    run = backend.bin32 if values.dtype == np.float32 else backend.bin64
    grid = (np.ascontiguousarray(side, dtype=values.dtype) for side in (first, inverse))
    threads = thread_count(n_threads, caller="bin_columns")
    run(values, *grid, n_bins, n if n_own is None else n_own, threads, bins, low, high)
    return bins, low, high


def bin_extremes(values: FloatArray, bins: IntArray, n_bins: int) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each interval, from the intervals of the values.

    Parameters
    ----------
    values : array of shape (n, n_bits)
    bins : uint8 array of shape (n_bits, n)
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
        order: NDArray[Any] = np.argsort(row, kind="stable")
        starts = np.searchsorted(row[order], np.arange(n_bins))
        present = np.flatnonzero(np.bincount(row, minlength=n_bins))
        column = values[order, bit]
        low[bit, present] = np.minimum.reduceat(column, starts[present])
        high[bit, present] = np.maximum.reduceat(column, starts[present])
    return low, high


def count_bins(
    bins: IntArray, n_bins: int, *, n_own: int | None = None, kernel: str | None = None
) -> NDArray[np.int64]:
    """Number of values in each interval, of shape (n_bits, n_bins).

    Parameters
    ----------
    bins : int array of shape (n_bits, n)
        Interval of each value, below ``n_bins``.
    n_bins : int, at most 256
    n_own : int, optional
        Count so many first values of each bit; all by default.
    kernel : str, optional
        As in :func:`top_k`.

    Examples
    --------
    >>> count_bins(np.array([[0, 2, 0, 1]], dtype=np.uint8), 3, n_own=3)
    array([[2, 0, 1]])
    """
    if not 1 <= n_bins <= 256 or bins.min(initial=0) < 0 or bins.max(initial=0) >= n_bins:
        raise InputError(
            f"count_bins: bins must not be negative and must lie below n_bins={n_bins}, which is at most 256."
        )
    counts = np.zeros((len(bins), n_bins), dtype=np.int64)
    backend, _ = dispatch.choose(kernel)
    backend.count_bins(
        np.ascontiguousarray(bins, dtype=np.uint8), bins.shape[1] if n_own is None else n_own, counts
    )
    return counts
