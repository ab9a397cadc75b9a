"""Distances from sparse rows to sparse landmarks, without dense arrays of all features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse

from ..types import FloatArray

__all__ = ["SparseLandmarks", "signed_root"]

#: With fewer features than this, or a larger share of numbers that are not zero, dense products are as fast.
_MIN_FEATURES, _MAX_SHARE = 4096, 0.1
#: Largest ratio of squared lengths to the variance of the landmarks.
_MAX_CANCELLATION = 1e6


@dataclass(frozen=True)
class SparseLandmarks:
    """Landmarks that are mostly zero, after scaling by the metric, in float64.

    Rows are not centred, because they would be dense. In float64 this loses little, unless a feature is far from zero.

    Attributes
    ----------
    columns : CSR array of shape (n_features, n_landmarks)
        The scaled landmarks as columns.
    lengths : array of shape (n_landmarks,)
        Squared lengths of the landmarks.
    scale : array of shape (n_features,), or None
    root : bool
        Whether square roots of the features are compared.
    """

    columns: Any
    lengths: FloatArray
    scale: FloatArray | None
    root: bool

    @classmethod
    def of(cls, landmarks: FloatArray, scale: FloatArray | None, *, root: bool) -> Self | None:
        """From dense landmarks.

        None if they have few features or few zeros, if the metric mixes features, or if distances would be lost in
        rounding errors, because a feature is far from zero.
        """
        if landmarks.shape[1] < _MIN_FEATURES or (scale is not None and scale.ndim == 2):
            return None
        if np.count_nonzero(landmarks) > _MAX_SHARE * landmarks.size:
            return None
        points = _scaled_rows(scipy.sparse.csr_array(landmarks), scale, root=root)
        lengths = _squared_lengths(points)
        mean = np.asarray(points.sum(axis=0)).reshape(-1) / points.shape[0]
        if lengths.mean() > _MAX_CANCELLATION * abs(lengths.mean() - mean @ mean):
            return None
        return cls(points.T.tocsr(), lengths, scale, root)

    @property
    def largest(self) -> float:
        """The largest squared length."""
        return float(self.lengths.max())

    def squares(self, X: Any) -> FloatArray:
        """Squared distances of CSR rows to the landmarks, of shape (n, n_landmarks)."""
        return self._squares(_scaled_rows(X, self.scale, root=self.root))

    def own_squares(self) -> FloatArray:
        """Squared distances between the landmarks."""
        return self._squares(self.columns.T.tocsr())

    def _squares(self, rows: Any) -> FloatArray:
        products = (rows @ self.columns).toarray()
        return np.asarray(_squared_lengths(rows)[:, None] + self.lengths - 2.0 * products)


def signed_root(X: Any) -> Any:
    """Square roots that keep the sign: rows that are encoded later may have negative values."""
    return X.sign() * abs(X).sqrt() if scipy.sparse.issparse(X) else np.sign(X) * np.sqrt(np.abs(X))


def _scaled_rows(X: Any, scale: FloatArray | None, *, root: bool) -> Any:
    rows = (signed_root(X) if root else X).astype(np.float64)
    return rows if scale is None else (rows @ scipy.sparse.diags_array(scale)).tocsr()


def _squared_lengths(rows: Any) -> FloatArray:
    return np.asarray(rows.multiply(rows).sum(axis=1)).reshape(-1)
