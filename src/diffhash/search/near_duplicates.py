"""Codes that are nearly equal: pairs within a radius, and clusters of what they connect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..native import argument_checks
from ..native.pair_join import CodeJoin, PairBatch, first_of_sets, unite
from ..types import CodeArray
from ..validation import check_count

__all__ = ["Duplicates", "duplicates", "find_duplicates"]

Ids = NDArray[Any]
#: Pairs that a result lists unless the caller says otherwise.
MAX_PAIRS = 10_000_000


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Pairs of codes within a radius, and the clusters that they form.

    Attributes
    ----------
    radius : int
        At most the number of bits.
    first, second : arrays of shape (p,)
        Ids of the pairs, nearest first. Row numbers if there are no ids; strings are in an array of objects.
    distances : uint16 array of shape (p,)
    counts : int64 array of shape (min(radius, n_bits) + 1,)
        Number of pairs at each distance. It counts all pairs, also if not all are listed.
    members : array of shape (m,)
        Ids of all objects that are in a cluster, cluster by cluster.
    starts : int64 array of shape (c + 1,)
        Cluster ``k`` is ``members[starts[k]:starts[k + 1]]``. Large clusters come first.
    """

    radius: int
    first: Ids
    second: Ids
    distances: NDArray[np.uint16]
    counts: NDArray[np.int64]
    members: Ids
    starts: NDArray[np.int64]

    @property
    def n_pairs(self) -> int:
        """Number of all pairs; more than are listed if there were more than ``max_pairs``."""
        return int(self.counts.sum())

    @property
    def n_clusters(self) -> int:
        """Number of clusters; each has at least two objects."""
        return len(self.starts) - 1

    @property
    def clusters(self) -> list[Ids]:
        """Ids of each cluster. Two objects are in one cluster if a chain of pairs connects them."""
        return np.split(self.members, self.starts[1:-1]) if self.n_clusters else []

    def __repr__(self) -> str:
        return f"Duplicates(radius={self.radius}, {self.n_pairs} pairs, {self.n_clusters} clusters)"


def duplicates(
    codes: CodeArray,
    radius: int,
    *,
    ids: Any = None,
    n_bits: int | None = None,
    max_pairs: int = MAX_PAIRS,
    n_threads: int | None = None,
) -> Duplicates:
    """Find nearly equal codes: all pairs within a radius, exactly, and their clusters.

    Parameters
    ----------
    codes : uint8 array of shape (n, bytes)
    radius : int
        Largest distance of a pair; 0 finds equal codes.
    ids : int array of shape (n,), optional
        By default the row numbers.
    n_bits : int, optional
        Number of bits of a code, by default all bits of its bytes. Padding bits must be 0.
    max_pairs : int
        List at most so many pairs, the nearest ones; clusters and counts are complete. 0 if only the clusters
        are needed. To read any number of pairs in little memory, see :func:`diffhash.native.join`.
    n_threads : int, optional
        By default ``DIFFHASH_NUM_THREADS``, or the number of CPUs that this process may use.

    Examples
    --------
    >>> import diffhash as dh
    >>> codes = np.array([[0b0000], [0b0111], [0b0001], [0b1111]], dtype=np.uint8)
    >>> found = dh.duplicates(codes, radius=1)
    >>> found.first, found.second, found.distances
    (array([0, 1]), array([2, 3]), array([1, 1], dtype=uint16))
    >>> found.clusters
    [array([0, 2]), array([1, 3])]
    """
    caller = "duplicates"
    join = CodeJoin(codes, None, radius, n_bits=n_bits, n_threads=n_threads, caller=caller)
    n = len(join.left.rows)
    numbers = np.arange(n) if ids is None else argument_checks.check_ids(ids, n, caller=caller)
    if ids is not None and len(np.unique(numbers)) != n:
        raise InputError(f"{caller}: ids must be unique.")
    return find_duplicates(join, (numbers, numbers), max_pairs=max_pairs, caller=caller)


