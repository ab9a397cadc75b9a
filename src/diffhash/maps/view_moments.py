"""Means and second moments of the rows of one view, summed in parts and merged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..types import FloatArray
from .mapped_view import block_rows

__all__ = ["ViewMoments", "column_sums"]

#: Rows that are summed together: few enough for the cache and for sums in float32.
_FEW_ROWS = 256


@dataclass
class ViewMoments:
    """Number, mean, second moments and range of the rows of a view; parts can be merged.

    Attributes
    ----------
    n_rows : float
        A whole number, unless rows were faded.
    mean : array of shape (n_features,)
    second : array of shape (n_features,) or (n_features, n_features)
        Sums of the squares, or of all products, of the deviations from the mean.
    low, high : arrays of shape (n_features,)
        Smallest and largest value of each feature.
    dtype : dtype of the rows; the widest of all parts

    Examples
    --------
    >>> parts = [ViewMoments.of(np.array(rows)) for rows in ([[0.0, 1.0]], [[2.0, 1.0], [4.0, 1.0]])]
    >>> whole = parts[0].merge(parts[1])
    >>> whole.n_rows, whole.mean, whole.variance.round(3)
    (3, array([2., 1.]), array([2.667, 0.   ]))
    """

    n_rows: float
    mean: FloatArray
    second: FloatArray
    low: FloatArray
    high: FloatArray
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, X: Any, *, full: bool = False) -> Self:
        """Moments of rows, dense or CSR.

        Parameters
        ----------
        X : array of shape (n, n_features)
        full : bool
            Whether to sum the products of all features, not only the squares.
        """
        n, d = X.shape
        if n == 0:
            zeros = np.zeros((d, d)) if full else np.zeros(d)
            return cls(0, np.zeros(d), zeros, np.full(d, np.inf), np.full(d, -np.inf), X.dtype)
        low, high = _extremes(X)
        if scipy.sparse.issparse(X):
            wide = X.astype(np.float64)
            mean = np.asarray(wide.sum(axis=0)).reshape(-1) / n
            if full:
                second = (wide.T @ wide).toarray() - n * np.outer(mean, mean)
            else:
                square = np.asarray(wide.multiply(wide).sum(axis=0)).reshape(-1)
                second = np.maximum(square - n * mean**2, 0.0)
            return cls(n, mean, second, low, high, X.dtype)
        if full:
            mean, second = column_sums(X) / n, np.zeros((d, d))
            for rows in block_rows(n, d):
                # Subtract the mean first: with a large mean the squares would lose precision.
                centred = X[rows] - mean.astype(X.dtype)
                second += centred.T @ centred
        else:
            mean, second = _mean_and_squares(X)
        return cls(n, mean, second, low, high, X.dtype)

    def merge(self, other: ViewMoments) -> Self:
        """Add the rows of another part."""
        total = self.n_rows + other.n_rows
        if not other.n_rows:
            return self
        step = other.mean - self.mean
        apart = np.outer(step, step) if self.second.ndim == 2 else step**2
        self.second = self.second + other.second + apart * (self.n_rows * other.n_rows / total)
        self.mean = self.mean + step * (other.n_rows / total)
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        self.n_rows, self.dtype = total, np.promote_types(self.dtype, other.dtype)
        return self

    def faded(self, factor: float) -> ViewMoments:
        """The same moments of fewer rows: every row counts ``factor``. The range stays."""
        return ViewMoments(
            self.n_rows * factor,
            self.mean,
            self.second * factor,
            self.low,
            self.high,
            self.dtype,
        )

    @property
    def variance(self) -> FloatArray:
        """Variance of each feature.

        It is 0 if the feature is constant, or if the dtype of the rows cannot hold the inverse of its standard
        deviation.
        """
        variance = (np.diagonal(self.second) if self.second.ndim == 2 else self.second) / (self.n_rows or 1)
        smallest = 1e3 * float(np.finfo(self.dtype).tiny)
        # The variance of a constant feature is 0, but rounding of its mean could make it positive.
        flat = (self.low == self.high) | (variance < smallest**2)
        return np.where(flat, 0.0, variance)

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the features, of shape (n_features, n_features); needs ``full``."""
        assert self.second.ndim == 2, "only the squares were summed"
        return self.second / self.n_rows

    @property
    def never_negative(self) -> bool:
        """Whether no feature is negative, so that all square roots exist."""
        return bool(self.low.min() >= 0)


def column_sums(X: NDArray[Any]) -> FloatArray:
    """Sums of the columns of a dense array, in float64.

    A few rows at a time are summed in the dtype of the array, after a vector near their mean was subtracted. This is
    faster than a sum in float64, and nearly as exact.

    Examples
    --------
    >>> column_sums(np.full((1000, 2), 1e4, dtype=np.float32))
    array([10000000., 10000000.])
    """
    total = np.zeros(X.shape[1])
    shift = _near_mean(X)
    for centred in _centred_parts(X, shift):
        total += np.add.reduce(centred, axis=0)
    return total + len(X) * shift.astype(np.float64)


def _mean_and_squares(X: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Mean of the columns, and the sums of the squares of the deviations from it, in one pass over the memory."""
    n, d = X.shape
    total, squares = np.zeros(d), np.zeros(d)
    shift = _near_mean(X)
    with np.errstate(over="ignore", invalid="ignore"):
        for centred in _centred_parts(X, shift):
            total += np.add.reduce(centred, axis=0)
            np.multiply(centred, centred, out=centred)
            squares += np.add.reduce(centred, axis=0)
    if X.dtype != np.float64 and not np.isfinite(squares).all():
        return _mean_and_squares(X.astype(np.float64))
    return shift + total / n, np.maximum(squares - total**2 / n, 0.0)


def _near_mean(X: NDArray[Any]) -> NDArray[Any]:
    """The mean of the first rows, in the dtype of the rows."""
    first = X[:_FEW_ROWS]
    return np.asarray(np.add.reduce(first, axis=0, dtype=np.float64) / max(len(first), 1)).astype(X.dtype)


def _centred_parts(X: NDArray[Any], shift: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """A few rows at a time minus a vector; the next ones overwrite them."""
    buffer = np.empty((min(len(X), _FEW_ROWS), X.shape[1]), X.dtype)
    for start in range(0, len(X), _FEW_ROWS):
        rows = X[start : start + _FEW_ROWS]
        yield np.subtract(rows, shift, out=buffer[: len(rows)])


def _extremes(X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Smallest and largest value of each feature, of dense or sparse rows."""
    if scipy.sparse.issparse(X):
        return X.min(axis=0).toarray().reshape(-1), X.max(axis=0).toarray().reshape(-1)
    low, high = X[0].copy(), X[0].copy()
    for start in range(0, len(X), _FEW_ROWS):
        # Both read the same rows, which stay in the cache.
        np.minimum(low, np.minimum.reduce(X[start : start + _FEW_ROWS], axis=0), out=low)
        np.maximum(high, np.maximum.reduce(X[start : start + _FEW_ROWS], axis=0), out=high)
    return low, high
