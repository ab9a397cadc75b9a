"""Affine feature maps: centre and standardise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from ..errors import InputError, ModelFileError
from ..types import FloatArray
from .feature_map import FeatureMap
from .view_moments import ViewMoments

__all__ = ["LARGEST_FOLDED_MEAN", "LinearMap", "inverse_root", "row_moments"]

#: Rows are projected without centring them first if no mean is larger than this, in standard deviations.
LARGEST_FOLDED_MEAN = 8.0
#: Rows that are mapped together.
_FEW_ROWS = 256


class LinearMap(FeatureMap):
    r"""The map :math:`x \mapsto A (x - \mu)`.

    Parameters
    ----------
    mean : array of shape (n_features,)
        :math:`\mu`; zeros for no centring.
    scale : array of shape (n_features,) or (n_features, n_features), or None
        :math:`A`, as a diagonal or a symmetric matrix; None for the identity. Models that were saved by
        older versions may have a matrix that whitens.

    Examples
    --------
    >>> X = np.array([[0.0, 10.0], [2.0, 30.0]])
    >>> LinearMap.fit(X, standardize=True).transform(X)
    array([[-1., -1.],
           [ 1.,  1.]])
    """

    kind = "linear"

    def __init__(self, mean: FloatArray, scale: FloatArray | None = None) -> None:
        self.mean = mean
        self.scale = scale
        self.n_features_in = self.n_features_out = len(mean)

    @classmethod
    def fit(
        cls,
        X: Any,
        *,
        center: bool = True,
        standardize: bool = False,
        who: str = "LinearMap.fit",
    ) -> Self:
        """Learn the map from the rows of one view.

        Parameters
        ----------
        X : array of shape (n, n_features), dense or CSR
        center : bool
            Subtract the mean of the rows.
        standardize : bool
            Divide each feature by its standard deviation. A constant feature is not scaled.
        who : str
            Prefix of error messages.
        """
        return cls.from_moments(ViewMoments.of(X), center=center, standardize=standardize, who=who)

    @classmethod
    def from_moments(cls, moments: ViewMoments, *, center: bool, standardize: bool, who: str) -> Self:
        """Learn the map from the moments of the rows; see :meth:`fit`."""
        variance = moments.variance
        varies = variance > 0
        if not varies.any():
            raise InputError(f"{who}: every feature is constant, so there is nothing to learn from.")
        scale: FloatArray | None = None
        if standardize:
            scale = 1.0 / np.sqrt(np.where(varies, variance, 1.0))
        return cls(moments.mean if center else np.zeros_like(moments.mean), scale)

    @property
    def offset(self) -> FloatArray | None:
        """The scaled mean, which is not subtracted from sparse rows. None if rows are whitened."""
        if self.scale is not None and self.scale.ndim == 2:
            return None
        return self.mean if self.scale is None else self.mean * self.scale

    def transform(self, X: Any) -> Any:
        """Centred and scaled rows. Sparse rows are not centred and stay sparse, unless they are whitened."""
        sparse = scipy.sparse.issparse(X)
        scale = None if self.scale is None else self.scale.astype(X.dtype, copy=False)
        if scale is not None and scale.ndim == 2:
            if sparse:
                return X @ scale - (self.mean @ scale).astype(X.dtype)
            return (X - self.mean.astype(X.dtype)) @ scale
        if sparse:
            return X if scale is None else (X @ scipy.sparse.diags_array(scale)).tocsr()
        # The mean is rounded to the dtype of the data; the difference is exact for values close to it.
        mean = self.mean.astype(X.dtype)
        if scale is None:
            return X - mean
        found = np.empty(X.shape, dtype=X.dtype)
        # Few rows at a time: they are scaled while they are in the cache.
        for start in range(0, len(X), _FEW_ROWS):
            rows = found[start : start + _FEW_ROWS]
            np.subtract(X[start : start + _FEW_ROWS], mean, out=rows)
            rows *= scale
        return found

    def prepared(
        self, projection: FloatArray
    ) -> tuple[Callable[[NDArray[Any]], NDArray[Any]], FloatArray, FloatArray]:
        """The weights scale, and the constants centre if means are small, in standard deviations."""
        weights, small = projection, not self.mean.any()
        if self.scale is not None and self.scale.ndim == 1:
            weights = projection * self.scale
            small = bool(np.abs(self.mean * self.scale).max() <= LARGEST_FOLDED_MEAN)
        elif self.scale is not None:
            weights = projection @ self.scale
        if small:
            return lambda X: X, weights, -weights @ self.mean
        return lambda X: X - self.mean.astype(X.dtype), weights, np.zeros(len(projection))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Plain parameters and arrays."""
        arrays = {"mean": self.mean}
        if self.scale is not None:
            arrays["scale"] = self.scale
        return {}, arrays

    @classmethod
    def from_state(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:  # noqa: ARG003 - the state has only arrays
        """Inverse of :meth:`state`."""
        mean, scale = arrays["mean"], arrays.get("scale")
        if mean.ndim != 1 or (scale is not None and scale.shape not in (mean.shape, mean.shape * 2)):
            raise ModelFileError(
                "load: the arrays of a linear map do not fit together. Save the model again."
            )
        return cls(mean, scale)


def row_moments(X: Any, *, full: bool = False) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Mean and variance of each feature over the rows, in float64; with ``full`` also the covariance.

    The variance of a feature is 0 if it is constant, or if the dtype of X cannot hold the inverse of
    its standard deviation.

    Returns
    -------
    mean, variance : arrays of shape (n_features,)
    covariance : array of shape (n_features, n_features), or None
    """
    moments = ViewMoments.of(X, full=full)
    return moments.mean, moments.variance, moments.covariance if full else None


def inverse_root(covariance: FloatArray, shrinkage: float) -> FloatArray:
    """Symmetric inverse square root of a covariance matrix, after shrinkage towards the average variance."""
    d = len(covariance)
    target = np.trace(covariance) / d
    values, vectors = scipy.linalg.eigh((1 - shrinkage) * covariance)
    values = np.maximum(values, 0.0) + shrinkage * target
    # Directions without variance become zero; the inverse root would be infinite.
    tiny = values <= np.finfo(np.float32).eps * values[-1]
    roots = np.where(tiny, 0.0, 1.0 / np.sqrt(np.where(tiny, 1.0, values)))
    return np.asarray((vectors * roots) @ vectors.T)