def find_duplicates(
    join: CodeJoin,
    keys: tuple[NDArray[np.int64], NDArray[np.int64]],
    *,
    max_pairs: int,
    caller: str,
    to_ids: Callable[[NDArray[np.int64]], Ids] = lambda keys: keys,
) -> Duplicates:
    """Pairs and clusters of a join.

    Parameters
    ----------
    keys : two int64 arrays
        The object of each left and of each right row, unique within each. An object is no duplicate of itself.
    to_ids : function
        From keys to the ids of the result.
    """
    max_pairs = check_count(max_pairs, "max_pairs", caller=caller, minimum=0)
    objects = np.unique(np.concatenate(keys))
    left, right = (np.searchsorted(objects, part) for part in keys)
    connected = _Clusters(join, len(objects), left, right)
    nearest = _NearestPairs(max_pairs, len(objects))
    counts = np.zeros(join.radius + 1, dtype=np.int64)
    if join.is_self:
        sizes = join.left.sizes
        counts[0] += int((sizes * (sizes - 1) // 2).sum())
    for batch in join.group_pairs():
        connected.add(batch)
        pairs = join.left.sizes[batch.left] * join.right.sizes[batch.right]
        # Floats are exact: no batch has 2**53 pairs.
        counts += np.bincount(batch.distances, pairs, len(counts)).astype(np.int64)
        nearest.add_groups(join, batch, left, right)
    if join.is_self:
        nearest.add_equal(join, left)
    else:
        counts -= _pairs_with_itself(join, left, right, len(counts))
    first, second, distances = nearest.ordered()
    members, starts = connected.clusters()
    return Duplicates(
        join.radius,
        to_ids(objects[first]),
        to_ids(objects[second]),
        distances,
        counts,
        to_ids(objects[members]),
        starts,
    )


class _Clusters:
    """Connected components. Nodes are the objects, the left groups of equal codes, and the right ones."""

    def __init__(self, join: CodeJoin, n: int, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
        self._n = n
        self._sides = [(join.left, left, n)]
        if not join.is_self:
            self._sides.append((join.right, right, n + len(join.left.codes)))
        self._right_begin = self._sides[-1][2]
        self._parents = np.arange(self._right_begin + len(join.right.codes))
        #: Only the objects of a group that has a pair are connected to it.
        self._paired = np.zeros(len(self._parents), dtype=np.bool_)
        if join.is_self:
            self._paired[n:] = join.left.sizes > 1

    def add(self, batch: PairBatch) -> None:
        """Connect groups of equal codes."""
        i, j = batch.left + self._n, batch.right + self._right_begin
        unite(self._parents, i, j)
        self._paired[i] = self._paired[j] = True

    def clusters(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Objects cluster by cluster, the largest cluster first, and where each begins."""
        for groups, objects, begin in self._sides:
            nodes = np.repeat(np.arange(len(groups.codes)) + begin, groups.sizes)
            paired = self._paired[nodes]
            unite(self._parents, objects[groups.rows[paired]], nodes[paired])
        cluster = first_of_sets(self._parents)[: self._n]
        sizes = np.bincount(cluster, minlength=self._n)
        kept = np.flatnonzero(sizes[cluster] > 1)
        kept = kept[np.lexsort((kept, cluster[kept], -sizes[cluster[kept]]))]
        new = np.flatnonzero(np.diff(cluster[kept], prepend=-1))
        return kept, np.append(new, len(kept)) if len(kept) else np.zeros(1, dtype=np.int64)


class _NearestPairs:
    """The nearest pairs of those that were added, in order of (distance, first, second)."""

    def __init__(self, limit: int, n: int) -> None:
        self._limit, self._n = limit, n
        self._kept = [
            (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint16))
        ]
        self._count = 0
        #: Pairs that are farther are not kept, because there are enough nearer ones.
        self._farthest = np.iinfo(np.uint16).max

    def add_groups(
        self, join: CodeJoin, batch: PairBatch, left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> None:
        near = batch.distances <= self._farthest
        if self._limit and near.any():
            for i, j, distances in join.multiply(
                PairBatch(batch.left[near], batch.right[near], batch.distances[near])
            ):
                self._add(left[i], right[j], distances, is_self=join.is_self)

    def add_equal(self, join: CodeJoin, objects: NDArray[np.int64]) -> None:
        if self._limit:
            for i, j in join.left.pairs_inside(min(self._limit, 1 << 20)):
                self._add(objects[i], objects[j], np.zeros(len(i), dtype=np.uint16), is_self=True)

    def _add(
        self, i: NDArray[np.int64], j: NDArray[np.int64], d: NDArray[np.uint16], *, is_self: bool
    ) -> None:
        if is_self:
            i, j = np.minimum(i, j), np.maximum(i, j)
        keep = i != j
        self._kept.append((i[keep], j[keep], d[keep]))
        self._count += int(keep.sum())
        if self._count > 2 * self._limit:
            kept = self.ordered()
            self._kept, self._count = [kept], len(kept[0])
            self._farthest = int(kept[2][-1])

    def ordered(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]:
        """The nearest pairs, as places among the objects."""
        i, j, d = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        order = np.lexsort((j, i, d))[: self._limit]
        return i[order], j[order], d[order]


def _pairs_with_itself(
    join: CodeJoin, left: NDArray[np.int64], right: NDArray[np.int64], n_counts: int
) -> NDArray[np.int64]:
    """How many objects have two codes at each distance of the join."""
    _, i, j = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    counts = np.zeros(n_counts, dtype=np.int64)
    group_left, group_right = (
        np.repeat(np.arange(len(groups.codes)), groups.sizes)[np.argsort(groups.rows)]
        for groups in (join.left, join.right)
    )
    for begin in range(0, len(i), 1 << 16):
        a, b = i[begin : begin + (1 << 16)], j[begin : begin + (1 << 16)]
        different = join.left.codes[group_left[a]] ^ join.right.codes[group_right[b]]
        distances = np.bitwise_count(different).sum(axis=1, dtype=np.int64)
        counts += np.bincount(distances[distances < n_counts], minlength=n_counts)
    return counts
