r"""Thresholds of several modalities that share couples.

For one bit, the cost of the thresholds :math:`t_1, \dots, t_n` is the sum over the couples (u, v) of
:math:`w_{uv} C_{uv}(t_u, t_v)`, where :math:`C_{uv}` is known for all thresholds of a grid from the joint histogram of
the couple. Two modalities are searched exactly. With more, *coordinate descent* searches one modality exactly
while the others are fixed, until nothing changes. It begins at several starts, among them the thresholds that each
couple would choose for itself, so the result never costs more than the best combination of these.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..pairs.couples import ResolvedCouples
from ..types import FloatArray, IntArray
from .couple_costs import CoupleCosts
from .histograms import grid_edges
from .projected_views import CoupleCost, ProjectedViews, ValuesInMemory
from .thresholds import ThresholdSettings, joint_cost, replace_uneven, search_each

__all__ = ["couple_thresholds", "search_couples", "thresholds_of"]

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
    # As many edges for every modality: a threshold of its own that is missing is replaced by another one. If a
    # modality has very many couples, only the first of their thresholds are edges.
    n_own = min(max(map(len, own)), _MAX_BINS // 2)
    grids = [grid_edges(*views.spread(u), min(n_bins, _MAX_BINS - n_own)) for u in modalities]
    edges = [
        np.sort(np.column_stack([grid, *np.resize(mine, (n_own, mine.shape[1]))]), axis=1)
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
