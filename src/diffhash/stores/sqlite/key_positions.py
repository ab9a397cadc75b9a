"""From the key of an object to the position of its code.

An object's key is its id if the ids are whole numbers. If the ids are strings, each gets a number as its
key. The codes of a modality stand one after the other at *positions* 0, 1, 2, …. A key that was removed
and added again has a new position, so only its last position is valid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["GrowingArray", "KeyPositions", "find_sorted", "strictly_increasing"]

Numbers = NDArray[np.int64]
#: Keys that are kept in a dict before they are merged into the sorted array.
_MAX_RECENT = 1 << 16


def strictly_increasing(numbers: Numbers) -> bool:
    """Tell whether every number is larger than the one before."""
    return bool(np.all(numbers[1:] > numbers[:-1]))


class GrowingArray:
    """A one-dimensional array that is appended to; what was handed out before stays valid."""

    def __init__(self, values: NDArray[np.generic]) -> None:
        self._buffer = values
        self._used = len(values)

    def __len__(self) -> int:
        return self._used

    @property
    def values(self) -> NDArray[np.generic]:
        """What is in use: a view, not a copy."""
        return self._buffer[: self._used]

    def append(self, new: NDArray[np.generic]) -> None:
        """Put ``new`` behind the rest."""
        total = self._used + len(new)
        if total > len(self._buffer):
            larger = np.empty(total + total // 8 + 16, dtype=self._buffer.dtype)
            larger[: self._used] = self.values
            self._buffer = larger
        self._buffer[self._used : total] = new
        self._used = total


class KeyPositions:
    """From keys to their last positions.

    Keys that only ever increase need nothing beside themselves; others are kept sorted, the latest
    in a dict. Nothing is built before the first question.
    """

    def __init__(self, keys: Numbers) -> None:
        self._keys = keys
        self._positions: Numbers | None = None  # None: the positions are the row numbers
        self._ready = False
        self._recent: dict[int, int] = {}
        self._count = len(keys)

    def append(self, keys: Numbers, everything: Numbers) -> None:
        """Take in keys at the positions that follow; ``everything`` is all keys by position, new ones too."""
        first, self._count = self._count, self._count + len(keys)
        if not len(keys):
            return
        if not self._ready or (
            self._positions is None
            and not self._recent
            and strictly_increasing(keys)
            and (not first or keys[0] > everything[first - 1])
        ):
            self._keys = everything
        elif len(keys) > _MAX_RECENT:
            self._merge(keys, np.arange(first, self._count))
        else:
            self._recent |= zip(keys.tolist(), range(first, self._count), strict=True)
            if len(self._recent) > _MAX_RECENT:
                self._merge(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def _merge(self, keys: Numbers, positions: Numbers) -> None:
        """Sort the dict and further keys in; a stable sort keeps the last position of a key last."""
        old = np.arange(len(self._keys)) if self._positions is None else self._positions
        tail = np.array(list(self._recent.items()), dtype=np.int64).reshape(-1, 2)
        everything = np.concatenate([self._keys, tail[:, 0], keys])
        places = np.concatenate([old, tail[:, 1], positions])
        order = np.argsort(everything, kind="stable")
        self._keys, self._positions, self._recent = everything[order], places[order], {}

    def find(self, keys: Numbers) -> Numbers:
        """Last position of each key, -1 where there is none."""
        if not self._ready:
            self._ready = True
            if not strictly_increasing(self._keys):
                order = np.argsort(self._keys, kind="stable")
                self._keys, self._positions = self._keys[order], order
        found = find_sorted(self._keys, keys)
        if self._positions is not None:
            found = np.where(found >= 0, self._positions[found], -1)
        if self._recent:
            late = self._recent.get
            found = np.fromiter(map(late, keys.tolist(), found.tolist()), dtype=np.int64, count=len(keys))
        return found


def find_sorted(ordered: Numbers, wanted: Numbers) -> Numbers:
    """Row of each wanted number in sorted ones (the last, if it is there more than once), or -1.

    Examples
    --------
    >>> find_sorted(np.array([1, 4, 4, 9]), np.array([4, 5, 9]))
    array([ 2, -1,  3])
    """
    if not len(ordered):
        return np.full(len(wanted), -1, dtype=np.int64)
    rows = np.searchsorted(ordered, wanted, side="right") - 1
    return np.where((rows >= 0) & (ordered[rows] == wanted), rows, -1)
