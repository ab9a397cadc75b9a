"""Whole numbers in few bytes, as the file stores keys and positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["pack_numbers", "unpack_numbers"]

Numbers = NDArray[np.int64]
_WIDTHS = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}


def pack_numbers(numbers: Numbers) -> bytes:
    """Whole numbers as bytes: consecutive ones take nine, others their offsets from the smallest.

    Examples
    --------
    >>> len(pack_numbers(np.arange(1000))), len(pack_numbers(np.array([7, 5, 300])))
    (9, 15)
    """
    if not len(numbers):
        return b"\0" + bytes(8)
    first = int(numbers[0])
    if np.array_equal(np.diff(numbers), np.ones(len(numbers) - 1, dtype=np.int64)):
        return b"\0" + first.to_bytes(8, "little", signed=True)
    least, spread = int(numbers.min()), int(numbers.max()) - int(numbers.min())
    width = next(width for width in _WIDTHS if spread < 1 << 8 * width)
    # Unsigned differences are right even where signed ones overflow.
    offsets = numbers.view(np.uint64) - np.uint64(least % (1 << 64))
    return (
        bytes([width]) + least.to_bytes(8, "little", signed=True) + offsets.astype(_WIDTHS[width]).tobytes()
    )


def unpack_numbers(data: bytes, count: int) -> Numbers:
    """The inverse of :func:`pack_numbers`; ValueError if the bytes cannot be ``count`` numbers.

    Examples
    --------
    >>> unpack_numbers(pack_numbers(np.array([7, 5, 300])), 3)
    array([  7,   5, 300])
    """
    if len(data) < 9 or (data[0] and data[0] not in _WIDTHS) or len(data) != 9 + data[0] * count:
        raise ValueError(f"{len(data)} bytes are not {count} packed numbers")
    least = int.from_bytes(data[1:9], "little", signed=True)
    if data[0] == 0:
        if count and least + count - 1 > np.iinfo(np.int64).max:
            raise ValueError("packed numbers beyond 64 bits")
        return np.arange(least, least + count, dtype=np.int64)
    offsets = np.frombuffer(data, dtype=_WIDTHS[data[0]], offset=9).astype(np.uint64)
    return (offsets + np.uint64(least % (1 << 64))).view(np.int64)
