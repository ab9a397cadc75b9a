"""The two spectral methods of the paper, CM-DIF and MM-kDIF: the same steps on other features."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ..errors import ParameterError, RankWarning, TooManyBitsError
from ..learning.projections import (
    covariance_difference,
    eigen_projections,
    numerical_rank,
    singular_projections,
)
from ..learning.rotation import useful_rank
from ..learning.spectral_start import N_PERMUTATIONS, bits_in_subspace, strongest
from ..learning.thresholds import choose_thresholds
from ..learning.view_moments import difference_covariances, listed_difference, pair_moments
from ..maps import FeatureMap, MappedView
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray
from ..validation import check_choice, check_count, check_flag, check_number
from .base import BaseHasher, Learned, TrainingData

__all__ = ["SpectralHasher", "check_threshold_parameters", "pick_thresholds"]

#: Shuffles and rotations begin the same in every fit.
_SEED = 0
#: The covariance difference of two views, whitened if asked for.
Difference: TypeAlias = Callable[[MappedView, MappedView], FloatArray]


class SpectralHasher(BaseHasher):
    """Projections from a covariance difference, then thresholds bit by bit."""

    extra_attributes = ("singular_values",)

    gamma: float
    thresholds: str
    miss_weight: float
    min_share: float
    n_bins: int
    statistic: str
    rotate: bool

    #: How to get more bits than the features allow.
    _ways_out = ""

    @abstractmethod
    def _make_maps(self, data: TrainingData) -> dict[str, FeatureMap]:
        """Learn the feature map of each modality."""

    @abstractmethod
    def _centers(self, modality: str, data: TrainingData) -> bool:
        """Whether the features of a modality are centred."""

    def _check_parameters(self) -> None:
        caller = self._caller
        check_count(self.n_bits, "n_bits", caller=caller)
        if not (isinstance(self.gamma, float) and np.isinf(self.gamma) and self.gamma > 0):
            check_number(self.gamma, "gamma", caller=caller, high=1e12)
        check_choice(self.statistic, "statistic", ("product", "difference"), caller=caller)
        check_flag(self.rotate, "rotate", caller=caller)
        check_threshold_parameters(self, caller)

    @property
    def singular_values_(self) -> FloatArray:
        """Singular values of the covariance difference, the largest first."""
        return self._fitted("singular_values_").extra["singular_values"]

    def _needs_negatives(self) -> bool:
        return not (np.isinf(self.gamma) and self.thresholds != "joint")

    def _learn(self, data: TrainingData) -> Learned:
        first, second = data.modalities[0], data.modalities[-1]
        pairs = data.pairs
        if self.statistic == "difference" and not pairs.one_view:
            raise ParameterError(
                f'{self._caller}: statistic="difference" compares x with x\' of one view; with two use "product".'
            )
        maps = self._make_maps(data)
        if not self.rotate:
            self._check_bits(data, maps)
        views = {m: MappedView(data.views[m], maps[m]) for m in data.modalities}
        turns = self._turns(data, views)
        # Means say nothing about pairs, but shuffled pairs share them: only centred sums can be compared.
        center = (
            self.rotate or first in turns or self._centers(first, data),
            self.rotate or second in turns or self._centers(second, data),
        )

        def difference(x: MappedView, y: MappedView) -> FloatArray:
            matrix = self._difference(x, y, pairs, center)
            matrix = turns[first] @ matrix if first in turns else matrix
            return matrix @ turns[second] if second in turns else matrix

        find = self._rotated if self.rotate else self._plain
        found, values = find(views, difference, data)
        projections = {m: P @ turns[m] if m in turns else P for m, P in found.items()}
        projected = {m: views[m].project(projections[m]) for m in data.modalities}
        thresholds = pick_thresholds(self, projected, data)
        return Learned(maps, projections, thresholds, {"singular_values": np.abs(values)})

    def _turns(self, data: TrainingData, views: Mapping[str, MappedView]) -> dict[str, FloatArray]:  # noqa: ARG002
        """Symmetric matrices that whiten mapped features, of the modalities that ask for it."""
        return {}

    def _plain(
        self, views: Mapping[str, MappedView], difference: Difference, data: TrainingData
    ) -> tuple[dict[str, FloatArray], FloatArray]:
        """The paper's form: the leading directions are the bits."""
        first, second = data.modalities[0], data.modalities[-1]
        matrix = difference(views[first], views[second])
        P, Q, values = self._decompose(matrix, data.pairs.one_view, self.n_bits)
        self._warn_of_rank(values, views[first].dtype, data)
        return {first: P, second: Q}, values

    def _rotated(
        self, views: Mapping[str, MappedView], difference: Difference, data: TrainingData
    ) -> tuple[dict[str, FloatArray], FloatArray]:
        """Bits inside the subspace of the directions that shuffled pairs do not have."""
        first, second = data.modalities[0], data.modalities[-1]
        one_view, rng = data.pairs.one_view, np.random.default_rng(_SEED)
        matrix = difference(views[first], views[second])
        P, Q, values = self._decompose(matrix, one_view, min(matrix.shape))
        null = []
        for _ in range(N_PERMUTATIONS):
            shuffled = views[second].shuffled(rng)
            matrix = difference(shuffled if one_view else views[first], shuffled)
            null.append(strongest(matrix, rng, symmetric=one_view))
        rank = useful_rank(np.abs(values), np.array(null))
        sides = {first: P[:rank], second: Q[:rank]}
        coordinates = [views[m].project(side) for m, side in sides.items()]
        mixes = bits_in_subspace(coordinates, np.abs(values[:rank]), self.n_bits, rng)
        found: dict[str, FloatArray] = {
            m: mix.T @ side for (m, side), mix in zip(sides.items(), mixes, strict=True)
        }
        return found, values[:rank]

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

    def _check_bits(self, data: TrainingData, maps: dict[str, FeatureMap]) -> None:
        sizes = {m: maps[m].n_features_out for m in data.modalities}
        limit = min(sizes.values())
        if self.n_bits > limit:
            raise TooManyBitsError(
                f"{self._caller}: n_bits={self.n_bits} is more than the {limit} that "
                f"{' and '.join(f'{n} features of {m!r}' for m, n in sizes.items())} allow. "
                f"Ask for at most {limit} bits, {self._ways_out}"
            )

    def _decompose(
        self, difference: FloatArray, one_view: bool, n_directions: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        if one_view:
            P, values = eigen_projections(difference, n_directions)
            # Only negative eigenvalues lower the loss: the others count as nothing for the rank.
            return P, P, np.minimum(values, 0.0)
        return singular_projections(difference, n_directions)

    def _warn_of_rank(self, values: FloatArray, dtype: Any, data: TrainingData) -> None:
        rank = numerical_rank(np.abs(values), len(values), dtype)
        if self.n_bits > rank:
            warnings.warn(
                f"{self._caller}: the pairs of {' and '.join(map(repr, data.modalities))} determine only {rank} "
                f"of the {self.n_bits} bits; the others are arbitrary. Ask for at most {rank} bits, "
                "set rotate=True, or give more objects.",
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


def pick_thresholds(
    hasher: Any, projected: dict[str, FloatArray], data: TrainingData
) -> dict[str, FloatArray]:
    """Thresholds by the method that the hasher names; ``projected`` are values without any."""
    first, second = data.modalities[0], data.modalities[-1]
    if hasher.thresholds == "zero":
        return {m: np.zeros(values.shape[1]) for m, values in projected.items()}
    if hasher.thresholds == "median":
        return {m: -np.median(values, axis=0).astype(np.float64) for m, values in projected.items()}
    a, b = choose_thresholds(
        projected[first],
        None if data.pairs.one_view else projected[second],
        data.pairs,
        miss_weight=hasher.miss_weight,
        min_share=hasher.min_share,
        n_bins=hasher.n_bins,
    )
    return {first: a, second: b}
