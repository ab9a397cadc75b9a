r"""Thresholds of several modalities that share couples.

For one bit, the cost of the thresholds :math:`t_1, \dots, t_n` is the sum over the couples (u, v) of
:math:`w_{uv} C_{uv}(t_u, t_v)`, where :math:`C_{uv}` is known for all thresholds of a grid from the joint histogram of
the couple. Two modalities are searched exactly. With more, *coordinate descent* searches one modality exactly
while the others are fixed, until nothing changes. It begins at several starts, among them the thresholds that each
couple would choose for itself, so the result never costs more than the best combination of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..pairs.couples import ResolvedCouples
from ..types import BoolArray, FloatArray, IntArray
from .histograms import grid_edges
from .projected_views import CoupleCost, Grid, GridCosts, GridRequest, ProjectedViews, ValuesInMemory
from .thresholds import ThresholdSettings, joint_cost, replace_uneven, search_each

__all__ = ["CoupleCosts", "couple_thresholds", "search_couples", "thresholds_of"]

#: Number of an edge for each modality and bit, of shape (n_modalities, n_bits).
Cells: TypeAlias = NDArray[np.int64]

#: All combinations of the couples' own thresholds are compared if there are at most this many.
_MAX_COMBINATIONS = 1 << 16
#: Largest number of costs (by couple, bit and threshold pair) in memory at a time.
_MAX_COSTS = 1 << 24
_MAX_BINS = 256


def couple_thresholds(
    values: Sequence[FloatArray], couples: ResolvedCouples, settings: ThresholdSettings
) -> list[FloatArray]:
    """Thresholds of every modality and bit, by the method in ``settings``.

    Parameters
    ----------
    values : list of arrays of shape (n, n_bits)
        Projections of each modality without thresholds.
    couples : ResolvedCouples
    settings : ThresholdSettings

    Returns
    -------
    list of arrays of shape (n_bits,)
        Added to the projections: the bit is ``x + a >= 0``.
    """
    if settings.method == "zero":
        return [np.zeros(each.shape[1]) for each in values]

    def cost(number: int, bins_u: IntArray, bins_v: IntArray, n: int) -> FloatArray:
        couple = couples.couples[number]
        weight = 1.0 if len(couples) == 1 else couple.weight
        return weight * joint_cost(bins_u, bins_v, couple.pairs, settings.miss_weight, n)

    sides = [couple.sides for couple in couples]
    return thresholds_of(ValuesInMemory(values, sides, cost), len(values), sides, settings)


def thresholds_of(
    views: ProjectedViews, n_modalities: int, couples: Sequence[tuple[int, int]], settings: ThresholdSettings
) -> list[FloatArray]:
    """The same from projections that need not be in memory."""
    if settings.method == "zero":
        return [np.zeros(views.n_bits) for _ in range(n_modalities)]
    if settings.method == "median":
        return [-views.medians(u)[0] for u in range(n_modalities)]
    share, n_bins = settings.min_share, settings.n_bins
    if len(couples) == 1:
        u, v = couples[0]
        a, b, _ = search_each(views, couples, min_share=share, n_bins=n_bins)[0]
        return [a] if u == v else [a, b] if u < v else [b, a]
    return search_views(views, couples, min_share=share, n_bins=n_bins)[0]


def search_couples(
    values: Sequence[FloatArray],
    couples: Sequence[tuple[int, int]],
    cost: CoupleCost,
    *,
    min_share: float,
    n_bins: int,
) -> tuple[list[FloatArray], FloatArray]:
    """The thresholds with the lowest sum of costs over several couples.

    Parameters
    ----------
    values : list of arrays of shape (n, n_bits)
        Projections of each modality.
    couples : list of (u, v)
        Numbers of the modalities of each couple.
    cost : function
        Gives the costs of a couple at every threshold pair, from the intervals of the projections.
    min_share, n_bins
        See :func:`~diffhash.learning.thresholds.search_grid`.

    Returns
    -------
    thresholds : list of arrays of shape (n_bits,)
    lowest : array of shape (n_bits,)
        Sum of the costs at these thresholds.
    """
    return search_views(ValuesInMemory(values, couples, cost), couples, min_share=min_share, n_bins=n_bins)


def search_views(
    views: ProjectedViews, couples: Sequence[tuple[int, int]], *, min_share: float, n_bins: int
) -> tuple[list[FloatArray], FloatArray]:
    """The same from projections that need not be in memory."""
    step = max(1, _MAX_COSTS // (len(couples) * n_bins**2))
    found = [
        _search(
            views if step >= views.n_bits else views.of_bits(slice(start, min(start + step, views.n_bits))),
            couples,
            min_share,
            n_bins,
        )
        for start in range(0, views.n_bits, step)
    ]
    thresholds = [np.concatenate(parts) for parts in zip(*(each for each, _ in found), strict=True)]
    return thresholds, np.concatenate([lowest for _, lowest in found])


def _search(
    views: ProjectedViews, couples: Sequence[tuple[int, int]], min_share: float, n_bins: int
) -> tuple[list[FloatArray], FloatArray]:
    modalities = range(1 + max(max(sides) for sides in couples))
    own = _own_thresholds(views, couples, min_share, n_bins)
    grids = [grid_edges(*views.spread(u), min(n_bins, _MAX_BINS - len(couples))) for u in modalities]
    # As many edges for every modality: a threshold of its own that is missing is replaced by another one.
    edges = [
        np.sort(np.column_stack([grid, *np.resize(mine, (len(couples), mine.shape[1]))]), axis=1)
        for grid, mine in zip(grids, own, strict=True)
    ]
    coarse = CoupleCosts.at(views, edges, couples, min_share, gaps=False)
    cells = coarse.best(coarse.starts(own, edges))
    chosen = [np.take_along_axis(e, c[:, None], axis=1) for e, c in zip(edges, cells, strict=True)]
    steps = np.arange(n_bins - 1) - (n_bins - 1) // 2
    edges = [
        at + (grid[:, 1:2] - grid[:, :1]) * steps / ((n_bins - 1) // 2)
        for at, grid in zip(chosen, grids, strict=True)
    ]
    fine = CoupleCosts.at(views, edges, couples, min_share)
    cells = fine.best([np.full(cells.shape, (n_bins - 1) // 2)])
    thresholds = [
        replace_uneven(
            views,
            u,
            -fine.gap(u, at + 1),
            np.take_along_axis(fine.evenness[u], at[:, None], axis=1)[:, 0],
            min_share,
        )
        for u, at in zip(modalities, cells, strict=True)
    ]
    return thresholds, fine.total(cells)


def _own_thresholds(
    views: ProjectedViews, couples: Sequence[tuple[int, int]], min_share: float, n_bins: int
) -> list[FloatArray]:
    """For each modality, where the thresholds lie that each of its couples would choose: (n_couples, n_bits)."""
    found: list[list[FloatArray]] = [[] for _ in range(1 + max(max(sides) for sides in couples))]
    chosen = search_each(views, couples, min_share=min_share, n_bins=n_bins)
    for (u, v), (a, b, _) in zip(couples, chosen, strict=True):
        found[u].append(-a)
        if u != v:
            found[v].append(-b)
    return [np.stack(each) for each in found]


@dataclass(frozen=True)
class CoupleCosts:
    """Costs of all couples at the edges of one grid, and the search for the lowest sum.

    Attributes
    ----------
    couples : list of (u, v)
    tables : list of arrays of shape (n_bits, n_edges, n_edges)
        For each couple.
    allowed : bool array of shape (n_modalities, n_bits, n_edges)
        Thresholds that leave enough objects on either side.
    evenness : array of shape (n_modalities, n_bits, n_edges)
        Share of the objects on the smaller side.
    measured : list of GridCosts
        Where the tables come from.
    """

    couples: Sequence[tuple[int, int]]
    tables: list[FloatArray]
    allowed: BoolArray
    evenness: FloatArray
    measured: list[GridCosts]

    @classmethod
    def at(
        cls,
        views: ProjectedViews,
        edges: Sequence[FloatArray],
        couples: Sequence[tuple[int, int]],
        min_share: float,
        *,
        gaps: bool = True,
    ) -> CoupleCosts:
        """Costs at given edges, for each modality an array of shape (n_bits, n_edges)."""
        grids = [Grid(at, even=False) for at in edges]
        measured = views.costs([GridRequest(c, grids[u], grids[v], gaps) for c, (u, v) in enumerate(couples)])
        by_modality = {
            u: each.evenness[side]
            for each, sides in zip(measured, couples, strict=True)
            for side, u in enumerate(sides)
        }
        evenness = np.stack([by_modality[u] for u in range(len(edges))])
        allowed = (evenness >= min_share) & (evenness > 0)
        # If no threshold leaves enough objects on either side, the most even ones are allowed.
        allowed |= ~allowed.any(axis=2, keepdims=True) & (evenness == evenness.max(axis=2, keepdims=True))
        return cls(couples, [each.cost for each in measured], allowed, evenness, measured)

    @classmethod
    def of(
        cls,
        values: Sequence[FloatArray],
        edges: Sequence[FloatArray],
        couples: Sequence[tuple[int, int]],
        cost: CoupleCost,
        min_share: float,
    ) -> CoupleCosts:
        """The same from projections in memory."""
        return cls.at(ValuesInMemory(values, couples, cost), edges, couples, min_share)

    def gap(self, modality: int, cells: IntArray) -> FloatArray:
        """See :attr:`GridCosts.gap`; any couple of the modality tells it."""
        for each, sides in zip(self.measured, self.couples, strict=True):
            if modality in sides:
                return each.gap(sides.index(modality), cells)
        raise AssertionError("every modality has a couple")

    def total(self, cells: Cells) -> FloatArray:
        """Sum of the costs of all couples, of shape (n_bits,)."""
        bits = np.arange(cells.shape[-1])
        return np.asarray(
            sum(
                table[bits, cells[u], cells[v]]
                for table, (u, v) in zip(self.tables, self.couples, strict=True)
            )
        )

    def best(self, starts: Sequence[Cells]) -> Cells:
        """The cells of lowest cost: exact for two modalities, otherwise by descent from every start."""
        if len(self.allowed) == 2:
            return self._best_of_two()
        found = [self._descend(start) for start in starts]
        lowest = np.argmin([self.total(each) for each in found], axis=0)
        return np.asarray(np.take_along_axis(np.stack(found), lowest[None, None, :], axis=0)[0])

    def _best_of_two(self) -> Cells:
        n_bits, n_edges, _ = self.tables[0].shape
        table = np.zeros((n_bits, n_edges, n_edges))
        for each, (u, v) in zip(self.tables, self.couples, strict=True):
            if u == v:
                diagonal = np.einsum("bii->bi", each)
                table += diagonal[:, :, None] if u == 0 else diagonal[:, None, :]
            else:
                table += each if u == 0 else each.transpose(0, 2, 1)
        allowed = self.allowed[0][:, :, None] & self.allowed[1][:, None, :]
        best = np.where(allowed, table, np.inf).reshape(n_bits, -1).argmin(axis=1)
        return np.stack([best // n_edges, best % n_edges])

    def _descend(self, start: Cells) -> Cells:
        """Coordinate descent: each step is an exact search in one modality."""
        cells = start.copy()
        while True:
            before = cells.copy()
            for u in range(len(cells)):
                cells[u] = self._best_in(u, cells, range(len(cells)))
            if np.array_equal(cells, before):
                return cells

    def _best_in(self, u: int, cells: Cells, fixed: Sequence[int] | range) -> IntArray:
        """The best cell of one modality given the others; the present one if it is as good."""
        n_bits, n_edges, _ = self.tables[0].shape
        bits = np.arange(n_bits)
        costs = np.zeros((n_bits, n_edges))
        for table, (first, second) in zip(self.tables, self.couples, strict=True):
            if first == second == u:
                costs += np.einsum("bii->bi", table)
            elif first == u and second in fixed:
                costs += table[bits, :, cells[second]]
            elif second == u and first in fixed:
                costs += table[bits, cells[first]]
        costs[~self.allowed[u]] = np.inf
        best = costs.argmin(axis=1)
        # A change by rounding alone could go round in circles.
        better = costs[bits, best] < costs[bits, cells[u]] - 1e-12
        return np.asarray(np.where(better, best, cells[u]))

    def starts(self, own: Sequence[FloatArray], edges: Sequence[FloatArray]) -> list[Cells]:
        """Where the descent begins.

        The best combination of the thresholds that the couples chose for themselves, the thresholds of each
        couple followed by the others one by one, and the most even thresholds.
        """
        candidates = [
            np.array([[np.searchsorted(e, t) for e, t in zip(at, each, strict=True)] for each in mine])
            for mine, at in zip(own, edges, strict=True)
        ]
        even = self.evenness.argmax(axis=2)
        found = [even]
        if np.prod([len(each) for each in candidates], dtype=float) <= _MAX_COMBINATIONS:
            found.append(self._best_combination(candidates))
        seen = [0] * len(own)
        for u, v in self.couples:
            cells, fixed = even.copy(), list(dict.fromkeys((u, v)))
            for side in fixed:
                cells[side] = candidates[side][seen[side]]
                seen[side] += 1
            for other in self._outwards(fixed):
                cells[other] = self._best_in(other, cells, fixed)
                fixed.append(other)
            found.append(cells)
        return found

    def _outwards(self, known: Sequence[int]) -> Iterator[int]:
        """The other modalities, each after one that it has a couple with."""
        reached = set(known)
        while len(reached) < len(self.allowed):
            step = next(s for s in self.couples if len(reached & set(s)) == 1 and s[0] != s[1])
            (other,) = set(step) - reached
            reached.add(other)
            yield other

    def _best_combination(self, candidates: Sequence[IntArray]) -> Cells:
        """The best choice of one candidate for each modality, for each bit."""
        n_bits = candidates[0].shape[1]
        bits = np.arange(n_bits)[:, None]
        # One axis for each modality, along its candidates.
        totals = np.zeros((n_bits, *map(len, candidates)))
        for table, (u, v) in zip(self.tables, self.couples, strict=True):
            if u == v:
                costs = table[bits, candidates[u].T, candidates[u].T]
            else:
                low, high = min(u, v), max(u, v)
                ordered = table if u < v else table.transpose(0, 2, 1)
                costs = ordered[bits[:, :, None], candidates[low].T[:, :, None], candidates[high].T[:, None]]
            shape = [len(each) if side in (u, v) else 1 for side, each in enumerate(candidates)]
            totals += costs.reshape(n_bits, *shape)
        best = np.unravel_index(totals.reshape(n_bits, -1).argmin(axis=1), totals.shape[1:])
        return np.stack([each[k, bits[:, 0]] for each, k in zip(candidates, best, strict=True)])
