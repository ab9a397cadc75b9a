"""The codes of one modality in memory: the native index and the keys of the objects."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...codes import code_bytes
from ...search import HammingIndex
from ...types import BoolArray, CodeArray
from .key_positions import GrowingArray, KeyPositions, find_sorted

__all__ = ["ModalityCodes", "code_block", "from_parts"]


class ModalityCodes:
    """Codes at positions 0, 1, 2, …, some of them removed.

    The ids of the native index are the positions, so at equal distance the code that was added first
    is found first. Removals are collected and applied when the index is next used: it then copies
    all codes, once for all removals.
    """

    def __init__(self, n_bits: int, codes: CodeArray, keys: NDArray[np.int64]) -> None:
        self.n_bits = n_bits
        self._index = HammingIndex(codes, n_bits=n_bits)
        self._keys = GrowingArray(keys)
        self._key_positions = KeyPositions(keys)
        self._removed = GrowingArray(np.zeros(len(keys), dtype=np.bool_))
        self._pending_removals: list[NDArray[np.int64]] = []
        #: No code was ever removed from the index, so row r of the index is position r.
        self._rows_are_positions = True
        #: Number of positions that were removed.
        self.n_removals = 0

    @property
    def n_positions(self) -> int:
        """Number of codes that were ever added."""
        return len(self._keys)

    def __len__(self) -> int:
        return self.n_positions - self.n_removals

    @property
    def keys(self) -> NDArray[np.int64]:
        """Keys by position; removed positions keep their key."""
        return self._keys.values  # type: ignore[return-value]

    def add(self, codes: CodeArray, keys: NDArray[np.int64]) -> None:
        """Append codes."""
        first = self.n_positions
        # The index comes last: a search in another thread may find a new code at once and reads its key.
        self._keys.append(keys)
        self._removed.append(np.zeros(len(keys), dtype=np.bool_))
        self._key_positions.append(keys, self.keys)
        self._index.add(codes, np.arange(first, first + len(keys)))

    def remove(self, positions: NDArray[np.int64]) -> None:
        """Mark positions as removed; ValueError if one of them is removed already."""
        if len(np.unique(positions)) != len(positions) or self._removed.values[positions].any():
            raise ValueError("a code was removed twice")
        self._removed.values[positions] = True
        self.n_removals += len(positions)
        if len(positions):
            self._pending_removals.append(positions)

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Position of each key, -1 if the key has no code."""
        found = self._key_positions.find(keys)
        if self.n_removals:
            found[(found >= 0) & self._removed.values[found].astype(np.bool_)] = -1
        return found

    @property
    def index(self) -> HammingIndex:
        """The native index, with all removals applied; its ids are positions."""
        if self._pending_removals:
            pending, self._pending_removals = self._pending_removals, []
            self._index.remove(np.concatenate(pending))
            self._rows_are_positions = False
        return self._index

    def positions(self) -> NDArray[np.int64]:
        """Positions of all codes that are not removed, in order."""
        return self.index.ids

    def codes_at(self, positions: NDArray[np.int64]) -> CodeArray:
        """Codes at positions that are not removed."""
        index = self.index
        return index.codes[positions if self._rows_are_positions else find_sorted(index.ids, positions)]

    def rows(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the index with the codes of keys; keys without a code are left out."""
        index, found = self.index, self.find(keys)
        found = found[found >= 0]
        return found if self._rows_are_positions else find_sorted(index.ids, found)

    def no_rows(self) -> BoolArray:
        """A mask over the rows of the index that selects none."""
        return np.zeros(len(self), dtype=np.bool_)

    def index_of_rows(self, mask: BoolArray) -> HammingIndex:
        """A new index of the rows that a mask selects."""
        index = self.index
        return HammingIndex(index.codes[mask], index.ids[mask], n_bits=self.n_bits)


def from_parts(n_bits: int, parts: Iterable[tuple[NDArray[np.int64], bytes]]) -> ModalityCodes:
    """Join segments, given as (keys, bytes); ValueError if the bytes do not have the width of the codes."""
    width = code_bytes(n_bits)
    keys, blocks = [np.empty(0, dtype=np.int64)], [np.empty((0, width), dtype=np.uint8)]
    for numbers, data in parts:
        keys.append(numbers)
        blocks.append(code_block(data, len(numbers), width))
    return ModalityCodes(n_bits, np.concatenate(blocks), np.concatenate(keys))


def code_block(data: bytes, count: int, width: int) -> CodeArray:
    """The codes of a segment; ValueError if the number of bytes is wrong."""
    if len(data) != count * width:
        raise ValueError(f"{count} codes of {width} bytes cannot have {len(data)} bytes")
    return np.frombuffer(data, dtype=np.uint8).reshape(count, width)
