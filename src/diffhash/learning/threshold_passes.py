"""Thresholds from passes over a source: joint histograms, and the smallest and largest value of each interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..maps import FeatureMap
from ..native.column_moments import column_moments
from ..pairs.group_names import GroupNames
from ..pairs.resolved import PairScheme
from ..pairs.tiny_groups import listed_scheme, pairs_of_groups
from ..types import FloatArray, IntArray
from .batches import Batch, CoupleForm, Source
from .histograms import JointHistogram
from .passes import DataSums
from .projected_views import Grid, GridCosts, GridRequest, middle_between, smaller_share_of_counts
from .radix_medians import radix_medians
from .source_sums import SourceSums
from .thresholds import ThresholdSettings, error_shares

__all__ = ["BinExtremes", "HistogramPass", "HistogramSums", "SourceProjections"]

#: Largest number of counts (by group, bit and interval) in memory at a time.
_MAX_GROUP_CELLS = 1 << 24


@dataclass
class BinExtremes:
    """Smallest and largest value of each interval, of shape (n_bits, n_bins); infinite if it has no values."""

    low: FloatArray
    high: FloatArray

    def merge(self, other: BinExtremes) -> BinExtremes:
        """Add another part."""
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return self

    def gap(self, cells: IntArray) -> FloatArray:
        """The middle between the largest value below a cell and the smallest in it or above."""
        above = np.arange(self.low.shape[1]) >= cells[:, None]
        low = np.where(above, -np.inf, self.high).max(axis=1)
        high = np.where(above, self.low, np.inf).min(axis=1)
        return middle_between(low, high)


@dataclass
class HistogramSums:
    """Joint histograms of couples, and the extremes of the grids of which they are asked for."""

    histograms: list[JointHistogram]
    extremes: list[BinExtremes | None]

    def merge(self, other: HistogramSums) -> HistogramSums:
        """Add another part."""
        for mine, theirs in zip(self.histograms, other.histograms, strict=True):
            mine.merge(theirs)
        for one, two in zip(self.extremes, other.extremes, strict=True):
            if one is not None and two is not None:
                one.merge(two)
        return self


@dataclass(frozen=True)
class HistogramPass:
    """Job: joint histograms of the projections of couples.

    Attributes
    ----------
    maps, projections : tuples, one for each modality
    grids : tuple of (modality, Grid, bool)
        The bool: whether the extremes of the intervals are wanted.
    couples : tuple of (couple, PairScheme, GroupNames or None, first grid, second grid)
        Numbers of the couple and of its grids; the scheme has the groups of all batches.
    bits : slice
        Which of the projections to use.
    """

    maps: tuple[FeatureMap, ...]
    projections: tuple[FloatArray, ...]
    grids: tuple[tuple[int, Grid, bool], ...]
    couples: tuple[tuple[int, PairScheme, GroupNames | None, int, int], ...]
    sides: tuple[tuple[int, int], ...]
    bits: slice

    def __call__(self, batch: Batch) -> HistogramSums:
        """Counts of one batch."""
        bins, extremes = list[IntArray](), list[BinExtremes | None]()
        for modality, grid, wanted in self.grids:
            whole = batch.projected(modality, self.maps[modality], self.projections[modality])
            values = whole[:, self.bits]
            if wanted:
                found, range_of_bins = grid.bins_and_extremes(values, batch.n_own(modality))
                extremes.append(BinExtremes(*range_of_bins))
            else:
                found = grid.bins(values)
                extremes.append(None)
            bins.append(found)
        histograms = []
        for (number, scheme, names, first, second), (u, v) in zip(self.couples, self.sides, strict=True):
            pairs = batch.pairs[number]
            if scheme.positive_listed and pairs.positive is None and pairs.groups is not None:
                # Tiny groups of the only batch.
                index = pairs_of_groups(pairs.groups, one_view=pairs.one_view)
                pairs = replace(pairs, positive=index)
            groups_x = groups_y = None
            if names is not None and pairs.groups is not None:
                local, numbers = GroupNames.of(pairs.groups)
                there = names.positions(local.keys)[numbers]
                groups_x, groups_y = there[pairs.groups.x], there[pairs.groups.y]
            histograms.append(
                JointHistogram(scheme, len(bins[first]), self.grids[first][1].n_bins).update(
                    bins[first],
                    None if scheme.one_view else bins[second],
                    positive=pairs.positive,
                    negative=pairs.negative,
                    groups_x=groups_x,
                    groups_y=groups_y,
                    positive_weights=pairs.positive_weights,
                    negative_weights=pairs.negative_weights,
                    own=(batch.n_own(u), batch.n_own(v)),
                )
            )
        return HistogramSums(histograms, extremes)


@dataclass(frozen=True, eq=False)
class SourceProjections:
    """Projections of the rows of a source, for :mod:`diffhash.learning.thresholds`.

    Attributes
    ----------
    source : Source
    maps, projections : tuples, one for each modality
    spreads : tuple of (mean, deviation)
        Of the projections of each modality, from a sample.
    numbers : tuple of int
        Numbers of the couples that are learned from, among those of the source.
    forms : tuple of CoupleForm
    schemes : tuple of PairScheme
        With the groups of all batches.
    names : tuple of GroupNames or None
    miss_weight : float
    n_rows : tuple of int
    dtypes : tuple of dtypes
    """

    source: Source
    maps: tuple[FeatureMap, ...]
    projections: tuple[FloatArray, ...]
    spreads: tuple[tuple[FloatArray, FloatArray], ...]
    numbers: tuple[int, ...]
    forms: tuple[CoupleForm, ...]
    schemes: tuple[PairScheme, ...]
    names: tuple[GroupNames | None, ...]
    miss_weight: float
    n_rows: tuple[int, ...]
    dtypes: tuple[np.dtype[Any], ...]
    bits: slice = field(default_factory=lambda: slice(None))

    @classmethod
    def of(
        cls,
        source: Source,
        sums: SourceSums,
        first: DataSums,
        maps: Sequence[FeatureMap],
        projections: Sequence[FloatArray],
        settings: ThresholdSettings,
    ) -> SourceProjections:
        """Projections of the rows of a source after the first pass and the sums of its features."""
        spreads = []
        for u, (fitted, P) in enumerate(zip(maps, projections, strict=True)):
            values = first.sample.projected(u, fitted, P)
            found = column_moments(values)
            spreads.append((found.mean, np.sqrt(found.squares / len(values))))
        # Rows of a group may be in several batches, so only those of a single batch can be listed.
        listed = [source.n_batches == 1 and each.has_tiny_groups for each in sums.couples]
        schemes = [each.moments.scheme for each in sums.couples]
        return cls(
            source,
            tuple(maps),
            tuple(projections),
            tuple(spreads),
            sums.numbers,
            sums.forms,
            tuple(listed_scheme(s) if tiny else s for s, tiny in zip(schemes, listed, strict=True)),
            tuple(None if tiny else each.names for each, tiny in zip(sums.couples, listed, strict=True)),
            settings.miss_weight,
            first.sample.n_rows,
            tuple(view.dtype for view in first.views),
        )

    @property
    def n_bits(self) -> int:
        """Number of projections."""
        return len(range(*self.bits.indices(len(self.projections[0]))))

    def spread(self, modality: int) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each projection."""
        mean, deviation = self.spreads[modality]
        return mean[self.bits], deviation[self.bits]

    def costs(self, requests: Sequence[GridRequest]) -> list[GridCosts]:
        """Costs of all requests, in one pass; in more passes if labels make very many groups."""
        grids: list[tuple[int, Grid, bool]] = []
        places: dict[tuple[int, int], int] = {}

        def place(modality: int, grid: Grid, gaps: bool) -> int:
            key = modality, id(grid)
            if key not in places:
                places[key] = len(grids)
                grids.append((modality, grid, gaps))
            return places[key]

        asked = [
            (
                r,
                place(self.forms[r.couple].first, r.first, r.gaps),
                place(self.forms[r.couple].second, r.second, r.gaps),
            )
            for r in requests
        ]
        most = max(self.schemes[r.couple].n_groups * r.first.n_bins for r in requests)
        step = max(1, _MAX_GROUP_CELLS // most)
        start = self.bits.indices(len(self.projections[0]))[0]
        parts = []
        for begin in range(0, self.n_bits, step):
            end = min(begin + step, self.n_bits)
            job = HistogramPass(
                self.maps,
                self.projections,
                tuple((u, replace(grid, edges=grid.edges[begin:end]), gaps) for u, grid, gaps in grids),
                tuple(
                    (self.numbers[r.couple], self.schemes[r.couple], self.names[r.couple], first, second)
                    for r, first, second in asked
                ),
                tuple(self.forms[r.couple].sides for r in requests),
                slice(start + begin, start + end),
            )
            sums = self.source.reduce(job)
            # The histograms of very many groups are large: only what follows from them is kept.
            found = [self._measured(h, r) for h, r in zip(sums.histograms, requests, strict=True)]
            parts.append((found, sums.extremes))
        return [self._joined(k, asked[k][1:], parts) for k in range(len(requests))]

    def _measured(
        self, histogram: JointHistogram, request: GridRequest
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        cost = error_shares(*histogram.counts(), self.miss_weight)
        if len(self.forms) > 1:
            cost *= self.forms[request.couple].weight
        x, y = (smaller_share_of_counts(rows.sum(axis=0)) for rows in (histogram.rows_x, histogram.rows_y))
        return cost, x, y

    @staticmethod
    def _joined(number: int, places: tuple[int, int], parts: Sequence[Any]) -> GridCosts:
        cost, x, y = (_concatenated([found[number][k] for found, _ in parts]) for k in range(3))

        def gap(side: int, cells: IntArray) -> FloatArray:
            found, begin = [], 0
            for _, of_grids in parts:
                extremes = of_grids[places[side]]
                assert extremes is not None, "gaps were not asked for"
                end = begin + len(extremes.low)
                found.append(extremes.gap(cells[begin:end]))
                begin = end
            return np.concatenate(found)

        return GridCosts(cost, (x, y), gap)

    def medians(self, modality: int) -> tuple[FloatArray, FloatArray]:
        """Median of each projection, and the share of the rows on the smaller side of it."""
        found = radix_medians(
            self.source,
            modality,
            self.maps[modality],
            self.projections[modality],
            self.n_rows[modality],
            self.dtypes[modality],
        )
        return found[0][self.bits], found[1][self.bits]

    def of_bits(self, bits: slice) -> SourceProjections:
        """Some of the projections only."""
        start, stop, _ = bits.indices(self.n_bits)
        first = self.bits.indices(len(self.projections[0]))[0]
        return replace(self, bits=slice(first + start, first + stop))


def _concatenated(parts: Sequence[FloatArray]) -> FloatArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
