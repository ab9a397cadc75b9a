"""String ids: each has a number as its key, and only the keys are stored with the codes.

The strings are never part of an SQL statement: the file holds them as counted UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .key_positions import find_sorted, strictly_increasing

__all__ = ["StringIds", "join_packed_strings", "pack_strings", "unpack_strings"]


def pack_strings(strings: Sequence[str]) -> bytes:
    r"""Byte lengths (uint32), then the UTF-8 bytes of all strings.

    Examples
    --------
    >>> pack_strings(["a", "é"])
    b'\x01\x00\x00\x00\x02\x00\x00\x00a\xc3\xa9'
    """
    encoded = [string.encode() for string in strings]
    return np.array([len(data) for data in encoded], dtype="<u4").tobytes() + b"".join(encoded)


def unpack_strings(data: bytes, count: int) -> tuple[NDArray[np.int64], bytes]:
    """Offsets of shape (count + 1,) into the UTF-8 bytes, and these; ValueError if the lengths are wrong."""
    if len(data) < 4 * count:
        raise ValueError(f"{len(data)} bytes are too few for {count} strings")
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.frombuffer(data, dtype="<u4", count=count), out=offsets[1:])
    text = data[4 * count :]
    if offsets[-1] != len(text):
        raise ValueError(f"{count} strings should have {offsets[-1]} bytes, got {len(text)}")
    return offsets, text


def join_packed_strings(parts: Sequence[tuple[int, bytes]]) -> bytes:
    """Join packed strings, given as (count, bytes)."""
    return b"".join(data[: 4 * n] for n, data in parts) + b"".join(data[4 * n :] for n, data in parts)


class _Block:
    """String ids of one segment, decoded when they are needed."""

    def __init__(self, keys: NDArray[np.int64], data: bytes, skip: int) -> None:
        offsets, self.text = unpack_strings(data, len(keys))
        self.keys, self.offsets = keys[skip:], offsets[skip:]

    def string(self, row: int) -> str:
        return self.text[self.offsets[row] : self.offsets[row + 1]].decode()


class StringIds:
    """Strings by key, and keys by string. Keys increase from block to block.

    Attributes
    ----------
    last_key : int
        The largest key; -1 if there is none.

    Examples
    --------
    >>> ids = StringIds()
    >>> ids.append(np.array([0, 1]), pack_strings(["sun", "moon"]))
    >>> ids.of(np.array([1, 0])), ids.keys_of(["moon", "star"])
    (['moon', 'sun'], array([ 1, -1]))
    """

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._first_keys: list[int] = []
        self.last_key = -1
        self._keys_by_id: dict[str, int] | None = None
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, keys: NDArray[np.int64], data: bytes, skip: int = 0) -> None:
        """Add a segment of packed strings, without its first ``skip`` strings."""
        block = _Block(keys, data, skip)
        if not len(block.keys):
            return
        if block.keys[0] <= self.last_key or not strictly_increasing(block.keys):
            raise ValueError("the numbers of string ids do not increase")
        if self._keys_by_id is not None:
            self._keys_by_id |= {block.string(row): int(key) for row, key in enumerate(block.keys)}
        # In this order: a search in another thread reads the first keys, then the blocks.
        self._blocks.append(block)
        self._first_keys.append(int(block.keys[0]))
        self.last_key = int(block.keys[-1])
        self._count += len(block.keys)

    def of(self, keys: NDArray[np.int64]) -> list[str]:
        """Strings of keys; LookupError if a key is not known."""
        strings = [""] * len(keys)
        numbers = np.searchsorted(np.array(self._first_keys), keys, side="right") - 1
        for number in np.unique(numbers).tolist():
            if number < 0:
                raise LookupError("an object has no id")
            block, chosen = self._blocks[number], np.flatnonzero(numbers == number)
            rows = find_sorted(block.keys, keys[chosen])
            if (rows < 0).any():
                raise LookupError("an object has no id")
            for place, row in zip(chosen.tolist(), rows.tolist(), strict=True):
                strings[place] = block.string(row)
        return strings

    def keys_of(self, strings: Sequence[str]) -> NDArray[np.int64]:
        """Key of each string, -1 if it never had one."""
        return np.array([self.keys_by_id.get(string, -1) for string in strings], dtype=np.int64)

    @property
    def keys_by_id(self) -> dict[str, int]:
        """Keys by string; made on first access, because a search does not need it."""
        if self._keys_by_id is None:
            self._keys_by_id = {
                block.string(row): int(key) for block in self._blocks for row, key in enumerate(block.keys)
            }
        return self._keys_by_id
