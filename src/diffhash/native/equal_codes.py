"""Equal codes as one: a join compares each code once, and its pairs are multiplied afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..types import CodeArray

__all__ = ["EqualCodes", "code_words", "hash_words"]

Rows = NDArray[np.int64]
#: An odd number with bits everywhere: multiplying by it mixes all lower bits into the upper ones.
_MIX = np.uint64(0x9E3779B97F4A7C15)


def code_words(codes: CodeArray) -> NDArray[np.uint64]:
    """Codes as words of 64 bits, shape (n, ceil(bytes / 8)); a copy only if bytes must be added."""
    n, width = codes.shape
    if width % 8:
        padded = np.zeros((n, -(-width // 8) * 8), dtype=np.uint8)
        padded[:, :width] = codes
        codes = padded
    return codes.view(np.uint64)


def hash_words(words: NDArray[np.uint64], mask: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
    """One number for each code, equal for codes that are equal on the bits of the mask."""
    number = words[:, 0] if mask is None else words[:, 0] & mask[0]
    for column in range(1, words.shape[1]):
        word = words[:, column] if mask is None else words[:, column] & mask[column]
        number = (number ^ (number >> np.uint64(29))) * _MIX ^ word
    return number


@dataclass(frozen=True, eq=False)
class EqualCodes:
    """Groups of equal codes.

    Attributes
    ----------
    codes : uint8 array of shape (m, bytes)
        One code of each group. Two groups may have the same code if two different codes have the same hash.
    rows : int64 array of shape (n,)
        Row numbers by group, in order within each group.
    starts : int64 array of shape (m + 1,)
        Group ``g`` is ``rows[starts[g]:starts[g + 1]]``.
    """

    codes: CodeArray
    rows: Rows
    starts: Rows

    @classmethod
    def of(cls, codes: CodeArray) -> EqualCodes:
        """Group codes of shape (n, bytes)."""
        words = code_words(codes)
        rows = np.argsort(hash_words(words), kind="stable")
        new = np.ones(len(codes) + 1, dtype=np.bool_)
        # In blocks: a sorted copy of wide codes would take as much memory as the codes.
        for begin in range(1, len(codes), 1 << 16):
            block = words[rows[begin - 1 : begin - 1 + (1 << 16) + 1]]
            new[begin : begin + len(block) - 1] = (block[1:] != block[:-1]).any(axis=1)
        starts = np.flatnonzero(new)
        return cls(np.ascontiguousarray(codes[rows[starts[:-1]]]), rows, starts)

    @property
    def sizes(self) -> Rows:
        """Number of rows of each group."""
        return np.diff(self.starts)

    def pairs_inside(self, limit: int) -> Iterator[tuple[Rows, Rows]]:
        """All pairs of rows of the same group, at most ``limit`` at a time."""
        places = np.flatnonzero(np.repeat(self.sizes, self.sizes) > 1)
        later = np.repeat(self.starts[1:], self.sizes)[places] - places - 1
        for pair, offset in _windows(later, limit):
            place = places[pair]
            yield self.rows[place], self.rows[place + 1 + offset]


def multiply_pairs(
    left: EqualCodes, right: EqualCodes, i: Rows, j: Rows, distances: NDArray[np.uint16], limit: int
) -> Iterator[tuple[Rows, Rows, NDArray[np.uint16]]]:
    """Pairs of rows from pairs of groups, at most ``limit`` at a time."""
    per_left = right.sizes[j]
    for pair, offset in _windows(left.sizes[i] * per_left, limit):
        row, column = np.divmod(offset, per_left[pair])
        yield (
            left.rows[left.starts[i[pair]] + row],
            right.rows[right.starts[j[pair]] + column],
            distances[pair],
        )


def _windows(counts: Rows, limit: int) -> Iterator[tuple[Rows, Rows]]:
    """Number every unit of the counts: which count it belongs to, and its place in it."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, limit):
        units = np.arange(begin, min(begin + limit, total))
        owner = np.searchsorted(ends, units, side="right")
        yield owner, units - (ends[owner] - counts[owner])
