"""Costs of thresholds of several couples at the edges of one grid, and the search for the lowest sum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..types import BoolArray, FloatArray, IntArray
from .projected_views import CoupleCost, Grid, GridCosts, GridRequest, ProjectedViews, ValuesInMemory

__all__ = ["Cells", "CoupleCosts"]

#: Number of an edge for each modality and bit, of shape (n_modalities, n_bits).
Cells: TypeAlias = NDArray[np.int64]

#: All combinations of the couples' own thresholds are compared if there are at most this many.
_MAX_COMBINATIONS = 1 << 16


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

    @cached_property
    def _tables_of(self) -> list[list[tuple[FloatArray, tuple[int, int]]]]:
        """For each modality, the tables of its couples."""
        every = list(zip(self.tables, self.couples, strict=True))
        return [[entry for entry in every if u in entry[1]] for u in range(len(self.allowed))]

    def _best_in(self, u: int, cells: Cells, fixed: Sequence[int] | range) -> IntArray:
        """The best cell of one modality given the others; the present one if it is as good."""
        n_bits, n_edges, _ = self.tables[0].shape
        bits = np.arange(n_bits)
        costs = np.zeros((n_bits, n_edges))
        for table, (first, second) in self._tables_of[u]:
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
        candidates = [np.minimum(each, at.shape[1] - 1) for each, at in zip(candidates, edges, strict=True)]
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
        # One axis for each modality that has a choice, along its candidates. NumPy has at most 64 axes.
        axes = [side for side, each in enumerate(candidates) if len(each) > 1]
        totals = np.zeros((n_bits, *(len(candidates[side]) for side in axes)))
        for table, (u, v) in zip(self.tables, self.couples, strict=True):
            if u == v:
                costs = table[bits, candidates[u].T, candidates[u].T]
            else:
                low, high = min(u, v), max(u, v)
                ordered = table if u < v else table.transpose(0, 2, 1)
                costs = ordered[bits[:, :, None], candidates[low].T[:, :, None], candidates[high].T[:, None]]
            totals += costs.reshape(
                n_bits, *(len(candidates[side]) if side in (u, v) else 1 for side in axes)
            )
        cells = np.stack([each[0] for each in candidates])
        if axes:
            best = np.unravel_index(totals.reshape(n_bits, -1).argmin(axis=1), totals.shape[1:])
            for side, k in zip(axes, best, strict=True):
                cells[side] = candidates[side][k, bits[:, 0]]
        return cells
