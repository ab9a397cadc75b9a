"""String ids: each has a key of its own, and only the keys stand with the codes.

StringIds are never part of an SQL statement: they lie in the file as counted UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .key_positions import find_sorted

__all__ = ["StringIds", "join_packed_strings", "pack_strings", "unpack_strings"]


def pack_strings(names: Sequence[str]) -> bytes:
    r"""Byte lengths (uint32), then the UTF-8 bytes of all names.

    Examples
    --------
    >>> pack_strings(["a", "é"])
    b'\x01\x00\x00\x00\x02\x00\x00\x00a\xc3\xa9'
    """
    encoded = [name.encode() for name in names]
    return np.array([len(name) for name in encoded], dtype="<u4").tobytes() + b"".join(encoded)


def unpack_strings(data: bytes, count: int) -> tuple[NDArray[np.int64], bytes]:
    """Offsets of shape (count + 1,) and the bytes that they cut; ValueError if they do not fit."""
    if len(data) < 4 * count:
        raise ValueError(f"{len(data)} bytes are not {count} names")
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.frombuffer(data, dtype="<u4", count=count), out=offsets[1:])
    text = data[4 * count :]
    if offsets[-1] != len(text):
        raise ValueError(f"{count} names should have {offsets[-1]} bytes, there are {len(text)}")
    return offsets, text


def join_packed_strings(parts: Sequence[tuple[int, bytes]]) -> bytes:
    """Put packed names, given as (count, bytes), into one."""
    return b"".join(data[: 4 * n] for n, data in parts) + b"".join(data[4 * n :] for n, data in parts)


class _Block:
    """String ids of one segment, decoded only when asked for."""

    def __init__(self, keys: NDArray[np.int64], data: bytes, skip: int) -> None:
        offsets, self.text = unpack_strings(data, len(keys))
        self.keys, self.offsets = keys[skip:], offsets[skip:]

    def name(self, row: int) -> str:
        return self.text[self.offsets[row] : self.offsets[row + 1]].decode()


class StringIds:
    """String ids by key, and keys by name. Keys increase from block to block.

    Examples
    --------
    >>> names = StringIds()
    >>> names.append(np.array([0, 1]), pack_strings(["sun", "moon"]))
    >>> names.of(np.array([1, 0])), names.key("moon"), names.key("star")
    (['moon', 'sun'], 1, None)
    """

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._first_keys: list[int] = []
        self._keys: dict[str, int] | None = None

    def append(self, keys: NDArray[np.int64], data: bytes, skip: int = 0) -> None:
        """Take in a segment of names, but not its first ``skip`` ones."""
        block = _Block(keys, data, skip)
        if not len(block.keys):
            return
        if self._keys is not None:
            self._keys |= {block.name(row): int(key) for row, key in enumerate(block.keys)}
        # In this order: a search in another thread reads the first keys, then the blocks.
        self._blocks.append(block)
        self._first_keys.append(int(block.keys[0]))

    def of(self, keys: NDArray[np.int64]) -> list[str]:
        """StringIds of keys, every one of which is known."""
        names = [""] * len(keys)
        where = np.searchsorted(np.array(self._first_keys), keys, side="right") - 1
        for number in np.unique(where).tolist():
            block, chosen = self._blocks[number], np.flatnonzero(where == number)
            rows = find_sorted(block.keys, keys[chosen])
            for place, row in zip(chosen.tolist(), rows.tolist(), strict=True):
                names[place] = block.name(row)
        return names

    def key(self, name: str) -> int | None:
        """Key of a name, None if it never had one."""
        return self.keys_by_id.get(name)

    @property
    def keys_by_id(self) -> dict[str, int]:
        """Keys by name; made at the first question, as search has none."""
        if self._keys is None:
            self._keys = {
                block.name(row): int(key) for block in self._blocks for row, key in enumerate(block.keys)
            }
        return self._keys
