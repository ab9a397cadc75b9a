"""Base class of CM-DIF and MM-kDIF, which apply the same steps to different features."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ParameterError, RankWarning, TooManyBitsError
from ..learning.cross_fit import N_DIRECTIONS
from ..learning.projections import decompose_difference, numerical_rank
from ..learning.subspace import rotated_directions
from ..learning.thresholds import ThresholdSettings, fit_thresholds
from ..learning.view_difference import DifferenceSettings, view_difference
from ..learning.whitened_spaces import whiten_spaces
from ..maps import FeatureMap, MappedView
from ..maps.learning_space import LearningSpace, learning_space
from ..types import FloatArray
from ..validation import check_choice, check_count, check_flag, check_number, check_seed
from .base import BaseHasher, Learned, TrainingData
from .map_parameters import MapSettings

__all__ = ["SpectralHasher"]


class SpectralHasher(BaseHasher):
    """Learns projections from a covariance difference, then a threshold for each bit."""

    extra_attributes = ("singular_values",)

    gamma: float
    thresholds: str
    miss_weight: float
    min_share: float
    n_bins: int
    statistic: str
    rotate: bool
    random_state: int | None

    #: End of the error message about too many bits: how to get more bits.
    _more_bits_hint = ""

    @abstractmethod
    def _map_settings(self, data: TrainingData) -> Mapping[str, MapSettings]:
        """Settings of the feature map of each modality."""

    def _check_parameters(self) -> None:
        caller = self._caller
        check_count(self.n_bits, "n_bits", caller=caller)
        if not (isinstance(self.gamma, float) and np.isinf(self.gamma) and self.gamma > 0):
            check_number(self.gamma, "gamma", caller=caller, high=1e12)
        check_choice(self.statistic, "statistic", ("product", "difference"), caller=caller)
        check_flag(self.rotate, "rotate", caller=caller)
        check_seed(self.random_state, caller=caller)
        check_choice(self.thresholds, "thresholds", ("joint", "zero", "median"), caller=caller)
        check_number(self.miss_weight, "miss_weight", caller=caller, high=1e12, open_low=True)
        check_number(self.min_share, "min_share", caller=caller, high=0.5)
        if check_count(self.n_bins, "n_bins", caller=caller, minimum=4) > 256:
            raise ParameterError(f"{caller}: n_bins must be at most 256, got {self.n_bins!r}.")

    @property
    def singular_values_(self) -> FloatArray:
        """Singular values of the covariance difference, the largest first."""
        return self._fitted("singular_values_").extra["singular_values"]

    def _needs_negatives(self) -> bool:
        return not (np.isinf(self.gamma) and self.thresholds != "joint")

    def _learn(self, data: TrainingData) -> Learned:
        if self.statistic == "difference" and not data.pairs.one_view:
            raise ParameterError(
                f'{self._caller}: statistic="difference" is for one view only; with two views use "product".'
            )
        settings = self._map_settings(data)
        maps = {m: settings[m].fit_map(X) for m, X in data.views.items()}
        if not self.rotate:
            self._check_bits(maps)
        spaces = {
            m: learning_space(
                MappedView(X, maps[m]),
                by_rows=self.rotate or settings[m].whiten,
                min_rank=0 if self.rotate else self.n_bits,
            )
            for m, X in data.views.items()
        }
        projections, values = self._projections(data, spaces, settings)
        projected = {m: spaces[m].features.project(P) for m, P in projections.items()}
        thresholds = self._thresholds(data, projected)
        return Learned(maps, projections, thresholds, {"singular_values": values})

    def _projections(
        self, data: TrainingData, spaces: Mapping[str, LearningSpace], settings: Mapping[str, MapSettings]
    ) -> tuple[dict[str, FloatArray], FloatArray]:
        """Projections of the mapped features of each modality, and singular values."""
        # Strengths on held-out pairs compare directions around the mean, so `rotate` centres all sums.
        center = tuple(
            self.rotate or settings[m].whiten or settings[m].center for m in (data.first, data.second)
        )
        difference = DifferenceSettings(self.gamma, self.statistic, (center[0], center[1]))
        rng = np.random.default_rng(self.random_state)
        whitened, useful = whiten_spaces(
            list(spaces.values()),
            [settings[m].shrinkage if settings[m].whiten else None for m in spaces],
            data.pairs,
            difference,
            rng,
            n_strengths=max(self.n_bits, N_DIRECTIONS) if self.rotate else 0,
            who=[settings[m].who for m in spaces],
        )
        x, y = whitened[0].view, whitened[-1].view
        if self.rotate:
            P, Q, values = rotated_directions(x, y, data.pairs, difference, useful, self.n_bits, rng)
        else:
            matrix = view_difference(x, y, data.pairs, difference)
            found = decompose_difference(matrix, self.n_bits, one_view=data.pairs.one_view)
            P, Q, values = found.P, found.Q, found.strengths
            self._warn_about_rank(values, x.dtype, data)
        return {data.first: whitened[0].folded(P), data.second: whitened[-1].folded(Q)}, values

    def _thresholds(self, data: TrainingData, projected: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        settings = ThresholdSettings(self.thresholds, self.miss_weight, self.min_share, self.n_bins)
        y = None if data.pairs.one_view else projected[data.second]
        a, b = fit_thresholds(projected[data.first], y, data.pairs, settings)
        return {data.first: a, data.second: b}

    def _check_bits(self, maps: Mapping[str, FeatureMap]) -> None:
        sizes = {m: fitted.n_features_out for m, fitted in maps.items()}
        limit = min(sizes.values())
        if self.n_bits > limit:
            raise TooManyBitsError(
                f"{self._caller}: n_bits={self.n_bits} is more than the limit of {limit} with "
                f"{' and '.join(f'{n} features of {m!r}' for m, n in sizes.items())}. "
                f"Ask for at most {limit} bits, {self._more_bits_hint}"
            )

    def _warn_about_rank(self, values: FloatArray, dtype: Any, data: TrainingData) -> None:
        rank = numerical_rank(values, len(values), dtype)
        if self.n_bits > rank:
            warnings.warn(
                f"{self._caller}: the pairs of {' and '.join(map(repr, data.modalities))} determine only {rank} "
                f"of the {self.n_bits} bits; the others are arbitrary. Ask for at most {rank} bits, "
                "set rotate=True, or give more objects.",
                RankWarning,
                stacklevel=5,
            )
