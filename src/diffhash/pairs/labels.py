"""Similarity by label: groups of rows with equal labels, and sampling of pairs.

Rows with the same label (or the same set of labels) form a group. Whether two objects are similar
depends only on their groups, so every sum over pairs is a sum over groups. Its cost is linear in the
number of objects. If each object has one label, a group is similar only to itself. With label sets,
two groups are similar if their sets have a common label; this is computed for blocks of sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..errors import InputError, PairsError
from ..frames import plain_labels
from ..types import BoolArray, FloatArray, IntArray, PairIndex
from ..validation import as_array

__all__ = ["MAX_LABEL_SETS", "LabelGroups", "ViewGroups", "group_labels", "group_views", "sample_pairs"]

#: Largest number of distinct label sets for sums over all pairs; the cost is quadratic in this number.
MAX_LABEL_SETS = 20_000
#: Groups or rows that are compared with all others at a time.
_BLOCK_SIZE = 1024
#: After this many rounds of drawing with few new pairs, all pairs are listed instead.
_MAX_POOR_ROUNDS = 4


@dataclass(frozen=True)
class LabelGroups:
    """Groups of rows with equal labels. A group has the same number in both views.

    Attributes
    ----------
    x, y : int arrays of shape (n,), (n',)
        Group of each row of the two views; with one view both are the same array.
    n_groups : int
    sets : bool array of shape (n_groups, n_labels), or None
        Labels of each group; None if every object has exactly one label.
    names : array of shape (n_groups,), or None
        The label of each group, by which groups of other rows are recognised; None with sets, or if unknown.
    """

    x: IntArray
    y: IntArray
    n_groups: int
    sets: BoolArray | None = None
    names: NDArray[Any] | None = None

    def flipped(self) -> LabelGroups:
        """The same groups with the two views exchanged."""
        return replace(self, x=self.y, y=self.x)

    def related(self, table: FloatArray) -> FloatArray:
        """``W @ table``, where ``W[g, h]`` is 1 if groups g and h are similar, otherwise 0.

        Parameters
        ----------
        table : array of shape (n_groups, k)
        """
        if self.sets is None:
            return table
        sets = self.sets.astype(np.float32)
        result = np.empty_like(table)
        for start in range(0, self.n_groups, _BLOCK_SIZE):
            block = slice(start, start + _BLOCK_SIZE)
            result[block] = ((sets[block] @ sets.T) > 0).astype(table.dtype) @ table
        return result

    def self_related(self) -> BoolArray:
        """For each group, whether its objects are similar to themselves; False for objects without labels."""
        return np.ones(self.n_groups, dtype=bool) if self.sets is None else np.asarray(self.sets.any(axis=1))

    def check_closed_form(self, caller: str) -> None:
        """Raise an error if there are too many label sets for sums over all pairs."""
        if self.sets is not None and self.n_groups > MAX_LABEL_SETS:
            raise PairsError(
                f"{caller}: the labels form {self.n_groups} distinct sets. Using all pairs takes too long with "
                f"more than {MAX_LABEL_SETS} sets. Give n_positive and n_negative to sample pairs."
            )


@dataclass(frozen=True)
class ViewGroups:
    """Groups of rows with equal labels, of any number of views. A group has the same number in all views.

    Attributes
    ----------
    rows : tuple of int arrays of shape (n,)
        Group of each row, for each view.
    n_groups : int
    sets, names
        As in :class:`LabelGroups`.
    """

    rows: tuple[IntArray, ...]
    n_groups: int
    sets: BoolArray | None = None
    names: NDArray[Any] | None = None

    def couple(self, first: int, second: int) -> LabelGroups:
        """The groups of two views, or of one view twice."""
        return LabelGroups(self.rows[first], self.rows[second], self.n_groups, self.sets, self.names)


def group_labels(labels_x: Any, labels_y: Any, *, caller: str) -> LabelGroups:
    """Group rows by label; ``labels_y`` None means one view."""
    given = {"the first labels": labels_x}
    if labels_y is not None:
        given["the second labels"] = labels_y
    return group_views(given, caller=caller).couple(0, len(given) - 1)


def group_views(labels: Mapping[str, Any], *, caller: str) -> ViewGroups:
    """Group the rows of several views by label.

    Parameters
    ----------
    labels : dict of arrays of shape (n,), or bool (n, n_labels)
        The keys describe the arrays in error messages.
    caller : str

    Examples
    --------
    >>> groups = group_views({"ids of a": ["u", "v"], "ids of b": ["v", "w", "v"]}, caller="example")
    >>> groups.rows[1], groups.n_groups
    (array([1, 2, 1]), 3)
    """
    arrays = {which: _check_labels(each, which, caller) for which, each in labels.items()}
    first = next(iter(arrays.values()))
    for other in arrays.values():
        if first.ndim != other.ndim or first.shape[1:] != other.shape[1:]:
            raise PairsError(
                f"{caller}: all label arrays must have the same form, got shapes {first.shape} and {other.shape}. "
                "Use (n,) for one label per object, or bool (n, n_labels) with the same labels in all views."
            )
        if first.ndim == 1 and (first.dtype.kind in "US") != (other.dtype.kind in "US"):
            raise PairsError(f"{caller}: labels of dtype {first.dtype} and {other.dtype} cannot be compared.")
    sides = list(arrays.values())
    if all(side.dtype.kind in "iu" for side in sides):
        # NumPy compares int64 with uint64 as floats, which makes different large ids equal.
        for side in sides:
            if side.dtype == np.uint64 and side.max() > np.iinfo(np.int64).max:
                raise PairsError(f"{caller}: labels must be below 2**63, got {side.max()}.")
        sides = [side.astype(np.int64) for side in sides]
    stacked = sides[0] if len(sides) == 1 else np.concatenate(sides)
    if stacked.ndim == 1:
        values, group = np.unique(stacked, return_inverse=True)
        sets = None
    else:
        packed = np.packbits(stacked, axis=1)
        _, values, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        sets = stacked[values]
    names = values if sets is None else None
    ends = np.cumsum([len(side) for side in sides])[:-1]
    return ViewGroups(tuple(np.split(group.reshape(-1), ends)), len(values), sets, names)


def _check_labels(labels: Any, which: str, caller: str) -> NDArray[Any]:
    array = as_array(labels, f"{caller}: {which}")
    try:
        array = plain_labels(array, f"{caller}: {which}")
    except InputError as error:
        raise PairsError(str(error)) from None
    if array.shape == (0,):
        raise PairsError(
            f"{caller}: {which} are empty. Give one for each row; leave out a view without rows."
        )
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise PairsError(
            f"{caller}: {which} must have the shape (n,) for one label per object, or be bool of shape "
            f"(n, n_labels), got shape {array.shape}."
        )
    if array.ndim == 2:
        if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
            raise PairsError(
                f"{caller}: {which} of shape {array.shape} must hold only 0 and 1 (or booleans)."
            )
        return array.astype(bool)
    if array.dtype.kind == "f" and np.isnan(array).any():
        row = int(np.flatnonzero(np.isnan(array))[0])
        raise PairsError(f"{caller}: {which} has NaN in row {row}.")
    if array.dtype.kind not in "iubfUS":
        raise PairsError(f"{caller}: {which} must be numbers or strings, got dtype {array.dtype}.")
    return array


def sample_pairs(
    groups: LabelGroups, n_pairs: int, *, similar: bool, one_view: bool, rng: np.random.Generator, caller: str
) -> PairIndex:
    """Draw distinct pairs uniformly from all similar (or all dissimilar) pairs.

    With one view the pairs are unordered (``i < j``).
    """
    what = "similar" if similar else "dissimilar"
    member_x, member_y = _membership(groups, groups.x), _membership(groups, groups.y)
    n_y = len(groups.y)
    keys = np.empty(0, dtype=np.int64)
    n_poor_rounds = 0
    while len(keys) < n_pairs:
        n_tries = 2 * (n_pairs - len(keys)) + 1024
        if similar:
            i, j = _propose_similar(member_x, member_y, n_tries, rng)
        elif groups.sets is None:
            i, j = _draw_other_group(groups, n_tries, rng)
        else:
            i, j = _propose_dissimilar(member_x, member_y, n_tries, rng)
        if one_view:
            i, j = np.minimum(i, j), np.maximum(i, j)
            i, j = i[i != j], j[i != j]
        grown = np.union1d(keys, i * n_y + j)
        # If drawing hardly finds new pairs, nearly all of them are already drawn: list all pairs instead.
        n_poor_rounds = n_poor_rounds + 1 if len(grown) - len(keys) < n_tries // 64 else 0
        keys = grown
        if n_poor_rounds == _MAX_POOR_ROUNDS and len(keys) < n_pairs:
            keys = _all_pairs(member_x, member_y, similar=similar, one_view=one_view)
            break
    if len(keys) < n_pairs:
        raise PairsError(
            f"{caller}: {n_pairs} {what} pairs were requested, but the labels give only {len(keys)}. "
            f"Ask for at most {len(keys)}, or use None for all of them."
        )
    keys = np.sort(rng.choice(keys, size=n_pairs, replace=False))
    return keys // n_y, keys % n_y


def _membership(groups: LabelGroups, rows: IntArray) -> Any:
    """Sparse float32 matrix (n, n_labels) with a 1 for each label of a row."""
    if groups.sets is None:
        ones = np.ones(len(rows), dtype=np.float32)
        return scipy.sparse.csr_array(
            (ones, (np.arange(len(rows)), rows)), shape=(len(rows), groups.n_groups)
        )
    return scipy.sparse.csr_array(groups.sets.astype(np.float32))[rows]


def _propose_similar(x: Any, y: Any, n: int, rng: np.random.Generator) -> PairIndex:
    """Random pairs with a common label; every such pair has the same probability."""
    columns_x, columns_y = x.tocsc(), y.tocsc()
    sizes_x, sizes_y = np.diff(columns_x.indptr), np.diff(columns_y.indptr)
    cumulative = np.cumsum(sizes_x.astype(np.float64) * sizes_y)
    if cumulative[-1] == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    label = np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right")
    i = columns_x.indices[columns_x.indptr[label] + rng.integers(0, sizes_x[label])].astype(np.int64)
    j = columns_y.indices[columns_y.indptr[label] + rng.integers(0, sizes_y[label])].astype(np.int64)
    # A pair with c common labels is drawn c times as often: keep it with probability 1 / c.
    common = np.asarray(x[i].multiply(y[j]).sum(axis=1)).reshape(-1)
    keep = rng.random(n) * common < 1
    return i[keep], j[keep]


def _draw_other_group(groups: LabelGroups, n: int, rng: np.random.Generator) -> PairIndex:
    """Random pairs of different groups, all with the same probability, without rejected draws."""
    n_y = len(groups.y)
    order = np.argsort(groups.y, kind="stable")
    sizes = np.bincount(groups.y, minlength=groups.n_groups)
    starts = np.cumsum(sizes) - sizes
    cumulative = np.cumsum((n_y - sizes)[groups.x].astype(np.float64))
    if cumulative[-1] == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    i = np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right")
    group = groups.x[i]
    # A position among the rows of y, sorted by group, without the rows of the group of i.
    position = rng.integers(0, n_y - sizes[group])
    return i, order[np.where(position < starts[group], position, position + sizes[group])]


def _propose_dissimilar(x: Any, y: Any, n: int, rng: np.random.Generator) -> PairIndex:
    """Random pairs without a common label; of n draws, the similar pairs are rejected."""
    i = rng.integers(0, x.shape[0], size=n)
    j = rng.integers(0, y.shape[0], size=n)
    keep = np.asarray(x[i].multiply(y[j]).sum(axis=1)).reshape(-1) == 0
    return i[keep], j[keep]


def _all_pairs(x: Any, y: Any, *, similar: bool, one_view: bool) -> NDArray[np.int64]:
    """Keys ``i * n' + j`` of all similar or all dissimilar pairs, computed in blocks of rows."""
    n_y = y.shape[0]
    keys = []
    for start in range(0, x.shape[0], _BLOCK_SIZE):
        common = x[start : start + _BLOCK_SIZE] @ y.T
        i, j = common.nonzero() if similar else np.nonzero(common.toarray() == 0)
        i = i.astype(np.int64) + start
        keys.append((i * n_y + j)[i < j] if one_view else i * n_y + j)
    return np.concatenate(keys)
