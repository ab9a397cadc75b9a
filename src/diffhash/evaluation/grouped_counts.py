"""Distance counts of similar and dissimilar pairs that remember groups of objects, so that objects can be left out.

Pairs that share an object are not independent. How far a count may be off is therefore estimated by leaving
out groups of objects. For this it is enough to know, for each group, the counts of all pairs that involve it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..pairs.labels import LabelGroups
from ..pairs.resolved import ResolvedPairs
from ..types import CodeArray, IntArray, PairIndex

__all__ = ["GroupedDistanceCounts"]

#: Bytes of the table of a block of queries.
_BLOCK_BYTES = 1 << 24


class GroupedDistanceCounts:
    """Sums of pairs by distance, of all pairs and of those that involve each group of objects.

    Parameters
    ----------
    n_bits : int
    n_groups : int

    Attributes
    ----------
    counts : int64 array of shape (2, 1 + n_groups, n_bits + 1)
        ``[0]`` counts dissimilar pairs, ``[1]`` similar ones. Row 0 counts all pairs at each distance, row
        1 + g those with at least one object of group g.

    Examples
    --------
    Row r of both views is one object, and the only objects are 0 in group 0 and 1 in group 1:

    >>> from diffhash import Pairs
    >>> codes = np.array([[0b00], [0b11]], dtype=np.uint8)
    >>> sums = GroupedDistanceCounts(n_bits=2, n_groups=2)
    >>> sums.update(codes, codes, np.array([0, 1]), np.array([0, 1]), Pairs.aligned(2).resolve(2, 2))
    >>> sums.counts[:, 0].tolist(), sums.counts[1, 1].tolist()
    ([[0, 0, 2], [2, 0, 0]], [1, 0, 0])
    """

    def __init__(self, n_bits: int, n_groups: int) -> None:
        self.n_bits, self.n_groups = n_bits, n_groups
        self.counts: NDArray[np.int64] = np.zeros((2, 1 + n_groups, n_bits + 1), dtype=np.int64)

    def update(
        self, x: CodeArray, y: CodeArray, groups_x: IntArray, groups_y: IntArray, pairs: ResolvedPairs
    ) -> None:
        """Add the pairs between two sets of rows.

        Parameters
        ----------
        x, y : uint8 arrays of shape (n, n_bytes), (n', n_bytes)
            Packed codes. For pairs within one view, both are the same array.
        groups_x, groups_y : int arrays of shape (n,), (n',)
            Group of the object of each row, 0 to n_groups - 1. All rows of an object have the same group.
        pairs : ResolvedPairs
            Weights are not used.
        """
        groups = pairs.groups
        by_label = groups is not None and (pairs.positive is None or pairs.negative is None)
        every = (
            np.zeros_like(self.counts)
            if pairs.positive is not None and pairs.negative is not None
            else self._every(x, y, groups_x, groups_y, groups if by_label else None, pairs.one_view)
        )
        similar, dissimilar = (
            None if listed is None else self._listed(x, y, groups_x, groups_y, listed)
            for listed in (pairs.positive, pairs.negative)
        )
        if similar is None:
            similar = every[1]
        elif dissimilar is None and not by_label:
            dissimilar = every[0] - similar
        self.counts += np.stack([every[0] if dissimilar is None else dissimilar, similar])

    def merge(self, other: GroupedDistanceCounts) -> None:
        """Add the counts of other pairs. A group of both is one group of objects."""
        if other.counts.shape != self.counts.shape:
            raise ValueError(f"counts of shapes {self.counts.shape} and {other.counts.shape} cannot be added")
        self.counts += other.counts

    def _every(
        self,
        x: CodeArray,
        y: CodeArray,
        groups_x: IntArray,
        groups_y: IntArray,
        labels: LabelGroups | None,
        one_view: bool,
    ) -> NDArray[np.int64]:
        """Counts of all pairs: those that share a label are similar, and without labels all are dissimilar."""
        label_x: NDArray[Any]
        label_y: NDArray[Any]
        if labels is None:
            label_x, label_y = np.zeros(len(x), np.int64), np.ones(len(y), np.int64)
        else:
            label_x, label_y = (
                rows if labels.sets is None else labels.sets[rows] for rows in (labels.x, labels.y)
            )
        from_x = self._sums_of_rows(x, y, label_x, label_y, groups_x)
        from_y = from_x if one_view else self._sums_of_rows(y, x, label_y, label_x, groups_y)
        both = np.zeros_like(from_x)
        for g in range(self.n_groups):
            rows, columns = np.flatnonzero(groups_x == g), np.flatnonzero(groups_y == g)
            if len(rows) and len(columns):
                inner = self._sums_of_rows(
                    x[rows], y[columns], label_x[rows], label_y[columns], np.zeros(len(rows), np.int64)
                )
                both[g] = inner[0]
        counts = np.concatenate([from_x.sum(axis=0, keepdims=True), from_x + from_y - both])
        found = counts.transpose(2, 0, 1)
        if not one_view:
            return np.ascontiguousarray(found)
        # A row is at distance 0 from itself, and every other pair was counted in both directions.
        itself = np.zeros(len(x), np.int64)
        if labels is not None:
            itself = labels.self_related()[labels.x].astype(np.int64)
        own = np.bincount(groups_x * 2 + itself, minlength=2 * self.n_groups).reshape(self.n_groups, 2).T
        found[:, 0, 0] -= own.sum(axis=1)
        found[:, 1:, 0] -= own
        return np.ascontiguousarray(found // 2)

    def _sums_of_rows(
        self, x: CodeArray, y: CodeArray, label_x: NDArray[Any], label_y: NDArray[Any], groups_x: IntArray
    ) -> NDArray[np.int64]:
        """For each group, the counts of all pairs whose first row is in it; shape (n_groups, n_bits + 1, 2)."""
        sums = np.zeros((self.n_groups, self.n_bits + 1, 2), dtype=np.int64)
        step = max(1, _BLOCK_BYTES // (16 * (8 * x.shape[1] + 1)))
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            table = native.distance_table(
                queries=x[rows],
                database=y,
                query_labels=label_x[rows],
                database_labels=label_y,
                n_bits=self.n_bits,
            )
            np.add.at(sums, groups_x[rows], table)
        return sums

    def _listed(
        self, x: CodeArray, y: CodeArray, groups_x: IntArray, groups_y: IntArray, listed: PairIndex
    ) -> NDArray[np.int64]:
        """Counts of listed pairs, shape (1 + n_groups, n_bits + 1)."""
        i, j = listed
        distances = np.bitwise_count(x[i] ^ y[j]).sum(axis=1, dtype=np.int64)
        g, h = groups_x[i] + 1, groups_y[j] + 1
        other = g != h
        rows = np.concatenate([np.zeros_like(g), g, h[other]])
        cells = rows * (self.n_bits + 1) + np.concatenate([distances, distances, distances[other]])
        shape = (1 + self.n_groups, self.n_bits + 1)
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)
