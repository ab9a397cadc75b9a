"""Which of new codes are known: an index, or an earlier new code, has one within a radius."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..native.pair_join import CodeJoin
from ..types import BoolArray, CodeArray, SearchResult
from .index import HammingIndex

__all__ = ["KnownCodes", "find_known"]

#: New codes that are compared with each other at a time: at most 8 million pairs.
_BLOCK = 4096


class SearchableCodes(Protocol):
    """What is compared with new codes: a HammingIndex, or a store in its form."""

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""

    def __len__(self) -> int: ...

    def search(self, queries: CodeArray, k: int) -> SearchResult:
        """The nearest codes of every query."""


@dataclass(frozen=True, eq=False)
class KnownCodes:
    """What is known about new codes.

    Attributes
    ----------
    new : bool array of shape (n,)
        Codes that are not known.
    stored : int64 array of shape (n,)
        Id of the nearest code in the index, if that is why a code is known; otherwise -1.
    earlier : int64 array of shape (n,)
        Row of the nearest new code before it, if that is why a code is known; otherwise -1.
    """

    new: BoolArray
    stored: NDArray[np.int64]
    earlier: NDArray[np.int64]


def find_known(index: SearchableCodes, codes: CodeArray, radius: int) -> KnownCodes:
    """Compare new codes with an index and with each other, as if they were added one after the other.

    A code is known if the index, or a new code before it that is not known itself, is within the radius. The ids
    of the index must be at least 0.

    Examples
    --------
    >>> index = HammingIndex(np.array([[0b0000]], dtype=np.uint8))
    >>> known = find_known(index, np.array([[0b0001], [0b0111], [0b1111]], dtype=np.uint8), radius=1)
    >>> known.new, known.stored, known.earlier
    (array([False,  True, False]), array([ 0, -1, -1]), array([-1, -1,  1]))
    """
    n = len(codes)
    new = np.zeros(n, dtype=np.bool_)
    stored, earlier = np.full(n, -1), np.full(n, -1)
    added = HammingIndex(n_bits=index.n_bits)
    for begin in range(0, n, _BLOCK):
        rows = slice(begin, min(begin + _BLOCK, n))
        block = codes[rows]
        in_index, index_distance = _nearest(index, block, radius)
        in_call, distance = _nearest(added, block, radius)
        i, j, d = _pairs(block, index.n_bits, radius)
        fresh = _independent((in_index < 0) & (in_call < 0), i, j)
        # The nearest of the new codes in this block; in_call has rows of earlier blocks, which come first.
        order = np.lexsort((i, d))
        order = order[fresh[i[order]]]
        last, first = np.unique(j[order], return_index=True)
        nearer = d[order[first]] < distance[last]
        last, first = last[nearer], first[nearer]
        in_call[last], distance[last] = i[order[first]] + begin, d[order[first]]
        by_index = (index_distance <= distance) & (in_index >= 0)
        new[rows] = fresh
        stored[rows] = np.where(by_index, in_index, -1)
        earlier[rows] = np.where(by_index | fresh, -1, in_call)
        added.add(block[fresh], np.flatnonzero(fresh) + begin)
    return KnownCodes(new, stored, earlier)


def _nearest(
    index: SearchableCodes, codes: CodeArray, radius: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Id and distance of the nearest code within the radius; -1 and a large number if there is none."""
    if not len(index):
        return np.full(len(codes), -1), np.full(len(codes), 1 << 16)
    found = index.search(codes, k=1)
    near = found.distances[:, 0] <= radius
    return np.where(near, found.ids[:, 0], -1), np.where(near, found.distances[:, 0], 1 << 16)


def _pairs(
    codes: CodeArray, n_bits: int, radius: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """All pairs (i, j, distance) within the radius, with i < j."""
    batches = list(CodeJoin(codes, None, radius, n_bits=n_bits, caller="add").pairs())
    if not batches:
        empty = np.empty(0, dtype=np.int64)
        return empty, empty, empty
    i, j, d = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    return i, j, d.astype(np.int64)


def _independent(candidates: BoolArray, i: NDArray[np.int64], j: NDArray[np.int64]) -> BoolArray:
    """Candidates that have no pair with a chosen one before them, chosen in order.

    In each round those are chosen that wait for nobody; those that have a pair with one of them are dropped.
    """
    chosen, waiting = np.zeros(len(candidates), dtype=np.bool_), candidates.copy()
    while waiting.any():
        alive = waiting[i] & waiting[j]
        i, j = i[alive], j[alive]
        free = waiting.copy()
        free[j] = False
        chosen |= free
        waiting &= ~free
        waiting[j[free[i]]] = False
    return chosen
