"""Joint histograms over pairs. Thresholds are chosen from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..threads import thread_count
from ..types import FloatArray, IntArray, PairIndex
from ..validation import as_array, check_count
from . import dispatch
from .argument_checks import check_numbers
from .keyword_only import keyword_only

__all__ = ["joint_counts"]


@keyword_only("joint_counts(bins_x=..., bins_y=..., index=(i, j), n_bins=...)")
def joint_counts(
    *,
    bins_x: IntArray,
    bins_y: IntArray,
    index: PairIndex,
    n_bins: int,
    weights: FloatArray | None = None,
    n_threads: int | None = None,
    kernel: str | None = None,
) -> NDArray[Any]:
    """Count the pairs in each cell of a joint histogram, for every bit.

    All arguments are given by name.

    Parameters
    ----------
    bins_x, bins_y : int arrays of shape (n_bits, n), (n_bits, n')
        Number of each object's bin, less than ``n_bins``.
    index : (i, j), row numbers of the pairs
    n_bins : int, at most 256
    weights : array of shape (n_pairs,), optional
        Sum these weights instead of counting the pairs.
    n_threads, kernel : optional
        As in :func:`top_k`.

    Returns
    -------
    int64 (or float64, with weights) array of shape (n_bits, n_bins, n_bins)

    Examples
    --------
    >>> x, y = np.array([[0, 1]]), np.array([[1, 0]])
    >>> joint_counts(bins_x=x, bins_y=y, index=([0, 1, 1], [0, 0, 1]), n_bins=2)
    array([[[0, 1],
            [1, 1]]])
    """
    caller = "joint_counts"
    x = check_numbers(bins_x, caller=caller, name="bins_x", kinds="iub")
    y = check_numbers(bins_y, caller=caller, name="bins_y", kinds="iub")
    n_bins = check_count(n_bins, "n_bins", caller=caller)
    i, j = _rows(index, caller)
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y) or i.shape != j.shape or i.ndim != 1:
        raise InputError(
            f"{caller}: expected bins of shapes (n_bits, n) and (n_bits, n') and as many i as j, got bins "
            f"{x.shape} and {y.shape}, rows {i.shape} and {j.shape}."
        )
    low, high = min(x.min(initial=0), y.min(initial=0)), max(x.max(initial=0), y.max(initial=0))
    if n_bins > 256 or low < 0 or high >= n_bins:
        raise InputError(
            f"{caller}: bins must not be negative and must lie below n_bins={n_bins}, which is at most 256."
        )
    for rows, n in ((i, x.shape[1]), (j, y.shape[1])):
        if rows.size and not 0 <= rows.min() <= rows.max() < n:
            raise InputError(f"{caller}: a pair names a row outside 0 to {n - 1}.")
    summed = None
    if weights is not None:
        summed = np.ascontiguousarray(check_numbers(weights, caller=caller, name="weights"), dtype=np.float64)
    if summed is not None and summed.shape != i.shape:
        raise InputError(f"{caller}: {len(i)} pairs need as many weights, got shape {summed.shape}.")
    x, y = (np.ascontiguousarray(bins, dtype=np.uint8) for bins in (x, y))
    threads = thread_count(n_threads, caller=caller)
    backend, _ = dispatch.choose(kernel)
    result = np.zeros((len(x), n_bins, n_bins), dtype=np.int64 if summed is None else np.float64)
    # One more thread for every 200,000 increments: with fewer it is not faster.
    backend.joint_counts(x, y, i, j, summed, min(threads, 1 + len(x) * len(i) // 200_000), result)
    return result


def _rows(index: Any, caller: str) -> list[NDArray[np.int64]]:
    """Both row numbers of the pairs."""
    couple = index if isinstance(index, Sequence) else np.atleast_1d(as_array(index, f"{caller}: index"))
    if len(couple) != 2:
        raise InputError(f"{caller}: index must be two arrays of row numbers, (i, j).")
    parts = [check_numbers(rows, caller=caller, name="index", kinds="iu") for rows in couple]
    return [np.ascontiguousarray(rows, dtype=np.int64) for rows in parts]
