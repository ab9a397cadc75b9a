"""What the search for thresholds asks of the projections: costs at the edges of grids, and medians.

:class:`ProjectedViews` is the interface. :class:`ValuesInMemory` answers from arrays;
:class:`~diffhash.learning.threshold_passes.SourceProjections` answers with a pass over the batches of a source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from ..native.binning import bin_extremes
from ..types import BoolArray, FloatArray, IntArray
from .histograms import bin_values, bin_with_extremes

__all__ = [
    "CoupleCost",
    "Grid",
    "GridCosts",
    "GridRequest",
    "ProjectedViews",
    "ValuesInMemory",
    "middle_of_gap",
    "smaller_side",
]

#: ``cost(c, bins_u, bins_v, n_bins)``: costs of couple number c at all thresholds, (n_bits, n_bins - 1, n_bins - 1).
CoupleCost: TypeAlias = Callable[[int, IntArray, IntArray, int], FloatArray]


@dataclass(frozen=True, eq=False)
class Grid:
    """Possible thresholds of the projections of one modality.

    Attributes
    ----------
    edges : array of shape (n_bits, n_bins - 1), increasing
    even : bool
        Whether the edges of a bit are evenly spaced, which makes binning faster.
    """

    edges: FloatArray
    even: bool = True

    @property
    def n_bins(self) -> int:
        """Number of intervals between the edges."""
        return int(self.edges.shape[1]) + 1

    def bins(self, values: FloatArray) -> IntArray:
        """Interval of each value: a uint8 array of shape (n_bits, n) from values of shape (n, n_bits)."""
        if self.even:
            return bin_values(values, self.edges)
        found = [
            np.searchsorted(at, each, side="right") for at, each in zip(self.edges, values.T, strict=True)
        ]
        return np.stack(found).astype(np.uint8)

    def bins_and_extremes(
        self, values: FloatArray, n_own: int
    ) -> tuple[IntArray, tuple[FloatArray, FloatArray]]:
        """The same, and the smallest and largest value of each interval among the first ``n_own`` rows."""
        if self.even:
            found, low, high = bin_with_extremes(values, self.edges, n_own)
            return found, (low, high)
        bins = self.bins(values)
        return bins, bin_extremes(values[:n_own], bins[:, :n_own], self.n_bins)


@dataclass(frozen=True, eq=False)
class GridRequest:
    """A couple, by its number, and the grids of its two modalities; the same grid twice within one view.

    ``gaps`` says whether :attr:`GridCosts.gap` will be asked for.
    """

    couple: int
    first: Grid
    second: Grid
    gaps: bool = True


@dataclass(frozen=True, eq=False)
class GridCosts:
    """What thresholds on a grid cost.

    Attributes
    ----------
    cost : array of shape (n_bits, n_edges, n_edges')
    evenness : two arrays of shape (n_bits, n_edges)
        Share of the rows of each side that are on the smaller side of each edge.
    gap : function
        ``gap(side, cells)``: for each bit, the middle between the largest value below the chosen edge of side 0 or
        1, and the smallest value above it. ``cells`` are the numbers of the first intervals above the edges.
    """

    cost: FloatArray
    evenness: tuple[FloatArray, FloatArray]
    gap: Callable[[int, IntArray], FloatArray]


class ProjectedViews(Protocol):
    """Projections of all modalities, as far as thresholds depend on them."""

    @property
    def n_bits(self) -> int:
        """Number of projections."""

    def spread(self, modality: int) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each projection, about which a grid is made."""

    def costs(self, requests: Sequence[GridRequest]) -> list[GridCosts]:
        """Costs of all requests, in one pass over the data."""

    def medians(self, modality: int) -> tuple[FloatArray, FloatArray]:
        """Median of each projection, and the share of the rows on the smaller side of it."""

    def of_bits(self, bits: slice) -> ProjectedViews:
        """Some of the projections only."""


@dataclass(frozen=True)
class ValuesInMemory:
    """Projections in memory.

    Attributes
    ----------
    values : list of arrays of shape (n, n_bits)
        For each modality.
    couples : list of (u, v)
    cost : function
        Gives the costs of a couple at every threshold pair, from the intervals of the projections.
    """

    values: Sequence[FloatArray]
    couples: Sequence[tuple[int, int]]
    cost: CoupleCost

    @property
    def n_bits(self) -> int:
        """Number of projections."""
        return int(self.values[0].shape[1])

    def spread(self, modality: int) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each projection."""
        values = self.values[modality]
        return values.mean(axis=0, dtype=np.float64), values.std(axis=0, dtype=np.float64)

    def costs(self, requests: Sequence[GridRequest]) -> list[GridCosts]:
        """Costs of all requests."""
        kept: dict[tuple[int, int], tuple[IntArray, FloatArray]] = {}

        def binned(modality: int, grid: Grid) -> tuple[IntArray, FloatArray]:
            key = modality, id(grid)
            if key not in kept:
                bins = grid.bins(self.values[modality])
                kept[key] = bins, smaller_side(bins, grid.n_bins)
            return kept[key]

        found = []
        for request in requests:
            sides = self.couples[request.couple]
            parts = [binned(u, g) for u, g in zip(sides, (request.first, request.second), strict=True)]
            (bins_u, even_u), (bins_v, even_v) = parts

            def gap(
                side: int,
                cells: IntArray,
                sides: tuple[int, int] = sides,
                bins: tuple[IntArray, IntArray] = (bins_u, bins_v),
            ) -> FloatArray:
                return middle_of_gap(self.values[sides[side]], bins[side], cells)

            table = self.cost(request.couple, bins_u, bins_v, request.first.n_bins)
            found.append(GridCosts(table, (even_u, even_v), gap))
        return found

    def medians(self, modality: int) -> tuple[FloatArray, FloatArray]:
        """Median of each projection, and the share of the rows on the smaller side of it."""
        values = self.values[modality]
        medians = np.median(values, axis=0)
        return medians.astype(np.float64), _smaller_share(values - medians >= 0)

    def of_bits(self, bits: slice) -> ValuesInMemory:
        """Some of the projections only."""
        return ValuesInMemory([each[:, bits] for each in self.values], self.couples, self.cost)


def _smaller_share(bits: BoolArray) -> FloatArray:
    """Share of the rarer value of each bit, (n_bits,)."""
    ones = bits.sum(axis=0)
    return np.asarray(np.minimum(ones, len(bits) - ones) / len(bits))


def smaller_side(bins: IntArray, n_bins: int) -> FloatArray:
    """Share of the rows on the smaller side of each threshold of the grid, (n_bits, n_bins - 1)."""
    counts = np.stack([np.bincount(row, minlength=n_bins) for row in bins])
    return smaller_share_of_counts(counts)


def smaller_share_of_counts(counts: IntArray) -> FloatArray:
    """The same from the number of rows in each interval, (n_bits, n_bins)."""
    below = counts.cumsum(axis=1)
    total = below[:, -1:]
    return np.asarray(np.minimum(below, total - below)[:, :-1] / total)


def middle_of_gap(values: FloatArray, bins: IntArray, cell: IntArray) -> FloatArray:
    """For each bit, the middle between the largest value below the chosen edge and the smallest above it.

    It separates the same objects as the edge itself, but no value is so close to it that rounding
    could change the bit.

    Parameters
    ----------
    values : array of shape (n, n_bits)
    bins : int array of shape (n_bits, n)
    cell : int array of shape (n_bits,)
    """
    above = bins >= cell[:, None].astype(bins.dtype)
    low = np.where(above, -np.inf, values.T).max(axis=1)
    high = np.where(above, values.T, np.inf).min(axis=1)
    return middle_between(low, high)


def middle_between(low: FloatArray, high: FloatArray) -> FloatArray:
    """The middle of the largest values below and the smallest values above; infinite if there are none."""
    # If all values are on one side, the bit is constant: use the value nearest to the edge.
    low, high = np.where(np.isinf(low), high, low), np.where(np.isinf(high), low, high)
    middle = low + (high - low) / 2
    # Two adjacent floating point numbers have no middle: use the upper one, so that its bit is 1.
    return np.asarray(np.where(middle > low, middle, high), dtype=np.float64)
