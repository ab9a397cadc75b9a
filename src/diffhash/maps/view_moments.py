"""Means and second moments of the rows of one view, summed in parts and merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..native.column_moments import ColumnMoments, column_moments
from ..types import FloatArray
from .mapped_view import block_rows

__all__ = ["ViewMoments"]


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
        if scipy.sparse.issparse(X):
            low, high = (side.toarray().reshape(-1) for side in (X.min(axis=0), X.max(axis=0)))
            wide = X.astype(np.float64)
            mean = np.asarray(wide.sum(axis=0)).reshape(-1) / n
            if full:
                second = (wide.T @ wide).toarray() - n * np.outer(mean, mean)
            else:
                square = np.asarray(wide.multiply(wide).sum(axis=0)).reshape(-1)
                second = np.maximum(square - n * mean**2, 0.0)
            return cls(n, mean, second, low, high, X.dtype)
        found = _moments_of_columns(X)
        second = found.squares
        if full:
            second = np.zeros((d, d))
            for rows in block_rows(n, d):
                # Subtract the mean first: with a large mean the squares would lose precision.
                centred = X[rows] - found.mean.astype(X.dtype)
                second += centred.T @ centred
        return cls(n, found.mean, second, found.low, found.high, X.dtype)

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


def _moments_of_columns(X: NDArray[Any]) -> ColumnMoments:
    found = column_moments(X)
    if X.dtype != np.float64 and not found.is_finite:
        wide = column_moments(X.astype(np.float64))
        return found._replace(mean=wide.mean, squares=wide.squares)
    return found
