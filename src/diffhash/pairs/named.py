"""Groups of rows with the same label or id in views that have names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import PairsError
from ..types import PairIndex
from .labels import LabelGroups, ViewGroups, group_views

__all__ = ["NamedGroups", "group_by_name", "list_few_pairs", "list_pairs"]

#: Rows with the same id are listed as pairs if there are at most this many pairs for each row.
_MAX_PAIRS_PER_ROW = 8


@dataclass(frozen=True)
class NamedGroups:
    """Groups of the rows of several views.

    Attributes
    ----------
    names : tuple of str
        Names of the views.
    groups : ViewGroups
    by_id : bool
        Whether rows of a group are one object (same id) or only similar (same label).
    """

    names: tuple[str, ...]
    groups: ViewGroups
    by_id: bool

    @property
    def what(self) -> str:
        """What the rows of a group have in common, for messages."""
        return "ids" if self.by_id else "labels"


def group_by_name(given: Any, what: str, *, caller: str) -> NamedGroups:
    """Check labels or ids by modality and group the rows by them.

    Parameters
    ----------
    given : dict of arrays by modality
    what : {"ids", "labels"}
    caller : str
    """
    if not isinstance(given, Mapping) or not given:
        raise PairsError(
            f'{caller}: expected a dict of {what} by modality, such as {{"image": a, "text": b}}, '
            f"got {'an empty dict' if isinstance(given, Mapping) else type(given).__name__}."
        )
    for name in given:
        if not isinstance(name, str) or not name:
            raise PairsError(f"{caller}: names of modalities must be strings, got {name!r}.")
    groups = group_views({f"the {what} of {name!r}": array for name, array in given.items()}, caller=caller)
    if what == "ids" and groups.sets is not None:
        raise PairsError(f"{caller}: ids must have the shape (n,), one id for each row.")
    return NamedGroups(tuple(given), groups, what == "ids")


def list_few_pairs(groups: LabelGroups, *, one_view: bool) -> PairIndex | None:
    """All pairs of rows of the same group, sorted; None if there are very many.

    Sums over very many small groups are slower than sums over a list of their pairs.

    Examples
    --------
    >>> groups = LabelGroups(np.array([0, 1, 2]), np.array([2, 0, 0]), 3)
    >>> list_few_pairs(groups, one_view=False)
    (array([0, 0, 2]), array([1, 2, 0]))
    """
    sizes_x, sizes_y = (np.bincount(side, minlength=groups.n_groups) for side in (groups.x, groups.y))
    n_pairs = float(sizes_x.astype(np.float64) @ sizes_y)
    if n_pairs > _MAX_PAIRS_PER_ROW * (len(groups.x) + len(groups.y)):
        return None
    return list_pairs(groups, one_view=one_view)


def list_pairs(groups: LabelGroups, *, one_view: bool) -> PairIndex:
    """All pairs of rows of the same group, sorted, however many there are."""
    sizes_y = np.bincount(groups.y, minlength=groups.n_groups)
    order = np.argsort(groups.y, kind="stable")
    starts = np.cumsum(sizes_y) - sizes_y
    # For each row of x: the rows of y of its group, one after another.
    counts = sizes_y[groups.x]
    i = np.repeat(np.arange(len(groups.x)), counts)
    within = np.arange(len(i)) - np.repeat(np.cumsum(counts) - counts, counts)
    j = order[np.repeat(starts[groups.x], counts) + within]
    return (i[i < j], j[i < j]) if one_view else (i, j)
