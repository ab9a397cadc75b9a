"""Representations of a view, the same choice for every peer: a scaling, then linear or kernel features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from diffhash.comparison.linear_algebra import principal_axes, unit_rows
from diffhash.errors import FeatureCountError, InputError
from diffhash.types import FloatArray

from .base import dense

SCALINGS = ("centred", "standardised", "cosine", "root")
WIDTHS = (0.25, 1.0, 4.0)
#: Landmarks of kernel features, and principal coordinates that are kept of any features.
N_LANDMARKS, N_COORDINATES = 1000, 512


@dataclass(frozen=True)
class Setting:
    """How a view is represented.

    Attributes
    ----------
    scaling : {"centred", "standardised", "cosine", "root"}
        ``x - μ``; that over each feature's standard deviation; ``(x - μ) / |x - μ|``; ``√x / |√x|``,
        for features that are never negative.
    width : float or None
        None for linear features. Otherwise ``exp(-d² / (width · median d²))`` to the landmarks.
    """

    scaling: str = "centred"
    width: float | None = None

    def __post_init__(self) -> None:
        if self.scaling not in SCALINGS:
            raise InputError(f"representation: scaling must be one of {SCALINGS}, got {self.scaling!r}.")

    @property
    def linear(self) -> bool:
        return self.width is None

    def __str__(self) -> str:
        return f"{self.scaling}, {'linear' if self.linear else f'kernel of width {self.width:g}'}"


@dataclass
class Representation:
    """Features of one view in their principal coordinates, centred.

    Landmarks are training rows drawn at random, without repeated rows. The fitted ``variances_`` are
    those of the coordinates on the training rows, largest first.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> Representation(Setting("cosine")).fit(X).transform(X).shape
    (50, 4)
    >>> Representation(Setting("cosine", 1.0)).fit(X).transform(X[:7]).shape
    (7, 49)
    """

    setting: Setting = field(default_factory=Setting)
    n_landmarks: int = N_LANDMARKS
    n_coordinates: int = N_COORDINATES
    random_state: int = 0

    def fit(self, X: Any) -> Self:
        X = dense(X)
        if self.setting.scaling == "root" and X.min(initial=0.0) < 0:
            raise InputError("representation: the root needs features that are never negative.")
        self.mean_ = X.mean(axis=0)
        deviation = X.std(axis=0)
        self.deviation_ = np.where(deviation > 0, deviation, 1.0)
        scaled = self._scaled(X)
        if self.setting.width is not None:
            rows = np.array(list({row.tobytes(): i for i, row in enumerate(scaled)}.values()))
            order = np.random.default_rng(self.random_state).permutation(len(rows))
            self.landmarks_ = scaled[rows[order[: self.n_landmarks]]]
            apart = squared_distances(self.landmarks_, self.landmarks_)
            above = apart[np.triu_indices(len(apart), 1)]
            self.bandwidth_ = self.setting.width * (float(np.median(above)) if len(above) else 0.0) or 1.0
        features = self._features(scaled)
        self.offset_ = features.mean(axis=0)
        self.axes_, self.variances_ = principal_axes(features - self.offset_, self.n_coordinates)
        return self

    def transform(self, X: Any) -> FloatArray:
        X = dense(X)
        if X.ndim != 2 or X.shape[1] != len(self.mean_):
            raise FeatureCountError(
                f"representation: fitted on {len(self.mean_)} features, got an array of shape {X.shape}."
            )
        return (self._features(self._scaled(X)) - self.offset_) @ self.axes_

    def _scaled(self, X: FloatArray) -> FloatArray:
        if self.setting.scaling == "root":
            return unit_rows(np.sqrt(np.maximum(X, 0)))
        if self.setting.scaling == "cosine":
            return unit_rows(X - self.mean_)
        return (X - self.mean_) / (self.deviation_ if self.setting.scaling == "standardised" else 1.0)

    def _features(self, scaled: FloatArray) -> FloatArray:
        if self.setting.linear:
            return scaled
        return np.exp(-squared_distances(scaled, self.landmarks_) / self.bandwidth_)


def candidates(X: Any) -> list[Setting]:
    """Every setting that suits a view: the root only for features that are never negative."""
    never_negative = X.min() >= 0
    return [
        Setting(scaling, width)
        for scaling in SCALINGS
        if scaling != "root" or never_negative
        for width in (None, *WIDTHS)
    ]


def squared_distances(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Squared Euclidean distances, shape (n, m), by matrix products."""
    apart = np.sum(X**2, axis=1)[:, None] + np.sum(Y**2, axis=1) - 2 * (X @ Y.T)
    return np.maximum(apart, 0, out=apart)
