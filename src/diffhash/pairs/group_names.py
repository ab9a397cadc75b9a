"""Names of groups of rows, by which groups of different batches are recognised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PairsError
from ..types import IntArray
from .labels import LabelGroups

__all__ = ["GroupNames"]


@dataclass(frozen=True)
class GroupNames:
    """Labels, or sets of labels, of groups of rows.

    Attributes
    ----------
    keys : array of shape (n_groups,), sorted, all different
        The label of each group, or the packed bits of its set of labels.
    n_labels : int or None
        Number of labels that a set may have; None if every row has exactly one label.

    Examples
    --------
    >>> first, second = (GroupNames(np.array(names), None) for names in (["b", "d"], ["a", "b"]))
    >>> both = first.union(second, caller="example")
    >>> [str(key) for key in both.keys], both.positions(first.keys)
    (['a', 'b', 'd'], array([1, 2]))
    """

    keys: NDArray[Any]
    n_labels: int | None

    @classmethod
    def of(cls, groups: LabelGroups) -> tuple[GroupNames, IntArray]:
        """The names of the groups, and the number of each group among them."""
        if groups.sets is None:
            keys = np.arange(groups.n_groups) if groups.names is None else groups.names
            n_labels = None
        else:
            packed = np.ascontiguousarray(np.packbits(groups.sets, axis=1))
            keys = packed.view(f"S{packed.shape[1]}").reshape(-1)
            n_labels = groups.sets.shape[1]
        names, numbers = np.unique(keys, return_inverse=True)
        return cls(names, n_labels), numbers.reshape(-1)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.keys)

    def union(self, other: GroupNames, *, caller: str) -> GroupNames:
        """The groups of both."""
        if self.n_labels != other.n_labels or (self.keys.dtype.kind in "US") != (
            other.keys.dtype.kind in "US"
        ):
            raise PairsError(
                f"{caller}: the labels of two batches cannot be compared: "
                f"{self._form()} and {other._form()}. Use the same form of labels in all batches."
            )
        return GroupNames(np.union1d(self.keys, other.keys), self.n_labels)

    def _form(self) -> str:
        if self.n_labels is not None:
            return f"sets of {self.n_labels} labels"
        return "strings" if self.keys.dtype.kind in "US" else "numbers"

    def positions(self, keys: NDArray[Any]) -> IntArray:
        """Number of the group of each key; every key must be one of these."""
        found: IntArray = np.searchsorted(self.keys, keys)
        return found

    def groups(self, x: IntArray, y: IntArray) -> LabelGroups:
        """Groups of rows, from the number of the group of each."""
        if self.n_labels is None:
            return LabelGroups(x, y, self.n_groups, None, self.keys)
        width = -(-self.n_labels // 8)
        packed = np.ascontiguousarray(self.keys.astype(f"S{width}")).view(np.uint8).reshape(-1, width)
        return LabelGroups(
            x, y, self.n_groups, np.unpackbits(packed, axis=1, count=self.n_labels).astype(bool)
        )
