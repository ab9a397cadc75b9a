"""Checks of the pairs that a user gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PairsError
from ..types import FloatArray, PairIndex
from ..validation import as_array, check_count
from .labels import LabelGroups

__all__ = ["check_disjoint", "check_group_counts", "check_index", "check_pair_weights", "check_row_counts"]


def check_index(index: Any, name: str) -> PairIndex:
    """Check and convert to two int64 arrays of the same length."""
    try:
        i, j = index
    except (TypeError, ValueError) as error:
        raise PairsError(
            f"Pairs: {name} must be a tuple (i, j) of two arrays of row numbers, got {type(index).__name__}."
        ) from error
    i, j = (as_array(rows, f"Pairs: {name}") for rows in (i, j))
    if i.ndim != 1 or i.shape != j.shape:
        raise PairsError(
            f"Pairs: {name} needs two arrays of the same length, got shapes {i.shape} and {j.shape}."
        )
    for rows in (i, j):
        if rows.dtype.kind not in "iu" and rows.size:
            raise PairsError(f"Pairs: {name} row numbers must be whole numbers, got dtype {rows.dtype}.")
    return i.astype(np.int64), j.astype(np.int64)


def check_pair_weights(weights: Any, index: PairIndex | None, name: str, of: str) -> FloatArray | None:
    """Check the weights of listed pairs: one finite number above 0 for each pair."""
    if weights is None:
        return None
    if index is None:
        raise PairsError(f"Pairs: {name} needs a list of {of} pairs. Give `{of}=(i, j)` too.")
    array: NDArray[Any] = as_array(weights, f"Pairs: {name}")
    if array.shape != index[0].shape or array.dtype.kind not in "fiu":
        raise PairsError(
            f"Pairs: {name} must be one number for each of the {len(index[0])} {of} pairs, got an array of shape "
            f"{array.shape} and dtype {array.dtype}."
        )
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        p = int(np.flatnonzero(bad)[0])
        raise PairsError(
            f"Pairs: weights must be finite and above 0, got {array[p]} for {of} pair {p}. "
            "Leave out pairs that should not count."
        )
    return array.astype(np.float64)


def check_disjoint(positive: PairIndex, negative: PairIndex, n_y: int, caller: str) -> None:
    """Raise an error if a pair is in both sets; both are sorted."""
    keys, others = (i * n_y + j for i, j in sorted((positive, negative), key=lambda index: len(index[0])))
    # Look up each key of the shorter list in the longer one.
    positions = np.minimum(np.searchsorted(others, keys), max(len(others) - 1, 0))
    both = keys[others[positions] == keys] if len(others) else keys[:0]
    if both.size:
        i, j = divmod(int(both[0]), n_y)
        raise PairsError(
            f"{caller}: {both.size} pairs are both positive and negative; the first is ({i}, {j}). "
            "Remove them from one of the two lists."
        )


def check_group_counts(groups: LabelGroups, n_x: int, n_y: int, one_view: bool, caller: str) -> None:
    """Raise an error if there are not as many labels as rows."""
    if len(groups.x) != n_x or len(groups.y) != n_y:
        raise PairsError(
            f"{caller}: the views have {n_x} and {n_y} rows, but there are labels for "
            f"{len(groups.x)} and {len(groups.y)}."
        )
    if one_view and not np.array_equal(groups.x, groups.y):
        raise PairsError(f"{caller}: with one view there is one array of labels; leave out the second.")


def check_row_counts(n_rows: Any, caller: str) -> tuple[int, int | None]:
    """Check one number of rows, or two; the second is None for one view."""
    given = list(n_rows) if isinstance(n_rows, Sequence | np.ndarray) else [n_rows]
    if len(given) not in (1, 2):
        raise PairsError(f"{caller}: n_rows must be one or two numbers, got {n_rows!r}.")
    first, *rest = (check_count(n, "n_rows", caller=caller) for n in given)
    return first, rest[0] if rest else None
