"""Fitting settings of RefinedHash: features, whitened coordinates, spectral start, refinement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import ParameterError
from ...learning.refinement import Affine, PairLoss, Progress, refine
from ...learning.spectral_start import SpectralStart
from ...maps import FeatureMap, KernelMap, LinearMap, MappedView
from ...maps.kernel import never_negative
from ...maps.landmarks import choose_landmarks, count_distinct
from ...maps.whitening import Components, principal_components
from ...pairs.resolved import ResolvedPairs
from ...types import FloatArray
from .settings import Effort, Setting

__all__ = ["Candidate", "SettingFitter"]

#: Means and principal components are those of at most so many rows.
_SAMPLE = 50_000


@dataclass(frozen=True)
class Basis:
    """The features of one view, their principal components, and the rows' coordinates along them."""

    map: FeatureMap
    components: Components
    coordinates: FloatArray


@dataclass(frozen=True)
class Candidate:
    """A fitted setting: affine functions of the mapped features of each side.

    Settings with the same features share ``bases``, which may be large; ``scales`` whiten along them.
    """

    bases: list[Basis]
    scales: list[FloatArray]
    affine: Affine
    converged: bool

    def projection(self, side: int) -> FloatArray:
        """(n_bits, n_features_out): what the mapped features are multiplied by."""
        return (self.bases[side].components.directions @ self._weights(side)).T

    def values(self, side: int, X: Any) -> FloatArray:
        """Real values whose signs are the bits of one side."""
        return self.bases[side].map.project(X, self.projection(side), self.affine.offsets[side])

    def training_values(self, side: int, rows: Any = slice(None)) -> FloatArray:
        """The same of rows that were learned from."""
        coordinates = self.bases[side].coordinates[rows]
        weights, offsets = self._weights(side), self.affine.offsets[side]
        values = coordinates @ weights.astype(coordinates.dtype) + offsets.astype(coordinates.dtype)
        return np.asarray(values)

    def evened(self, min_share: float) -> Candidate:
        """The same, but bits that fewer than this share of a view's rows have or lack change at their median."""
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
    """Fits one setting after another to the same rows; features that two settings share are made once.

    Parameters
    ----------
    views : list of one or two arrays
    pairs : ResolvedPairs
    effort : Effort
    positive_weight : float
    random_state : int or None
    caller : str
        Opens the error messages.
    """

    def __init__(
        self,
        views: list[Any],
        pairs: ResolvedPairs,
        effort: Effort,
        *,
        positive_weight: float,
        random_state: int | None,
        caller: str,
    ) -> None:
        self._views = views
        self._pairs = pairs
        self._effort = effort
        self._positive_weight = positive_weight
        self._random_state = random_state
        self._caller = caller
        self._bases: dict[tuple[str, str, float], list[Basis]] = {}
        self._chosen: dict[int, FloatArray] = {}
        self._spectral: dict[Any, SpectralStart] = {}
        self._starts: dict[Any, Affine] = {}

    def fit(self, setting: Setting, progress: Progress | None = None) -> Candidate:
        """Maps, start and refined functions of one setting."""
        effort, pairs = self._effort, self._pairs
        if setting.kind not in self._bases:
            self._bases[setting.kind] = [self._basis(X, side, setting) for side, X in enumerate(self._views)]
        bases = self._bases[setting.kind]
        scales = [basis.components.scales(setting.ridge) for basis in bases]
        x, y = bases[0].coordinates, None if pairs.one_view else bases[-1].coordinates
        start = self._start(setting, x, y, scales)
        affine, converged = start, True
        if setting.iterations:
            loss = PairLoss(pairs, effort.n_bits, setting.negative_target, self._positive_weight)
            affine, converged = refine(
                x,
                y,
                loss,
                start,
                penalty=setting.penalty,
                scales=scales,
                slopes=effort.slopes,
                max_iter=setting.iterations,
                progress=progress,
            )
        return Candidate(bases, scales, affine, converged)

    def _start(
        self, setting: Setting, x: FloatArray, y: FloatArray | None, scales: list[FloatArray]
    ) -> Affine:
        """Penalty, target and iterations do not matter to it."""
        kind, key = setting.kind, (setting.kind, setting.ridge, setting.strongest_only)
        if key not in self._starts:
            if kind not in self._spectral:
                rng = np.random.default_rng(self._random_state)
                self._spectral[kind] = SpectralStart(x, y, self._pairs, rng)
            self._starts[key] = self._spectral[kind].bits(
                scales,
                self._effort.n_bits,
                np.random.default_rng(self._random_state),
                strongest_only=setting.strongest_only,
            )
        return self._starts[key]

    def _basis(self, X: Any, side: int, setting: Setting) -> Basis:
        step = -(-X.shape[0] // _SAMPLE)
        sample = X if step == 1 else X[::step]
        fitted = self._map(X, sample, side, setting)
        rank = self._effort.linear_rank if setting.features == "linear" else self._effort.kernel_rank
        view = MappedView(X, fitted)
        sampled = view if step == 1 else MappedView(sample, fitted)
        components = principal_components(sampled, rank, np.random.default_rng(self._random_state))
        return Basis(fitted, components, view.project(components.directions.T))

    def _map(self, X: Any, sample: Any, side: int, setting: Setting) -> FeatureMap:
        who = f"{self._caller}: view {side + 1}"
        if setting.features == "linear":
            return LinearMap.fit(X, standardize=True, who=who)
        metric = setting.metric
        if metric == "hellinger" and not setting.strict_metric and not never_negative(X):
            metric = "euclidean"  # the other view alone is a histogram
        fitted = KernelMap.fit(X, self._landmarks(X, side), metric=metric, who=who)
        fitted.bandwidth *= setting.width
        fitted.mean = _mean_features(sample, fitted)
        return fitted

    def _landmarks(self, X: Any, side: int) -> FloatArray:
        """The same for all distances and widths."""
        if side not in self._chosen:
            self._chosen[side] = self._choose_landmarks(X, side)
        return self._chosen[side]

    def _choose_landmarks(self, X: Any, side: int) -> FloatArray:
        def choose(n: int) -> FloatArray:
            return choose_landmarks(
                X, n, "random", self._random_state, caller=self._caller, modality=f"number {side + 1}"
            )

        try:
            return choose(min(self._effort.n_landmarks, X.shape[0]))
        except ParameterError:
            # Many repeated objects: as many landmarks as there are different ones.
            return choose(count_distinct(X))


def _mean_features(X: Any, fitted: KernelMap) -> FloatArray:
    total = np.zeros(fitted.n_features_out)
    for _, block in MappedView(X, fitted, keep_bytes=0).blocks():
        total += block.sum(axis=0, dtype=np.float64)
    return np.asarray(total / X.shape[0])
