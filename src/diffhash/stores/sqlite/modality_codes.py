"""The codes of one modality in memory: the native index and the keys beside it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...codes import code_bytes
from ...search import HammingIndex
from ...types import BoolArray, CodeArray
from .key_positions import GrowingArray, KeyPositions, find_sorted

__all__ = ["ModalityCodes"]


class ModalityCodes:
    """Codes at positions 0, 1, 2, …, some of them removed.

    The native index has the positions as its ids, so that ties go to what was added first. Removals
    reach it when it is next searched: it then copies all codes, once for all of them.
    """

    def __init__(self, n_bits: int, codes: CodeArray, keys: NDArray[np.int64]) -> None:
        self.n_bits = n_bits
        self._index = HammingIndex(codes, n_bits=n_bits)
        self._keys = GrowingArray(keys)
        self._map = KeyPositions(keys)
        self._removed = GrowingArray(np.zeros(len(keys), dtype=np.bool_))
        self._pending_removals: list[NDArray[np.int64]] = []
        self._rows_are_positions = True  # no position is missing from the index
        #: Entries of the stream of removals that were taken in.
        self.n_removals = 0

    @classmethod
    def empty(cls, n_bits: int) -> ModalityCodes:
        """An instance without codes."""
        codes = np.empty((0, code_bytes(n_bits)), dtype=np.uint8)
        return cls(n_bits, codes, np.empty(0, dtype=np.int64))

    @property
    def n_positions(self) -> int:
        """Codes that were ever added."""
        return len(self._keys)

    def __len__(self) -> int:
        return self.n_positions - self.n_removals

    @property
    def keys(self) -> NDArray[np.int64]:
        """Keys by position, those of removed codes included."""
        return self._keys.values  # type: ignore[return-value]

    def add(self, codes: CodeArray, keys: NDArray[np.int64]) -> None:
        """Append codes."""
        first = self.n_positions
        # A search in another thread may find a new code at once: its key must be there before.
        self._keys.append(keys)
        self._removed.append(np.zeros(len(keys), dtype=np.bool_))
        self._map.append(keys, self.keys)
        self._index.add(codes, np.arange(first, first + len(keys)))

    def remove(self, positions: NDArray[np.int64]) -> None:
        """Mark positions as removed; ValueError if one of them is not there."""
        if len(np.unique(positions)) != len(positions) or self._removed.values[positions].any():
            raise ValueError("a code was removed twice")
        self._removed.values[positions] = True
        self.n_removals += len(positions)
        if len(positions):
            self._pending_removals.append(positions)

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of keys, -1 where there is no code of that key."""
        found = self._map.find(keys)
        if self.n_removals:
            found[(found >= 0) & self._removed.values[found].astype(np.bool_)] = -1
        return found

    @property
    def index(self) -> HammingIndex:
        """The native index, in step with everything above; its ids are positions."""
        if self._pending_removals:
            waiting, self._pending_removals = self._pending_removals, []
            self._index.remove(np.concatenate(waiting))
            self._rows_are_positions = False
        return self._index

    def rows(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the index with the codes of keys, of those that there are."""
        index, found = self.index, self.find(keys)
        found = found[found >= 0]
        return found if self._rows_are_positions else find_sorted(index.ids, found)

    def no_rows(self) -> BoolArray:
        """A mask over the rows of the index."""
        return np.zeros(len(self), dtype=np.bool_)

    def positions(self) -> NDArray[np.int64]:
        """Positions of all codes that are there, in order."""
        return self.index.ids

    def codes_at(self, positions: NDArray[np.int64]) -> CodeArray:
        """Codes at positions that are not removed."""
        index = self.index
        return index.codes[positions if self._rows_are_positions else find_sorted(index.ids, positions)]

    def part(self, mask: BoolArray) -> HammingIndex:
        """An index of the rows that a mask allows."""
        index = self.index
        return HammingIndex(index.codes[mask], index.ids[mask], n_bits=self.n_bits)


def from_parts(n_bits: int, parts: Iterable[tuple[NDArray[np.int64], bytes]]) -> ModalityCodes:
    """Put segments together; ValueError if they do not have the width of the codes."""
    width = code_bytes(n_bits)
    keys, blocks = [np.empty(0, dtype=np.int64)], [np.empty((0, width), dtype=np.uint8)]
    for numbers, data in parts:
        keys.append(numbers)
        blocks.append(code_block(data, len(numbers), width))
    return ModalityCodes(n_bits, np.concatenate(blocks), np.concatenate(keys))


def code_block(data: bytes, count: int, width: int) -> CodeArray:
    """The codes of a segment; ValueError if there are not as many bytes as there should be."""
    if len(data) != count * width:
        raise ValueError(f"{count} codes of {width} bytes cannot have {len(data)} bytes")
    return np.frombuffer(data, dtype=np.uint8).reshape(count, width)
