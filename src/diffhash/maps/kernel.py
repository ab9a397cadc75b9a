"""Kernel features: similarities to a set of landmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..errors import InputError, ModelFileError, ParameterError
from ..types import FloatArray
from ..validation import check_choice
from .feature_map import FeatureMap
from .linear import inverse_root
from .mapped_view import block_rows
from .own_distance import Distance, own_distances
from .sparse_landmarks import SparseLandmarks, signed_root
from .view_moments import ViewMoments

__all__ = ["Kernel", "KernelMap", "gaussian_kernel", "landmark_bandwidth", "never_negative"]

#: A kernel function of the user: ``kernel(X, landmarks)`` returns (n, n_landmarks).
Kernel: TypeAlias = Callable[[Any, FloatArray], FloatArray]
#: Blocks of rows are this many times smaller than those of :func:`block_rows`, 1 MB of float32.
_CACHED_COLUMNS = 16


class KernelMap(FeatureMap):
    r"""The map :math:`x \mapsto (k(x_1, x), \dots, k(x_l, x))` onto landmarks :math:`x_1, \dots, x_l`.

    The Gaussian kernel is :math:`k(x, x') = \exp(-d^2(x, x') / h)` with a Euclidean or Mahalanobis
    distance :math:`d^2(x, x') = \|A (x - x')\|^2`, or a distance of the user, and a bandwidth :math:`h`.

    Parameters
    ----------
    landmarks : array of shape (n_landmarks, n_features)
    scale : array of shape (n_features,) or (n_features, n_features), or None
        :math:`A`, as a diagonal or a symmetric matrix; None for the Euclidean distance.
    bandwidth : float
        :math:`h`, in units of :math:`d^2`.
    mean : array of shape (n_landmarks,), or None
        Mean of the kernel features. It is subtracted if it is given.
    kernel : callable, optional
        ``kernel(X, landmarks)``, used instead of the Gaussian kernel.
    root : bool
        Compare the square roots of the features (Hellinger distance, for histograms).
    distance : callable, optional
        ``distance(X, landmarks)``, used in the Gaussian kernel instead of the distance above.
    """

    kind = "kernel"

    def __init__(
        self,
        landmarks: FloatArray,
        scale: FloatArray | None = None,
        bandwidth: float = 1.0,
        mean: FloatArray | None = None,
        kernel: Kernel | None = None,
        root: bool = False,
        distance: Distance | None = None,
    ) -> None:
        self.landmarks = landmarks
        self.scale = scale
        self.bandwidth = bandwidth
        self.mean = mean
        self.kernel = kernel
        self.root = root
        self.distance = distance
        self.n_features_out, self.n_features_in = landmarks.shape
        self._weights: dict[tuple[np.dtype[Any], float], FloatArray] = {}

    @cached_property
    def _landmark_mean(self) -> FloatArray:
        """Distances are computed after subtracting the mean of the landmarks, to avoid cancellation."""
        points = signed_root(self.landmarks) if self.root else self.landmarks
        return np.asarray(points.mean(axis=0, dtype=np.float64))

    @cached_property
    def _scaled_landmarks(self) -> FloatArray:
        points = signed_root(self.landmarks) if self.root else self.landmarks
        return _scaled(points - self._landmark_mean, self.scale)

    @cached_property
    def _sparse_landmarks(self) -> SparseLandmarks | None:
        """For sparse rows with very many features, if the landmarks are sparse too."""
        return SparseLandmarks.of(self.landmarks, self.scale, root=self.root)

    @classmethod
    def fit(
        cls,
        X: Any,
        landmarks: FloatArray,
        *,
        metric: str | Distance = "diagonal",
        bandwidth: float | str = "balanced",
        width: float | None = None,
        shrinkage: float = 0.01,
        center: bool = False,
        kernel: Kernel | None = None,
        who: str = "KernelMap.fit",
    ) -> Self:
        """Learn the distance, the bandwidth and (with ``center``) the mean from the rows of one view.

        Parameters
        ----------
        X : array of shape (n, n_features), dense or CSR
        landmarks : array of shape (n_landmarks, n_features)
        metric : {"euclidean", "diagonal", "mahalanobis", "hellinger"} or callable
            "diagonal": Euclidean after dividing each feature by its standard deviation. "mahalanobis":
            with the inverse of the full covariance matrix. "hellinger": Euclidean between the square
            roots of the features; for features that are never negative, such as histograms. A function
            ``metric(X, landmarks)`` returns distances of shape (n, n_landmarks).
        bandwidth : float, "balanced" or "median"
            In units of :math:`d^2`; for the two rules see :func:`landmark_bandwidth`.
        width : float, optional
            If given, the bandwidth is this factor times the median squared distance between landmarks, and
            ``bandwidth`` is ignored.
        shrinkage : float in [0, 1]
            Shrinkage of the covariance for "mahalanobis".
        center : bool
            Subtract the mean of the kernel features.
        kernel : callable, optional
            Used instead of the Gaussian kernel; ``metric`` and ``bandwidth`` are then ignored.
        who : str
            Prefix of error messages.
        """
        moments = None
        if kernel is None and isinstance(metric, str) and metric != "euclidean":
            moments = ViewMoments.of(X, full=metric == "mahalanobis")
        fitted = cls.from_moments(
            moments,
            landmarks,
            metric=metric,
            bandwidth=bandwidth,
            width=width,
            shrinkage=shrinkage,
            kernel=kernel,
            who=who,
        )
        if center:
            total = np.zeros(len(landmarks))
            for rows in block_rows(X.shape[0], max(landmarks.shape)):
                total += fitted.transform(X[rows]).sum(axis=0, dtype=np.float64)
            fitted.mean = total / X.shape[0]
        return fitted

    @classmethod
    def from_moments(
        cls,
        moments: ViewMoments | None,
        landmarks: FloatArray,
        *,
        metric: str | Distance,
        bandwidth: float | str,
        width: float | None,
        shrinkage: float,
        kernel: Kernel | None,
        who: str,
    ) -> Self:
        """Learn a map that does not centre from the moments of the rows; see :meth:`fit`.

        The moments may be None with a function of the user and with the metric "euclidean"; "mahalanobis" needs
        them in full.
        """
        landmarks = np.ascontiguousarray(landmarks)
        if kernel is not None:
            return cls(landmarks, None, 1.0, None, kernel, False)
        rule = None
        if width is not None or isinstance(bandwidth, str):
            rule = str(bandwidth) if width is None else "median"
        factor = 1.0 if width is None else width
        if not isinstance(metric, str):
            h = float(bandwidth) if rule is None else factor * _own_bandwidth(metric, landmarks, rule, who)
            return cls(landmarks, None, h, None, None, False, metric)
        root = metric == "hellinger"
        if root and not (moments is not None and moments.never_negative):
            raise InputError(
                f"{who}: metric 'hellinger' needs features that are never negative, but there are negative "
                "values. Use 'diagonal' or 'euclidean'."
            )
        scale = _metric_scale(moments, metric, shrinkage, who)
        if rule is None:
            h = float(bandwidth)
        else:
            sparse = SparseLandmarks.of(landmarks, scale, root=root)
            if sparse is not None:
                h = factor * _bandwidth(sparse.own_squares(), sparse.largest, rule, who)
            else:
                points = signed_root(landmarks) if root else landmarks
                h = factor * landmark_bandwidth(_scaled(points, scale), rule, who=who)
            fitted = cls(landmarks, scale, h, None, None, root)
            # A cached property, which is known already.
            fitted.__dict__["_sparse_landmarks"] = sparse
            return fitted
        return cls(landmarks, scale, h, None, None, root)

    def transform(self, X: Any) -> FloatArray:
        """Kernel values of shape (n, n_landmarks), minus the mean if the map has one."""
        values = self._similarities(X)
        if self.mean is not None:
            values -= self.mean.astype(values.dtype)
        return values

    def prepared(
        self, projection: FloatArray
    ) -> tuple[Callable[[NDArray[Any]], NDArray[Any]], FloatArray, FloatArray]:
        """The function does not centre; the constants do."""
        constant = np.zeros(len(projection)) if self.mean is None else -projection @ self.mean
        return self._similarities, projection, constant

    def _similarities(self, X: Any) -> FloatArray:
        """Kernel values without centring."""
        if self.kernel is not None:
            # A copy: the function may return an array that it keeps, or its argument.
            values = np.array(self.kernel(X, self.landmarks))
            if values.shape != (X.shape[0], self.n_features_out) or values.dtype.kind != "f":
                raise ParameterError(
                    f"KernelMap: the kernel function must return floats of shape "
                    f"{(X.shape[0], self.n_features_out)}, got {values.dtype} of shape {values.shape}."
                )
            if not np.isfinite(values).all():
                raise ParameterError("KernelMap: the kernel function returned NaN or infinity.")
        elif self.distance is not None:
            squares = own_distances(self.distance, X, self.landmarks, who="KernelMap") ** 2
            values = np.exp(squares / -self.bandwidth).astype(X.dtype)
        elif scipy.sparse.issparse(X) and self._sparse_landmarks is not None:
            squares = self._sparse_landmarks.squares(X)
            values = np.exp(np.minimum(squares / -self.bandwidth, 0.0)).astype(X.dtype)
        else:
            rows = _scaled(_centred(signed_root(X) if self.root else X, self._landmark_mean), self.scale)
            key = X.dtype, self.bandwidth
            weights = self._weights.get(key)
            if weights is None:
                weights = _kernel_weights(self._scaled_landmarks.astype(X.dtype), self.bandwidth)
                self._weights = {key: weights}
            return _kernel_values(rows, weights, self.bandwidth)
        return values

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Plain parameters and arrays."""
        arrays = {"landmarks": self.landmarks}
        if self.scale is not None:
            arrays["scale"] = self.scale
        if self.mean is not None:
            arrays["mean"] = self.mean
        parameters = {"bandwidth": self.bandwidth, "own_kernel": self.own_function is not None}
        if self.root:
            parameters["root"] = True
        if self.distance is not None:
            parameters["own_distance"] = True
        return parameters, arrays

    @property
    def own_function(self) -> Callable[..., Any] | None:
        """The kernel or distance function of the user, which a file cannot hold; None if there is none."""
        return self.distance if self.kernel is None else self.kernel

    @classmethod
    def from_state(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Inverse of :meth:`state`."""
        function, by_distance = parameters.get("kernel"), parameters.get("own_distance", False)
        if parameters["own_kernel"] and function is None:
            raise ModelFileError(
                f"load: this model was fitted with a {'distance' if by_distance else 'kernel'} function of your own, "
                "which is not saved in the file. Pass it again: diffhash.load(path, kernel=...)."
            )
        landmarks, scale, mean = arrays["landmarks"], arrays.get("scale"), arrays.get("mean")
        bandwidth, root = parameters["bandwidth"], parameters.get("root", False)
        d = landmarks.shape[-1]
        if (
            landmarks.ndim != 2
            or not landmarks.size
            or not isinstance(bandwidth, float)
            or not isinstance(root, bool)
            or not isinstance(by_distance, bool)
            or (by_distance and not parameters["own_kernel"])
            or not 0 < bandwidth < np.inf
            or (scale is not None and scale.shape not in ((d,), (d, d)))
            or (mean is not None and mean.shape != (len(landmarks),))
        ):
            raise ModelFileError(
                "load: the arrays of a kernel map do not fit together. Save the model again."
            )
        kernel, distance = (None, function) if by_distance else (function, None)
        return cls(landmarks, scale, bandwidth, mean, kernel, root, distance)


def gaussian_kernel(X: FloatArray, landmarks: FloatArray, bandwidth: float) -> FloatArray:
    r"""Values :math:`\exp(-\|x - x_j\|^2 / h)` of shape (n, n_landmarks), with one matrix product.

    Examples
    --------
    >>> gaussian_kernel(np.array([[0.0], [1.0]]), np.array([[0.0]]), bandwidth=1.0).round(3)
    array([[1.   ],
           [0.368]])
    """
    return _kernel_values(X, _kernel_weights(landmarks, bandwidth), bandwidth)


def _kernel_weights(landmarks: FloatArray, bandwidth: float) -> FloatArray:
    """The matrix by which rows are multiplied to get exponents, of shape (n_features + 2, n_landmarks).

    The exponent is ``(2 x.l - |x|^2 - |l|^2) / h``. It is a product of ``(x, |x|^2 / h, 1)`` and
    ``(2 l / h, -1, -|l|^2 / h)``.
    """
    squares = np.einsum("ij,ij->i", landmarks, landmarks) / bandwidth
    return np.concatenate([landmarks.T * (2.0 / bandwidth), -np.ones_like(squares)[None], -squares[None]])


def _kernel_values(X: FloatArray, weights: FloatArray, bandwidth: float) -> FloatArray:
    """Values of the Gaussian kernel, from the weights of the landmarks."""
    n, d = X.shape
    values = np.empty((n, weights.shape[1]), dtype=np.result_type(X, weights))
    # Few rows at a time: their values stay in the cache.
    for rows in block_rows(n, _CACHED_COLUMNS * weights.shape[1]):
        part, block = X[rows], values[rows]
        factors = np.empty((len(part), d + 2), dtype=values.dtype)
        factors[:, :d] = part
        np.einsum("ij,ij->i", part, part, out=factors[:, d])
        factors[:, d] /= bandwidth
        factors[:, d + 1] = 1.0
        np.matmul(factors, weights, out=block)
        np.minimum(block, 0.0, out=block)
        np.exp(block, out=block)
    return values


def never_negative(X: Any) -> bool:
    """Whether no feature is negative, so that all square roots exist."""
    return X.shape[0] > 0 and bool(X.min() >= 0)


def _centred(X: Any, center: FloatArray) -> FloatArray:
    dense = X.toarray() if scipy.sparse.issparse(X) else X
    return np.asarray(dense - center.astype(dense.dtype))


def _scaled(X: FloatArray, scale: FloatArray | None) -> FloatArray:
    if scale is None:
        return X
    scale = scale.astype(X.dtype, copy=False)
    return X * scale if scale.ndim == 1 else X @ scale


def _metric_scale(moments: ViewMoments | None, metric: str, shrinkage: float, who: str) -> FloatArray | None:
    if metric in ("euclidean", "hellinger"):
        return None
    assert moments is not None, "the metric needs the moments of the rows"
    variance = moments.variance
    if not (variance > 0).any():
        raise InputError(f"{who}: every feature is constant, so there is nothing to learn from.")
    if metric == "mahalanobis":
        return inverse_root(moments.covariance, shrinkage)
    return 1.0 / np.sqrt(np.where(variance > 0, variance, 1.0))


def landmark_bandwidth(points: FloatArray, rule: str, *, who: str = "landmark_bandwidth") -> float:
    r"""Bandwidth h of the Gaussian kernel, from the landmarks after scaling by the metric.

    Parameters
    ----------
    points : array of shape (n_landmarks, n_features)
    rule : {"balanced", "median"}
        "median": the median squared distance between two landmarks. "balanced": this median divided
        by :math:`\ln l`. A typical kernel value is then :math:`1/l`, so all l landmarks together
        contribute as much as one perfect match.
    who : str
        Prefix of error messages.

    Notes
    -----
    With many features, all distances are nearly equal. With "median" all kernel values are then close
    to :math:`e^{-1}`, and the differences between objects are only a small part of them.

    Examples
    --------
    >>> landmark_bandwidth(np.array([[0.0], [1.0], [3.0]]), "median")
    4.0
    """
    check_choice(rule, "bandwidth", ("balanced", "median"), caller=who)
    points = np.asarray(points, dtype=np.float64)
    points = points - points.mean(axis=0)
    square = np.einsum("ij,ij->i", points, points)
    squares, products = square[:, None] + square, points @ points.T
    products *= 2
    squares -= products
    return _bandwidth(squares, float(square.max()), rule, who)


def _own_bandwidth(distance: Distance, landmarks: FloatArray, rule: str, who: str) -> float:
    """The same with a distance function of the user."""
    squares = own_distances(distance, landmarks, landmarks, who=who) ** 2
    return _bandwidth(squares, float(squares.max()), rule, who)


def _bandwidth(squares: FloatArray, size: float, rule: str, who: str) -> float:
    """See :func:`landmark_bandwidth`. A median far below ``size`` is 0 but for rounding errors."""
    n = len(squares)
    if n < 2:
        raise ParameterError(
            f"{who}: computing a bandwidth needs at least 2 landmarks. Set bandwidth to a number."
        )
    upper = np.concatenate([row[number + 1 :] for number, row in enumerate(squares)])
    median = float(np.median(upper, overwrite_input=True))
    if median <= 1e-12 * size:
        raise InputError(f"{who}: the median distance between landmarks is 0. Set bandwidth to a number.")
    return median / max(1.0, float(np.log(n))) if rule == "balanced" else median
