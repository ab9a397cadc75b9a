"""Ways to represent the features of a view before they are projected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from ..errors import InputError
from ..types import FloatArray
from .feature_map import FeatureMap
from .kernel import KernelMap, never_negative
from .linear import LinearMap
from .mapped_view import MappedView
from .unit import UnitMap, unit_rows

__all__ = ["HISTOGRAM_METRICS", "METRICS", "Representation", "fit_representation", "unit_origin"]

#: All metrics. "cosine" centres the rows and scales them to unit length; "root-cosine" scales their roots.
METRICS = ("euclidean", "diagonal", "mahalanobis", "hellinger", "cosine", "root-cosine")
#: Metrics of features that are never negative.
HISTOGRAM_METRICS = ("hellinger", "root-cosine")
#: Means, deviations and covariances are computed from at most this many rows.
_MAX_SAMPLE_ROWS = 50_000


@dataclass(frozen=True)
class Representation:
    """A kind of feature map.

    Attributes
    ----------
    features : {"linear", "kernel"}
        The scaled features themselves, or their similarities to landmarks.
    metric : str
        One of :data:`METRICS`. For linear features it says how rows are scaled.
    width : float
        Bandwidth of the kernel, in multiples of the median squared distance between landmarks. Linear
        features ignore it.
    """

    features: str
    metric: str
    width: float = 1.0

    def __str__(self) -> str:
        text = f"{self.features} {self.metric}"
        return text if self.features == "linear" else f"{text}, width {self.width:g}"


def fit_representation(
    X: Any, representation: Representation, landmarks: FloatArray | None, *, who: str
) -> FeatureMap:
    """Learn the map of a representation from the rows of a view. Its features are centred.

    Parameters
    ----------
    X : array of shape (n, n_features), dense or CSR
    representation : Representation
    landmarks : array of shape (n_landmarks, n_features)
        Rows of X, used by kernel features only.
    who : str
        Prefix of error messages.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 4.0]])
    >>> found = fit_representation(X, Representation("linear", "root-cosine"), None, who="example")
    >>> found.transform(X).round(2)
    array([[ 0.5, -0.5],
           [ 0.5, -0.5],
           [-0.5,  0.5],
           [-0.5,  0.5]])
    """
    metric = representation.metric
    step = -(-X.shape[0] // _MAX_SAMPLE_ROWS)
    rows = X[::step]
    if metric not in ("cosine", "root-cosine"):
        return _fit_plain(rows, representation, metric, landmarks, who)
    origin = unit_origin(metric, mean=lambda: _mean(rows), non_negative=lambda: never_negative(X), who=who)
    points = None if landmarks is None else unit_rows(landmarks, origin)
    inner = _fit_plain(unit_rows(rows, origin), representation, "euclidean", points, who)
    return UnitMap(inner, origin)


def unit_origin(
    metric: str, *, mean: Callable[[], FloatArray], non_negative: Callable[[], bool], who: str
) -> FloatArray | None:
    """The origin of a :class:`UnitMap` for "cosine" (the mean) or "root-cosine" (None).

    Parameters
    ----------
    metric : {"cosine", "root-cosine"}
    mean, non_negative : functions without arguments
        Return the mean of the rows, and whether no feature is negative. Only one of them is called.
    who : str
        Prefix of error messages.
    """
    if metric == "cosine":
        return mean()
    if not non_negative():
        raise InputError(
            f"{who}: metric 'root-cosine' needs features that are never negative, but there are negative "
            "values. Use 'cosine'."
        )
    return None


def _fit_plain(
    rows: Any, representation: Representation, metric: str, landmarks: FloatArray | None, who: str
) -> FeatureMap:
    if representation.features == "linear":
        return LinearMap.fit(rows, standardize=metric == "diagonal", who=who)
    assert landmarks is not None, "kernel features need landmarks"
    try:
        fitted = KernelMap.fit(rows, landmarks, metric=metric, bandwidth="median", who=who)
    except InputError:
        # More than half of the distances are 0, as between rows of unit length with one feature.
        mean_distance = 2.0 * float(np.var(landmarks, axis=0, dtype=np.float64).sum())
        if metric != "euclidean" or not 0 < mean_distance < np.inf:
            raise
        fitted = KernelMap.fit(rows, landmarks, metric=metric, bandwidth=mean_distance, who=who)
    fitted.bandwidth *= representation.width
    if float(fitted.bandwidth) > float(np.finfo(rows.dtype).max):
        raise InputError(
            f"{who}: the features are so large that their squares overflow. Scale the features: divide them "
            "by a constant."
        )
    total = np.zeros(fitted.n_features_out)
    for _, block in MappedView(rows, fitted, keep_bytes=0).blocks():
        total += block.sum(axis=0, dtype=np.float64)
    fitted.mean = total / rows.shape[0]
    return fitted


def _mean(rows: Any) -> FloatArray:
    total = rows.sum(axis=0, dtype=np.float64)
    total = total.toarray() if scipy.sparse.issparse(total) else total
    return np.asarray(total / rows.shape[0]).reshape(-1)
