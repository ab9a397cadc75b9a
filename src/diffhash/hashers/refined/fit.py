"""One fit of RefinedHash: features, whitened coordinates, spectral start, refinement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import ParameterError
from ...learning.pair_loss import PairLoss
from ...learning.refinement import Affine, Progress, refine
from ...learning.spectral_start import SpectralStart
from ...maps import FeatureMap, KernelMap, LinearMap, MappedView
from ...maps.kernel import never_negative
from ...maps.landmarks import choose_landmarks, count_distinct
from ...maps.whitening import Components, principal_components
from ...pairs.resolved import ResolvedPairs
from ...types import FloatArray
from .fit_size import FitSize
from .settings import RefinedParameters, Setting

__all__ = ["FittedSetting", "SettingFitter", "fit_setting", "make_fitter"]

#: Means and principal components are computed from at most this many rows.
_MAX_SAMPLE_ROWS = 50_000


@dataclass(frozen=True)
class ViewBasis:
    """Feature map of one view, principal components of its features, and coordinates of the rows along them."""

    map: FeatureMap
    components: Components
    coordinates: FloatArray


@dataclass(frozen=True)
class FittedSetting:
    """A fitted setting: for each view an affine function of its coordinates.

    ``bases`` may be large; settings with the same features share them. ``scales`` whiten the
    coordinates.
    """

    bases: list[ViewBasis]
    scales: list[FloatArray]
    affine: Affine
    converged: bool

    def projection(self, side: int) -> FloatArray:
        """Projection of the mapped features, of shape (n_bits, n_features_out)."""
        return (self.bases[side].components.directions @ self._weights(side)).T

    def values(self, side: int, X: Any) -> FloatArray:
        """Real values of any rows; their signs are the bits."""
        return self.bases[side].map.project(X, self.projection(side), self.affine.offsets[side])

    def training_values(self, side: int, rows: Any = slice(None)) -> FloatArray:
        """Real values of training rows, from their coordinates."""
        coordinates = self.bases[side].coordinates[rows]
        weights, offsets = self._weights(side), self.affine.offsets[side]
        values = coordinates @ weights.astype(coordinates.dtype) + offsets.astype(coordinates.dtype)
        return np.asarray(values)

    def without_constant_bits(self, min_share: float) -> FittedSetting:
        """The same candidate, with the median as the threshold of every nearly constant bit.

        A bit is nearly constant if fewer than ``min_share`` of the rows of a view are on one side.
        """
        offsets = []
        for side in range(len(self.bases)):
            values, offset = self.training_values(side), self.affine.offsets[side].copy()
            share = (values >= 0).mean(axis=0)
            (constant,) = np.nonzero(np.minimum(share, 1 - share) < min_share)
            if len(constant):
                offset[constant] -= np.median(values[:, constant], axis=0)
            offsets.append(offset)
        affine = Affine(self.affine.weights, (offsets[0], offsets[-1]))
        return replace(self, affine=affine)

    def _weights(self, side: int) -> FloatArray:
        return np.asarray(self.scales[side][:, None] * self.affine.weights[side])


class SettingFitter:
    """Fits settings to the same rows; features that several settings share are computed once.

    Parameters
    ----------
    views : list of one or two arrays
    pairs : ResolvedPairs
    size : FitSize
    positive_weight : float
    random_state : int or None
    caller : str
        Prefix of error messages.
    """

    def __init__(
        self,
        views: list[Any],
        pairs: ResolvedPairs,
        size: FitSize,
        *,
        positive_weight: float,
        random_state: int | None,
        caller: str,
    ) -> None:
        self._views = views
        self._pairs = pairs
        self._size = size
        self._positive_weight = positive_weight
        self._random_state = random_state
        self._caller = caller
        self._bases: dict[tuple[str, str, float], list[ViewBasis]] = {}
        self._landmarks_of_side: dict[int, FloatArray] = {}
        self._spectral: dict[Any, SpectralStart] = {}
        self._starts: dict[Any, Affine] = {}

    def fit(self, setting: Setting, progress: Progress | None = None) -> FittedSetting:
        """Fit one setting."""
        size, pairs = self._size, self._pairs
        if setting.kind not in self._bases:
            self._bases[setting.kind] = [self._basis(X, side, setting) for side, X in enumerate(self._views)]
        bases = self._bases[setting.kind]
        scales = [basis.components.scales(setting.ridge) for basis in bases]
        x, y = bases[0].coordinates, None if pairs.one_view else bases[-1].coordinates
        start = self._start(setting, x, y, scales)
        affine, converged = start, True
        if setting.iterations:
            loss = PairLoss(pairs, size.n_bits, setting.negative_target, self._positive_weight)
            affine, converged = refine(
                x,
                y,
                loss,
                start,
                penalty=setting.penalty,
                scales=scales,
                slopes=size.slopes,
                max_iter=setting.iterations,
                progress=progress,
            )
        return FittedSetting(bases, scales, affine, converged)

    def _start(
        self, setting: Setting, x: FloatArray, y: FloatArray | None, scales: list[FloatArray]
    ) -> Affine:
        """The spectral start. It does not depend on penalty, target and iterations."""
        kind, key = setting.kind, (setting.kind, setting.ridge, setting.strongest_only)
        if key not in self._starts:
            if kind not in self._spectral:
                rng = np.random.default_rng(self._random_state)
                self._spectral[kind] = SpectralStart(x, y, self._pairs, rng)
            self._starts[key] = self._spectral[kind].bits(
                scales,
                self._size.n_bits,
                np.random.default_rng(self._random_state),
                strongest_only=setting.strongest_only,
            )
        return self._starts[key]

    def _basis(self, X: Any, side: int, setting: Setting) -> ViewBasis:
        step = -(-X.shape[0] // _MAX_SAMPLE_ROWS)
        sample = X if step == 1 else X[::step]
        fitted = self._map(X, sample, side, setting)
        rank = self._size.linear_rank if setting.features == "linear" else self._size.kernel_rank
        view = MappedView(X, fitted)
        sampled = view if step == 1 else MappedView(sample, fitted)
        components = principal_components(sampled, rank, np.random.default_rng(self._random_state))
        return ViewBasis(fitted, components, view.project(components.directions.T))

    def _map(self, X: Any, sample: Any, side: int, setting: Setting) -> FeatureMap:
        who = f"{self._caller}: view {side + 1}"
        if setting.features == "linear":
            return LinearMap.fit(X, standardize=True, who=who)
        metric = setting.metric
        if metric == "hellinger" and not setting.strict_metric and not never_negative(X):
            metric = "euclidean"  # only the other view has no negative values
        fitted = KernelMap.fit(X, self._landmarks(X, side), metric=metric, who=who)
        fitted.bandwidth *= setting.width
        fitted.mean = _mean_features(sample, fitted)
        return fitted

    def _landmarks(self, X: Any, side: int) -> FloatArray:
        """Landmarks of a view; all metrics and widths share them."""
        if side not in self._landmarks_of_side:
            self._landmarks_of_side[side] = self._choose_landmarks(X, side)
        return self._landmarks_of_side[side]

    def _choose_landmarks(self, X: Any, side: int) -> FloatArray:
        def choose(n: int) -> FloatArray:
            return choose_landmarks(
                X, n, "random", self._random_state, caller=self._caller, modality=f"number {side + 1}"
            )

        try:
            return choose(min(self._size.n_landmarks, X.shape[0]))
        except ParameterError:
            # Many objects are equal: use every distinct object.
            return choose(count_distinct(X))


def make_fitter(
    views: list[Any], pairs: ResolvedPairs, size: FitSize, parameters: RefinedParameters, *, caller: str
) -> SettingFitter:
    """A fitter with the user's weight and seed."""
    return SettingFitter(
        views,
        pairs,
        size,
        positive_weight=parameters.positive_weight,
        random_state=parameters.random_state,
        caller=caller,
    )


def fit_setting(
    fitter: SettingFitter,
    setting: Setting,
    parameters: RefinedParameters,
    min_share: float,
    progress: Progress | None,
) -> tuple[FittedSetting, list[float]]:
    """Fit one setting with all iterations. Returns the candidate and the loss after each iteration."""
    losses: list[float] = []

    def record(iteration: int, loss: float) -> None:
        losses.append(loss)
        if progress is not None:
            progress(iteration, loss)

    iterations = parameters.max_iter if setting.iterations else 0
    fitted = fitter.fit(replace(setting, iterations=iterations), record)
    return fitted.without_constant_bits(min_share), losses


def _mean_features(X: Any, fitted: KernelMap) -> FloatArray:
    total = np.zeros(fitted.n_features_out)
    for _, block in MappedView(X, fitted, keep_bytes=0).blocks():
        total += block.sum(axis=0, dtype=np.float64)
    return np.asarray(total / X.shape[0])
