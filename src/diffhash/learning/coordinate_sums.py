"""Sums over the rows and pairs of a source along principal axes, from which paired directions follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..maps import FeatureMap, LinearMap, MappedView
from ..maps.mapped_view import block_rows
from ..maps.view_moments import ViewMoments
from ..pairs.resolved import ResolvedPairs
from .batches import Batch, CoupleForm, Source
from .block_difference import BlockMatrix
from .couple_sums import CoupleSums
from .paired_directions import PAIR_SETTINGS, PrincipalAxes
from .passes import FeatureSums

__all__ = ["coordinate_sums"]


@dataclass(frozen=True)
class _CoordinatePass:
    """Job: moments of the coordinates of each modality, and sums over the pairs of each couple.

    Attributes
    ----------
    maps : tuple of FeatureMap
    axes : tuple of PrincipalAxes
    forms : tuple of CoupleForm
        Of the couples that are summed.
    numbers : tuple of int
        Numbers of these couples in a batch.
    """

    maps: tuple[FeatureMap, ...]
    axes: tuple[PrincipalAxes, ...]
    forms: tuple[CoupleForm, ...]
    numbers: tuple[int, ...]

    def __call__(self, batch: Batch) -> FeatureSums:
        pairs = [batch.pairs[number] for number in self.numbers]
        own = [batch.n_own(u) for u in range(len(batch.views))]
        if batch.guests is not None or not all(map(_only_aligned, pairs)) or not own[0]:
            return self._sums(batch.views, pairs, own)
        # Only some coordinates of aligned rows are in memory at a time.
        width = max(len(axes.variances) for axes in self.axes)
        total: FeatureSums | None = None
        for rows in block_rows(own[0], width):
            n = rows.stop - rows.start
            index = np.arange(n)
            aligned = ResolvedPairs(n, n, False, (index, index), None, None, aligned=True)
            part = self._sums([X[rows] for X in batch.views], [aligned] * len(pairs), [n] * len(own))
            total = part if total is None else total.merge(part)
        assert total is not None, "there are rows"
        return total

    def _sums(self, views: Sequence[Any], pairs: Sequence[ResolvedPairs], own: Sequence[int]) -> FeatureSums:
        coordinates = []
        for X, fitted, axes in zip(views, self.maps, self.axes, strict=True):
            values = axes.coordinates(MappedView(X, fitted, keep_bytes=0))
            coordinates.append(MappedView(values, LinearMap(np.zeros(values.shape[1]))))
        couples = []
        for form, of_couple in zip(self.forms, pairs, strict=True):
            x, y = (coordinates[u] for u in form.sides)
            couples.append(CoupleSums.of(x, y, of_couple, own=(own[form.first], own[form.second])))
        moments: list[ViewMoments | None] = [
            ViewMoments.of(view.X[:n]) for view, n in zip(coordinates, own, strict=True)
        ]
        return FeatureSums(couples, moments)


def _only_aligned(pairs: ResolvedPairs) -> bool:
    """Whether the pairs are aligned rows, and nothing else is listed."""
    listed = pairs.negative is not None or pairs.groups is not None or pairs.weighted
    return pairs.aligned and not pairs.one_view and not listed


def coordinate_sums(
    source: Source, maps: Sequence[FeatureMap], axes: Sequence[PrincipalAxes], numbers: Sequence[int]
) -> tuple[list[PrincipalAxes], BlockMatrix]:
    """Axes with the variances of all rows, and the covariances of all couples times their weights.

    Parameters
    ----------
    source : Source
    maps : list of FeatureMap
        Of each modality.
    axes : list of PrincipalAxes
        Of the mapped features, learned from a sample.
    numbers : list of int
        The couples that are learned from.
    """
    forms = tuple(source.form.couples[number] for number in numbers)
    sums = source.reduce(_CoordinatePass(tuple(maps), tuple(axes), forms, tuple(numbers)))
    measured = []
    for each, moments in zip(axes, sums.views, strict=True):
        assert moments is not None, "the moments of all modalities were summed"
        measured.append(each.with_variances(moments.variance))
    blocks = {
        form.sides: -form.weight * couple.difference(PAIR_SETTINGS)
        for form, couple in zip(forms, sums.couples, strict=True)
    }
    return measured, BlockMatrix(tuple(len(each.variances) for each in axes), blocks)
