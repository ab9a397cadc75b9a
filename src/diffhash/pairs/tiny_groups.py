"""Pairs of very many tiny groups as a list: sums over so many groups take more time and memory than over the pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..types import PairIndex
from .labels import LabelGroups
from .resolved import PairScheme, ResolvedPairs

__all__ = ["are_tiny", "listed_scheme", "pairs_of_groups", "with_listed_groups"]

#: Groups are tiny if there are more than this, and if a row has at most so many partners on average.
_MIN_GROUPS, _MAX_PARTNERS = 1000, 10


def are_tiny(scheme: PairScheme, n_related: float, n_rows: float) -> bool:
    """Whether the positives, which labels imply, should be counted as a list.

    Parameters
    ----------
    scheme : PairScheme
    n_related : float
        Number of pairs that labels make similar.
    n_rows : float
        Number of rows of both views together.
    """
    groups = scheme.groups
    return (
        groups is not None
        and groups.sets is None
        and not scheme.positive_listed
        and not scheme.negative_listed
        and groups.n_groups > _MIN_GROUPS
        and n_related <= _MAX_PARTNERS * n_rows
    )


def listed_scheme(scheme: PairScheme) -> PairScheme:
    """The scheme of the same pairs with listed positives."""
    return replace(scheme, positive_listed=True, groups=None)


def with_listed_groups(pairs: ResolvedPairs) -> ResolvedPairs:
    """The same pairs. If labels make very many tiny groups, the positives are listed."""
    scheme = pairs.scheme
    if scheme.groups is None or not are_tiny(scheme, 0.0, 1.0):
        return pairs
    if not are_tiny(scheme, pairs.n_positive, pairs.n_x + pairs.n_y):
        return pairs
    index = pairs_of_groups(scheme.groups, one_view=pairs.one_view)
    return replace(pairs, positive=index, groups=None)


def pairs_of_groups(groups: LabelGroups, *, one_view: bool) -> PairIndex:
    """Row numbers of all pairs of rows of the same group, sorted; with one view ``i < j``.

    Examples
    --------
    >>> pairs_of_groups(LabelGroups(np.array([1, 0, 2]), np.array([0, 1, 1]), 3), one_view=False)
    (array([0, 0, 1]), array([1, 2, 0]))
    """
    order = np.argsort(groups.y, kind="stable")
    sizes = np.bincount(groups.y, minlength=groups.n_groups)
    starts = np.cumsum(sizes) - sizes
    n_partners = sizes[groups.x]
    i = np.repeat(np.arange(len(groups.x)), n_partners)
    within = np.arange(len(i)) - np.repeat(np.cumsum(n_partners) - n_partners, n_partners)
    j = order[np.repeat(starts[groups.x], n_partners) + within]
    return (i[i < j], j[i < j]) if one_view else (i, j)
