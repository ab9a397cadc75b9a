"""Base class of CM-DIF and MM-kDIF, which apply the same steps to different features."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ParameterError, RankWarning, TooManyBitsError
from ..learning.block_difference import block_difference, block_directions, largest_rank
from ..learning.cross_fit import N_DIRECTIONS
from ..learning.joint_thresholds import couple_thresholds
from ..learning.projections import numerical_rank
from ..learning.subspace import rotated_directions
from ..learning.thresholds import ThresholdSettings
from ..learning.view_difference import DifferenceSettings
from ..learning.whitened_spaces import whiten_spaces
from ..maps import FeatureMap, MappedView
from ..maps.learning_space import LearningSpace, learning_space
from ..pairs.couples import ResolvedCouples
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
        if self.statistic == "difference" and len(data.modalities) > 1:
            raise ParameterError(
                f'{self._caller}: statistic="difference" is for one view only; with more views use "product".'
            )
        settings = self._map_settings(data)
        maps = {m: settings[m].fit_map(X) for m, X in data.views.items()}
        if not self.rotate:
            self._check_bits(maps, data.couples)
        by_rows = self.rotate or len(data.couples) > 1
        spaces = {
            m: learning_space(
                MappedView(X, maps[m]),
                by_rows=by_rows or settings[m].whiten,
                min_rank=0 if self.rotate else self.n_bits,
            )
            for m, X in data.views.items()
        }
        projections, values = self._projections(data, spaces, settings)
        projected = [spaces[m].features.project(P) for m, P in projections.items()]
        chosen = ThresholdSettings(self.thresholds, self.miss_weight, self.min_share, self.n_bins)
        thresholds = couple_thresholds(projected, data.couples, chosen)
        return Learned(
            maps,
            projections,
            dict(zip(data.modalities, thresholds, strict=True)),
            {"singular_values": values},
        )

    def _projections(
        self, data: TrainingData, spaces: Mapping[str, LearningSpace], settings: Mapping[str, MapSettings]
    ) -> tuple[dict[str, FloatArray], FloatArray]:
        """Projections of the mapped features of each modality, and singular values."""
        # Strengths on held-out pairs compare directions around the mean, so `rotate` centres all sums.
        center = tuple(self.rotate or settings[m].whiten or settings[m].center for m in data.modalities)
        difference = DifferenceSettings(self.gamma, self.statistic, center)
        rng = np.random.default_rng(self.random_state)
        whitened, useful = whiten_spaces(
            list(spaces.values()),
            [settings[m].shrinkage if settings[m].whiten else None for m in spaces],
            data.couples,
            difference,
            rng,
            n_strengths=max(self.n_bits, N_DIRECTIONS) if self.rotate else 0,
            who=[settings[m].who for m in spaces],
        )
        views = [space.view for space in whitened]
        if self.rotate:
            parts, values = rotated_directions(views, data.couples, difference, useful, self.n_bits, rng)
        else:
            matrix = block_difference(views, data.couples, difference)
            found = block_directions(matrix, self.n_bits, exact=True)
            parts, values = list(found.parts), found.strengths
            self._warn_about_rank(values, views[0].dtype, data)
        folded = [space.folded(part) for space, part in zip(whitened, parts, strict=True)]
        return dict(zip(data.modalities, folded, strict=True)), values

    def _check_bits(self, maps: Mapping[str, FeatureMap], couples: ResolvedCouples) -> None:
        sizes = {m: fitted.n_features_out for m, fitted in maps.items()}
        limit = largest_rank(list(sizes.values()), [couple.sides for couple in couples])
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
