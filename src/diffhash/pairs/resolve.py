"""From the pairs that a user gave to checked pairs between views of known size."""

from __future__ import annotations

import numpy as np

from ..errors import PairsError
from ..types import FloatArray, PairIndex
from .checks import check_disjoint, check_group_counts
from .labels import LabelGroups
from .resolved import ResolvedPairs, checked_pairs, weights_of

__all__ = ["Listed", "resolve_pairs"]

#: Row numbers of one set of pairs and their weights; None if they are implied, or have no weights.
Listed = tuple[PairIndex | None, FloatArray | None]


def resolve_pairs(
    n_x: int,
    n_y: int | None,
    *,
    listed: tuple[Listed, Listed],
    groups: LabelGroups | None,
    n_aligned: int | None,
    n_rows: tuple[int, int] | None,
    caller: str,
) -> ResolvedPairs:
    """Check pairs against the numbers of rows of the views.

    Parameters
    ----------
    n_x, n_y : int
        Numbers of rows; ``n_y`` is None for one view.
    listed : (positives, negatives)
    groups : LabelGroups or None
    n_aligned : int or None
        Number of aligned rows, which are the positives.
    n_rows : (int, int) or None
        Numbers of rows for which there are ids.
    caller : str
    """
    one_view, n_second = n_y is None, n_x if n_y is None else n_y
    if groups is not None:
        check_group_counts(groups, n_x, n_second, one_view, caller)
    if n_rows is not None and n_rows != (n_x, n_second):
        raise PairsError(
            f"{caller}: the views have {n_x} and {n_second} rows, but there are ids for {n_rows[0]} and {n_rows[1]}."
        )
    if n_aligned is not None:
        _check_aligned(n_aligned, n_x, n_y, caller)
        rows = np.arange(n_x)
        return ResolvedPairs(n_x, n_second, one_view, (rows, rows), None, groups, aligned=True)
    found: list[Listed] = []
    for (index, weights), name in zip(listed, ("positive", "negative"), strict=True):
        if index is None:
            found.append((None, None))
            continue
        checked = checked_pairs(index, n_x, n_second, one_view, name, caller)
        if weights is not None:
            weights = weights_of(checked, index, weights, n_second, one_view=one_view)
        found.append((checked, weights))
    (positive, positive_weights), (negative, negative_weights) = found
    if positive is not None and negative is not None:
        check_disjoint(positive, negative, n_second, caller)
    return ResolvedPairs(
        n_x,
        n_second,
        one_view,
        positive,
        negative,
        groups,
        positive_weights=positive_weights,
        negative_weights=negative_weights,
    )


def _check_aligned(n_aligned: int, n_x: int, n_y: int | None, caller: str) -> None:
    if n_y is None:
        raise PairsError(f"{caller}: aligned rows are pairs between two views, but there is only one view.")
    if not n_aligned == n_x == n_y:
        raise PairsError(
            f"{caller}: {n_aligned} aligned rows need views with as many rows, got {n_x} and {n_y}."
        )
