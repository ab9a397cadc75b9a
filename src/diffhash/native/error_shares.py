"""Errors of a bit at every pair of thresholds, from joint counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import dispatch

__all__ = ["error_shares"]


def error_shares(
    positive: NDArray[Any], negative: NDArray[Any], miss_weight: float, *, kernel: str | None = None
) -> NDArray[np.float64]:
    """``miss_weight * FN + FP`` for every bit and every pair of thresholds.

    FN is the share of the positives whose two bits differ, FP the share of the negatives whose two bits are equal.
    Both are 0 if there are no pairs.

    Parameters
    ----------
    positive, negative : int or float arrays of shape (n_bits, n_bins, n_bins)
        Number, or weight, of the pairs in each cell.
    miss_weight : float
    kernel : str, optional
        As in :func:`top_k`.

    Returns
    -------
    array of shape (n_bits, n_bins - 1, n_bins - 1)
        Entry (u, v): the thresholds lie between intervals u and u + 1 of x, and v and v + 1 of y.

    Examples
    --------
    >>> positive, negative = np.array([[[5, 1], [2, 2]]]), np.array([[[1, 3], [4, 0]]])
    >>> error_shares(positive, negative, 1.0)
    array([[[0.425]]])
    """
    whole = all(counts.dtype.kind in "iu" for counts in (positive, negative))
    counts = [
        np.ascontiguousarray(each, dtype=np.int64 if whole else np.float64) for each in (positive, negative)
    ]
    n_bits, n_bins = positive.shape[:2]
    costs = np.empty((n_bits, n_bins - 1, n_bins - 1))
    backend, _ = dispatch.choose(kernel)
    run = backend.error_shares_int if whole else backend.error_shares_float
    run(*counts, float(miss_weight), costs)
    return costs
