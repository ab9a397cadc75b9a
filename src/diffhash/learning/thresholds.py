r"""Thresholds from joint counts of pairs.

For one bit, a pair falls into the cell (u, v) of a grid if x is projected into interval u and y into
interval v. Cumulative sums of the counts of positives and negatives give the exact number of pairs that
agree in the bit, for all threshold pairs of the grid at once:

.. math:: \mathrm{FN}(a, b) = 1 - \mathrm{agree}_P(a, b), \qquad \mathrm{FP}(a, b) = \mathrm{agree}_N(a, b).

The paper multiplies marginals instead. On positives x and y are dependent, so the product of marginals
is another quantity. With the paper's weight gamma of FN, a constant bit has the lowest cost. Here the
counts are joint, the weight is a parameter of its own (``miss_weight``, 1 by default), and thresholds
that give nearly all objects of a view the same bit are not allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..native.error_shares import error_shares as native_error_shares
from ..pairs.resolved import ResolvedPairs
from ..pairs.tiny_groups import with_listed_groups
from ..types import FloatArray, IntArray
from .histograms import Counts, JointHistogram, grid_edges
from .projected_views import Grid, GridRequest, ProjectedViews, ValuesInMemory

__all__ = [
    "JointHistogram",
    "ThresholdSettings",
    "agreement",
    "choose_thresholds",
    "error_shares",
    "joint_cost",
    "replace_uneven",
    "search_each",
    "search_grid",
]

#: ``cost(bins_x, bins_y)``: from bins of shape (n_bits, n) to costs (n_bits, n_bins - 1, n_bins - 1).
GridCost: TypeAlias = Callable[[IntArray, IntArray], FloatArray]

#: Largest number of counts (by group, bit and interval) in memory at a time.
_MAX_GROUP_CELLS = 1 << 24


@dataclass(frozen=True)
class ThresholdSettings:
    """How thresholds are chosen.

    Attributes
    ----------
    method : {"joint", "zero", "median"}
        "joint": minimise the errors of each bit, counted on the pairs. "zero": all thresholds are 0.
        "median": half of the objects of each view are on either side.
    miss_weight, min_share, n_bins
        For "joint", see :func:`choose_thresholds`.
    """

    method: str = "joint"
    miss_weight: float = 1.0
    min_share: float = 0.05
    n_bins: int = 64


def choose_thresholds(
    x: FloatArray,
    y: FloatArray | None,
    pairs: ResolvedPairs,
    *,
    miss_weight: float = 1.0,
    min_share: float = 0.05,
    n_bins: int = 64,
) -> tuple[FloatArray, FloatArray]:
    """The thresholds of every bit that minimise ``miss_weight * FN + FP`` on a grid, refined once.

    Parameters
    ----------
    x, y : arrays of shape (n, n_bits), (n', n_bits)
        Projections; ``y`` None for one view, which then has one threshold (a = b).
    pairs : ResolvedPairs
    miss_weight : float
        Weight of the missed positives (FN); the accepted negatives (FP) have weight 1.
    min_share, n_bins
        See :func:`search_grid`.

    Returns
    -------
    a, b : arrays of shape (n_bits,)
        Added to the projections: the bit is ``x + a >= 0``.
    """

    def cost(bins_x: IntArray, bins_y: IntArray) -> FloatArray:
        return joint_cost(bins_x, bins_y, pairs, miss_weight, n_bins)

    a, b, _ = search_grid(x, y, cost, min_share=min_share, n_bins=n_bins)
    return a, b


def joint_cost(
    bins_x: IntArray, bins_y: IntArray, pairs: ResolvedPairs, miss_weight: float, n_bins: int
) -> FloatArray:
    """``miss_weight * FN + FP`` for every bit and every threshold pair of the grid.

    Parameters
    ----------
    bins_x, bins_y : int arrays of shape (n_bits, n), (n_bits, n')
    pairs : ResolvedPairs
    miss_weight : float
    n_bins : int

    Returns
    -------
    array of shape (n_bits, n_bins - 1, n_bins - 1)
    """
    pairs = with_listed_groups(pairs)
    scheme = pairs.scheme
    groups_x, groups_y = (None, None) if scheme.groups is None else (scheme.groups.x, scheme.groups.y)
    n_bits = len(bins_x)
    costs = []
    # With many label sets the counts of each group and bit need much memory: process a few bits at a time.
    step = max(1, _MAX_GROUP_CELLS // (n_bins * scheme.n_groups))
    for start in range(0, n_bits, step):
        bits = slice(start, min(start + step, n_bits))
        histogram = JointHistogram(scheme, bits.stop - bits.start, n_bins).update(
            bins_x[bits],
            None if scheme.one_view else bins_y[bits],
            positive=pairs.positive,
            negative=pairs.negative,
            groups_x=groups_x,
            groups_y=groups_y,
            positive_weights=pairs.positive_weights,
            negative_weights=pairs.negative_weights,
        )
        positive, negative = histogram.counts()
        costs.append(error_shares(positive, negative, miss_weight))
    return np.concatenate(costs)


def error_shares(positive: Counts, negative: Counts, miss_weight: float) -> FloatArray:
    """``miss_weight * FN + FP`` from the counts in every cell, of shape (n_bits, n_bins, n_bins)."""
    return native_error_shares(positive, negative, miss_weight)


def agreement(counts: Counts) -> Counts:
    """Number of pairs whose two bits are equal, for every threshold pair.

    Parameters
    ----------
    counts : array of shape (n_bits, n_bins, n_bins)

    Returns
    -------
    array of shape (n_bits, n_bins - 1, n_bins - 1)
        Entry (u, v): the thresholds lie between intervals u and u + 1 of x, and v and v + 1 of y.

    Examples
    --------
    >>> agreement(np.array([[[5, 1], [2, 7]]]))
    array([[[12]]])
    """
    below = counts.cumsum(axis=1).cumsum(axis=2)
    both_below = below[:, :-1, :-1]
    return np.asarray(2 * both_below + below[:, -1:, -1:] - below[:, :-1, -1:] - below[:, -1:, :-1])


def search_grid(
    x: FloatArray, y: FloatArray | None, cost: GridCost, *, min_share: float, n_bins: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The thresholds of lowest cost, first on a grid around the mean, then on a finer grid around the best cell.

    Parameters
    ----------
    x, y : arrays of shape (n, n_bits), (n', n_bits)
        Projections; ``y`` None for one view, which then has one threshold (a = b).
    cost : function
        Gives the cost of every threshold pair, from the intervals of the projections.
    min_share : float
        Smallest allowed share of the objects of a view on one side of a threshold. If no threshold of
        the grid satisfies this, the one with the most equal shares is used.
    n_bins : int, 4 to 256
        Number of intervals of each grid.

    Returns
    -------
    a, b : arrays of shape (n_bits,)
    lowest : array of shape (n_bits,)
        Cost at these thresholds.
    """
    sides = (0, 0) if y is None else (0, 1)

    def only(_: int, bins_x: IntArray, bins_y: IntArray, __: int) -> FloatArray:
        return cost(bins_x, bins_y)

    values = ValuesInMemory([x] if y is None else [x, y], [sides], only)
    return search_each(values, [sides], min_share=min_share, n_bins=n_bins)[0]


def search_each(
    views: ProjectedViews, couples: Sequence[tuple[int, int]], *, min_share: float, n_bins: int
) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """For each couple alone, the thresholds of lowest cost, see :func:`search_grid`; two passes for all couples."""
    modalities = {side for sides in couples for side in sides}
    grids = {u: Grid(grid_edges(*views.spread(u), n_bins)) for u in modalities}
    requests = [GridRequest(number, grids[u], grids[v], gaps=False) for number, (u, v) in enumerate(couples)]
    for level in ("coarse", "fine"):
        costs = views.costs(requests)
        chosen = [
            _best_cells(each.cost, *each.evenness, min_share, one_view=u == v)
            for each, (u, v) in zip(costs, couples, strict=True)
        ]
        if level == "coarse":
            requests = [
                _finer(request, cells, one_view=u == v)
                for request, (cells, _), (u, v) in zip(requests, chosen, couples, strict=True)
            ]
    found = []
    for each, (cells, lowest), sides in zip(costs, chosen, couples, strict=True):
        a, b = (
            replace_uneven(
                views, u, -each.gap(side, cells[side]), _at(each.evenness[side], cells[side] - 1), min_share
            )
            for side, u in enumerate(sides)
        )
        found.append((a, b, lowest))
    return found


def _finer(request: GridRequest, cells: IntArray, *, one_view: bool) -> GridRequest:
    first = Grid(_finer_edges(request.first.edges, cells[0]))
    return GridRequest(
        request.couple, first, first if one_view else Grid(_finer_edges(request.second.edges, cells[1]))
    )


def _at(table: FloatArray, cells: IntArray) -> FloatArray:
    """One entry of each row."""
    return np.asarray(np.take_along_axis(table, cells[:, None], axis=1)[:, 0])


def replace_uneven(
    views: ProjectedViews, modality: int, thresholds: FloatArray, evenness: FloatArray, min_share: float
) -> FloatArray:
    """Replace thresholds with fewer than ``min_share`` of the objects on one side by the median.

    The grid can fail to reach ``min_share``: with one far outlier it is so wide that all other objects
    fall into one interval.

    Parameters
    ----------
    views : ProjectedViews
    modality : int
    thresholds : array of shape (n_bits,)
    evenness : array of shape (n_bits,)
        Share of the objects on the smaller side of each threshold.
    min_share : float
    """
    uneven = evenness < min_share
    if not uneven.any():
        return thresholds
    medians, shares = views.medians(modality)
    return np.where(uneven & (shares > evenness), -medians, thresholds)


def _best_cells(
    cost: FloatArray, share_x: FloatArray, share_y: FloatArray, min_share: float, *, one_view: bool
) -> tuple[IntArray, FloatArray]:
    """The cells of lowest cost among the thresholds with at least ``min_share`` on either side.

    Returns
    -------
    cells : int array of shape (2, n_bits)
        Number of the first interval above the threshold, for x and for y.
    lowest : array of shape (n_bits,)
    """
    n_bits, n, _ = cost.shape
    share = np.minimum(share_x[:, :, None], share_y[:, None, :])
    if one_view:
        cost, share = (np.einsum("bii->bi", table) for table in (cost, share))
    cost, share = cost.reshape(n_bits, -1), share.reshape(n_bits, -1)
    allowed = np.where((share >= min_share) & (share > 0), cost, np.inf)
    best = np.where(np.isfinite(allowed).any(axis=1), allowed.argmin(axis=1), share.argmax(axis=1))
    cells = np.stack([best, best] if one_view else [best // n, best % n]) + 1
    return cells, np.take_along_axis(cost, best[:, None], axis=1)[:, 0]


def _finer_edges(edges: FloatArray, cell: IntArray) -> FloatArray:
    """As many edges again, between the two neighbours of the chosen edge; the chosen edge is one of them."""
    n_edges = edges.shape[1]
    chosen = np.take_along_axis(edges, cell[:, None] - 1, axis=1)
    step = edges[:, 1:2] - edges[:, :1]
    steps = np.arange(n_edges) - n_edges // 2
    return np.asarray(chosen + step * steps / (n_edges // 2))
