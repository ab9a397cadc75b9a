"""The two spectral methods of the paper, CM-DIF and MM-kDIF: the same steps on other features."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np

from ..errors import ParameterError, RankWarning, TooManyBitsError
from ..maps import FeatureMap, MappedView
from ..pair_sets import ResolvedPairs
from ..projections import covariance_difference, eigen_projections, numerical_rank, singular_projections
from ..thresholds import choose_thresholds
from ..types import FloatArray
from ..validation import check_choice, check_count, check_number
from ..view_moments import difference_covariances, listed_difference, pair_moments
from .base import BaseHasher, Couple, Learned

__all__ = ["SpectralHasher", "check_threshold_parameters", "pick_thresholds"]


class SpectralHasher(BaseHasher):
    """Projections from a covariance difference, then thresholds bit by bit."""

    extra_attributes = ("singular_values",)

    gamma: float
    thresholds: str
    miss_weight: float
    min_share: float
    n_bins: int
    statistic: str

    #: How to get more bits than the features allow.
    _ways_out = ""

    @abstractmethod
    def _make_maps(self, couple: Couple) -> dict[str, FeatureMap]:
        """Learn the feature map of each modality."""

    @abstractmethod
    def _centers(self, modality: str, couple: Couple) -> bool:
        """Whether the features of a modality are centred."""

    def _check_parameters(self) -> None:
        caller = self._caller
        check_count(self.n_bits, "n_bits", caller=caller)
        if not (isinstance(self.gamma, float) and np.isinf(self.gamma) and self.gamma > 0):
            check_number(self.gamma, "gamma", caller=caller, high=1e12)
        check_choice(self.statistic, "statistic", ("product", "difference"), caller=caller)
        check_threshold_parameters(self, caller)

    def _needs_negatives(self) -> bool:
        return not (np.isinf(self.gamma) and self.thresholds != "joint")

    def _learn(self, couple: Couple) -> Learned:
        first, second = couple.modalities[0], couple.modalities[-1]
        pairs = couple.pairs
        if self.statistic == "difference" and not pairs.one_view:
            raise ParameterError(
                f'{self._caller}: statistic="difference" compares x with x\' of one view; with two use "product".'
            )
        maps = self._make_maps(couple)
        self._check_bits(couple, maps)
        views = {m: MappedView(couple.views[m], maps[m]) for m in couple.modalities}
        center = (self._centers(first, couple), self._centers(second, couple))
        difference = self._difference(views[first], views[second], pairs, center)
        P, Q, values = self._decompose(difference, pairs.one_view)
        self._warn_of_rank(values, views[first].dtype, couple)
        projections = {first: P, second: Q}
        projected = {m: views[m].project(projections[m]) for m in couple.modalities}
        thresholds = pick_thresholds(self, projected, couple)
        return Learned(maps, projections, thresholds, {"singular_values": np.abs(values)})

    def _difference(
        self, x: MappedView, y: MappedView, pairs: ResolvedPairs, center: tuple[bool, bool]
    ) -> FloatArray:
        """The matrix whose singular vectors (or eigenvectors) are the projections."""
        scheme = pairs.scheme
        if (
            scheme.positive_listed
            and scheme.negative_listed
            and not pairs.one_view
            and np.isfinite(self.gamma)
        ):
            return listed_difference(x, y, pairs, self.gamma, center)
        moments = pair_moments(x, y, pairs)
        if self.statistic == "difference":
            # What is to be small on positives is this statistic itself, not its negative.
            positive, negative = (-table for table in difference_covariances(x, pairs, moments))
        else:
            positive, negative = moments.covariances(center=center)
        return covariance_difference(positive, negative, self.gamma)

    def _check_bits(self, couple: Couple, maps: dict[str, FeatureMap]) -> None:
        sizes = {m: maps[m].n_features_out for m in couple.modalities}
        limit = min(sizes.values())
        if self.n_bits > limit:
            raise TooManyBitsError(
                f"{self._caller}: n_bits={self.n_bits} is more than the {limit} that "
                f"{' and '.join(f'{n} features of {m!r}' for m, n in sizes.items())} allow. "
                f"Ask for at most {limit} bits, {self._ways_out}"
            )

    def _decompose(self, difference: FloatArray, one_view: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        if one_view:
            P, values = eigen_projections(difference, self.n_bits)
            # Only negative eigenvalues lower the loss: the others count as nothing for the rank.
            return P, P, np.minimum(values, 0.0)
        return singular_projections(difference, self.n_bits)

    def _warn_of_rank(self, values: FloatArray, dtype: Any, couple: Couple) -> None:
        rank = numerical_rank(np.abs(values), len(values), dtype)
        if self.n_bits > rank:
            warnings.warn(
                f"{self._caller}: the pairs of {' and '.join(map(repr, couple.modalities))} determine only {rank} "
                f"of the {self.n_bits} bits; the others are arbitrary. Ask for at most {rank} bits, "
                "or give more objects.",
                RankWarning,
                stacklevel=4,
            )


def check_threshold_parameters(hasher: Any, caller: str) -> None:
    """Check the parameters about thresholds, which several hashers share."""
    check_choice(hasher.thresholds, "thresholds", ("joint", "zero", "median"), caller=caller)
    check_number(hasher.miss_weight, "miss_weight", caller=caller, high=1e12, open_low=True)
    check_number(hasher.min_share, "min_share", caller=caller, high=0.5)
    if check_count(hasher.n_bins, "n_bins", caller=caller, minimum=4) > 256:
        raise ParameterError(f"{caller}: n_bins must be at most 256, got {hasher.n_bins!r}.")


def pick_thresholds(hasher: Any, projected: dict[str, FloatArray], couple: Couple) -> dict[str, FloatArray]:
    """Thresholds by the method that the hasher names; ``projected`` are values without any."""
    first, second = couple.modalities[0], couple.modalities[-1]
    if hasher.thresholds == "zero":
        return {m: np.zeros(values.shape[1]) for m, values in projected.items()}
    if hasher.thresholds == "median":
        return {m: -np.median(values, axis=0).astype(np.float64) for m, values in projected.items()}
    a, b = choose_thresholds(
        projected[first],
        None if couple.pairs.one_view else projected[second],
        couple.pairs,
        miss_weight=hasher.miss_weight,
        min_share=hasher.min_share,
        n_bins=hasher.n_bins,
    )
    return {first: a, second: b}
