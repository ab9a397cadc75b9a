"""Sums, sums of squares and range of the columns of an array, in one pass over the memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..types import FloatArray
from . import dispatch

__all__ = ["ColumnMoments", "column_moments", "column_sums"]

#: The mean of so many first rows is near enough to the mean of all.
_FEW_ROWS = 256
#: Bytes that are copied at a time if rows are not contiguous in memory.
_COPIED_BYTES = 1 << 24


class ColumnMoments(NamedTuple):
    """What :func:`column_moments` finds, each an array of shape (n_columns,).

    Attributes
    ----------
    mean : float64 array
    squares : float64 array
        Sums of the squares of the deviations from the mean; infinite or NaN if they overflow in the dtype of the array.
    low, high : arrays in the dtype of the array
        Smallest and largest value.
    """

    mean: FloatArray
    squares: FloatArray
    low: NDArray[Any]
    high: NDArray[Any]

    @property
    def is_finite(self) -> bool:
        """Whether no square overflowed."""
        return bool(np.isfinite(self.squares).all())


def column_moments(X: NDArray[Any], *, kernel: str | None = None) -> ColumnMoments:
    """Mean, sums of squared deviations and range of each column.

    A few rows at a time are summed in the dtype of the array, after a vector near their mean was subtracted. This is
    faster than sums in float64, and nearly as exact.

    Parameters
    ----------
    X : float32 or float64 array of shape (n, n_columns), n at least 1
    kernel : str, optional
        As in :func:`top_k`.

    Examples
    --------
    >>> column_moments(np.array([[1.0], [2.0], [6.0]]))
    ColumnMoments(mean=array([3.]), squares=array([14.]), low=array([1.]), high=array([6.]))
    """
    X = _usual(X)
    n, d = X.shape
    total, squares, shift = np.zeros(d), np.zeros(d), _near_mean(X)
    low, high = X[0].copy(), X[0].copy()
    _run(X, shift, total, (squares, low, high), kernel)
    with np.errstate(over="ignore", invalid="ignore"):
        squares -= total**2 / n
        # Rounding could make it negative. NaN stays.
        squares = np.where(squares < 0, 0.0, squares)
        return ColumnMoments(shift + total / n, squares, low, high)


def column_sums(X: NDArray[Any], *, kernel: str | None = None) -> FloatArray:
    """Sum of each column in float64, computed as in :func:`column_moments`.

    Examples
    --------
    >>> column_sums(np.full((1000, 2), 1e4, dtype=np.float32))
    array([10000000., 10000000.])
    """
    X = _usual(X)
    total, shift = np.zeros(X.shape[1]), _near_mean(X)
    _run(X, shift, total, (None, None, None), kernel)
    return np.asarray(total + len(X) * shift.astype(np.float64))


def _usual(X: NDArray[Any]) -> NDArray[Any]:
    """The same numbers as float32 or float64 of this machine."""
    return X if X.dtype in (np.float32, np.float64) and X.dtype.isnative else X.astype(np.float64)


def _near_mean(X: NDArray[Any]) -> NDArray[Any]:
    """The mean of the first rows, in the dtype of the rows."""
    first = X[:_FEW_ROWS]
    return np.asarray(np.add.reduce(first, axis=0, dtype=np.float64) / max(len(first), 1)).astype(X.dtype)


def _run(
    X: NDArray[Any],
    shift: NDArray[Any],
    total: FloatArray,
    moments: tuple[FloatArray | None, NDArray[Any] | None, NDArray[Any] | None],
    kernel: str | None,
) -> None:
    backend, _ = dispatch.choose(kernel)
    run = backend.column_moments32 if X.dtype == np.float32 else backend.column_moments64
    step = len(X)
    if not X.flags.c_contiguous:
        # Whole groups of rows, so that they are summed as without copies.
        step = _FEW_ROWS * max(1, _COPIED_BYTES // (_FEW_ROWS * max(X[:1].nbytes, 1)))
    for start in range(0, len(X), max(step, 1)):
        run(np.ascontiguousarray(X[start : start + step]), shift, total, *moments)
