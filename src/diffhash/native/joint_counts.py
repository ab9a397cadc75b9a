"""Joint histograms over pairs, which thresholds are chosen from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..types import FloatArray, IntArray, PairIndex
from . import dispatch

__all__ = ["joint_counts"]


def joint_counts(
    bins_x: IntArray,
    bins_y: IntArray,
    index: PairIndex,
    n_bins: int,
    weights: FloatArray | None = None,
    *,
    n_threads: int | None = None,
    kernel: str | None = None,
) -> NDArray[Any]:
    """Count pairs by the cell they fall into, for every bit.

    Parameters
    ----------
    bins_x, bins_y : int arrays of shape (n_bits, n), (n_bits, n')
        Interval of each object, below ``n_bins``.
    index : (i, j), row numbers of the pairs
    n_bins : int, at most 256
    weights : array with a number for each pair, optional
        Sum these instead of counting.
    n_threads, kernel : optional
        As in :func:`top_k`.

    Returns
    -------
    int64 (or float64, with weights) array of shape (n_bits, n_bins, n_bins)

    Examples
    --------
    >>> joint_counts(np.array([[0, 1]]), np.array([[1, 0]]), ([0, 1, 1], [0, 0, 1]), 2)
    array([[[0, 1],
            [1, 1]]])
    """
    caller = "joint_counts"
    x, y = (np.ascontiguousarray(bins, dtype=np.uint8) for bins in (bins_x, bins_y))
    i, j = (np.ascontiguousarray(rows, dtype=np.int64) for rows in index)
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y) or i.shape != j.shape or i.ndim != 1:
        raise InputError(
            f"{caller}: expected bins of shapes (n_bits, n) and (n_bits, n') and as many i as j, got bins "
            f"{x.shape} and {y.shape}, rows {i.shape} and {j.shape}."
        )
    if not 1 <= n_bins <= 256 or max(x.max(initial=0), y.max(initial=0)) >= n_bins:
        raise InputError(f"{caller}: bins must lie below n_bins={n_bins}, which is at most 256.")
    for rows, n in ((i, x.shape[1]), (j, y.shape[1])):
        if rows.size and not 0 <= rows.min() <= rows.max() < n:
            raise InputError(f"{caller}: a pair names a row outside 0 to {n - 1}.")
    summed = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    if summed is not None and summed.shape != i.shape:
        raise InputError(f"{caller}: {len(i)} pairs need as many weights, got shape {summed.shape}.")
    threads = dispatch.thread_count(n_threads, caller=caller)
    backend, _ = dispatch.choose(kernel)
    result = np.zeros((len(x), n_bins, n_bins), dtype=np.int64 if summed is None else np.float64)
    # A thread pays from some hundred thousand increments on.
    backend.joint_counts(x, y, i, j, summed, min(threads, 1 + len(x) * len(i) // 200_000), result)
    return result
