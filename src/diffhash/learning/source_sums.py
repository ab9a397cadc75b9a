"""Sums over all rows and pairs of a source, in the features that are projected."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..maps import FeatureMap, KernelMap, LinearMap, UnitMap
from ..maps.view_moments import ViewMoments
from ..pairs.couples import couples_to_learn
from ..types import FloatArray
from .batches import CoupleForm, Source, SourceForm
from .block_difference import BlockMatrix
from .couple_sums import CoupleSums, sums_difference
from .passes import DataSums, DegreePass, FeaturePass, FeatureSums
from .view_difference import DifferenceSettings

__all__ = ["SourceSums", "learnable_numbers", "sum_features"]


@dataclass(frozen=True)
class SourceSums:
    """Sums over all rows and pairs.

    Attributes
    ----------
    numbers : tuple of int
        The couples that are learned from, among those of the source.
    forms : tuple of CoupleForm
    couples : tuple of CoupleSums
    moments : tuple of ViewMoments or None
        Moments of the features of each modality with all products, if they were asked for.
    sizes : tuple of int
        Number of features of each modality.
    dtype : dtype of the rows of the first modality
    weighted : array or None
        See :meth:`CoupleSums.difference`.
    """

    numbers: tuple[int, ...]
    forms: tuple[CoupleForm, ...]
    couples: tuple[CoupleSums, ...]
    moments: tuple[ViewMoments | None, ...]
    sizes: tuple[int, ...]
    dtype: np.dtype[Any]
    weighted: FloatArray | None

    def difference(self, whitening: Sequence[FloatArray | None], settings: DifferenceSettings) -> BlockMatrix:
        """The covariance differences of all couples."""
        return sums_difference(self.couples, self.forms, self.sizes, settings, whitening, self.weighted)

    def mean_partners(self) -> float:
        """Mean number of partners of the rows of the larger view of each couple, averaged over the couples."""
        found = [sums.mean_partners() for sums in self.couples]
        return float(np.average(found, weights=[form.weight for form in self.forms]))

    def centred_map(self, modality: int, fitted: FeatureMap) -> FeatureMap:
        """The map with the mean of all rows, if it has that of a sample."""
        inner = fitted.inner if isinstance(fitted, UnitMap) else fitted
        if not isinstance(inner, KernelMap) or inner.mean is None:
            return fitted
        found = copy(inner)
        for sums, form in zip(self.couples, self.forms, strict=True):
            if modality in form.sides:
                found.mean = inner.mean + sums.moments.means()[form.sides.index(modality)]
        return UnitMap(found, fitted.origin) if isinstance(fitted, UnitMap) else found


def sum_features(
    first: DataSums,
    source: Source,
    maps: Sequence[FeatureMap],
    *,
    full: Sequence[bool],
    statistic: str,
    gamma: float,
    need_negatives: bool,
    caller: str,
    known: FeatureSums | None = None,
) -> SourceSums:
    """Sums of the mapped features of all rows: from the first pass if all maps are linear, otherwise by another one.

    Parameters
    ----------
    first : DataSums
    source : Source
    maps : list of FeatureMap
    full : list of bool
        For which modalities the products of all features are needed.
    statistic, gamma
        See :class:`DifferenceSettings`.
    need_negatives : bool
        Whether every couple needs a negative pair.
    caller : str
    known : FeatureSums, optional
        The sums of the mapped features, if they are known already.
    """
    form = source.form
    couples = list(first.couples)
    found: list[ViewMoments | None]
    if known is not None:
        couples, found = (
            known.couples,
            [view if wanted else None for view, wanted in zip(known.views, full, strict=True)],
        )
    elif couples:
        linear = [fitted for fitted in maps if isinstance(fitted, LinearMap)]
        couples = [
            sums.in_features((linear[at.first], linear[at.second]))
            for sums, at in zip(couples, form.couples, strict=True)
        ]
        found = [
            _scaled(first.views[u], fitted) if wanted else None
            for u, (wanted, fitted) in enumerate(zip(full, linear, strict=True))
        ]
    else:
        only = gamma if source.n_batches == 1 else None
        features = source.reduce(FeaturePass(tuple(maps), form.couples, tuple(full), only))
        couples, found = features.couples, features.views
    numbers = learnable_numbers(form, couples, need_negatives=need_negatives, caller=caller)
    chosen = tuple(couples[number] for number in numbers)
    weighted = None
    if statistic == "difference":
        weighted = source.reduce(_degree_pass(maps[0], couples[0])).table
    return SourceSums(
        numbers,
        tuple(form.couples[number] for number in numbers),
        chosen,
        tuple(found),
        tuple(fitted.n_features_out for fitted in maps),
        first.views[0].dtype,
        weighted,
    )


def learnable_numbers(
    form: SourceForm, couples: Sequence[CoupleSums], *, need_negatives: bool, caller: str
) -> tuple[int, ...]:
    """Numbers of the couples that have pairs; an error if pairs are missing."""
    if form.named is None:
        return tuple(range(len(couples)))
    masses = [sums.masses for sums in couples]
    negative = [mass for _, mass in masses] if need_negatives else None
    return tuple(couples_to_learn(form.named, [mass for mass, _ in masses], negative, caller=caller))


def _scaled(moments: ViewMoments, fitted: LinearMap) -> ViewMoments:
    scale = fitted.scale
    if scale is None:
        return moments
    found = copy(moments)
    found.second = moments.second * scale[:, None] * scale
    return found


def _degree_pass(feature_map: FeatureMap, sums: CoupleSums) -> DegreePass:
    groups, by_group = sums.moments.scheme.groups, None
    sizes = sums.moments.rows_x[:, -1]
    if groups is not None:
        by_group = groups.related(sizes[:, None])[:, 0] - groups.self_related()
    return DegreePass(feature_map, float(sizes.sum()), sums.names, by_group)
