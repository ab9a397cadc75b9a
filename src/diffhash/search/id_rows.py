"""Ids of an index: find their rows, check new ones, and grow the arrays that hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..native.checks import as_ids
from ..native.search import IndexedCodes

# Spare room that a growing index keeps: an index takes at most 1.1 times its codes and ids.
SPARE = 0.06


def largest_id(stored: IndexedCodes) -> int:
    """Find the largest id of an index that is not empty."""
    if stored.ids is None:
        return len(stored.codes) - 1
    return int(stored.ids[-1] if stored.increasing else stored.ids.max())


def check_unique(ordered: NDArray[np.int64], *, caller: str) -> None:
    """Refuse sorted ids of which one comes twice."""
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        raise InputError(f"{caller}: ids must be unique, {twice[0]} is there more than once.")


def rows_of(stored: IndexedCodes, wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the rows that have one of the ids in ``wanted``, which is sorted."""
    n = len(stored.codes)
    mask = np.zeros(n, dtype=np.bool_)
    if not n or not len(wanted):
        return mask
    if stored.ids is None:
        mask[wanted[(wanted >= 0) & (wanted < n)]] = True
    elif stored.increasing:
        rows = np.searchsorted(stored.ids, wanted)
        rows[rows == n] = 0
        mask[rows[stored.ids[rows] == wanted]] = True
    else:
        places = np.searchsorted(wanted, stored.ids)
        places[places == len(wanted)] = 0
        mask = wanted[places] == stored.ids
    return mask


def bitmap_of(stored: IndexedCodes, ids: Any, *, caller: str) -> NDArray[np.uint8] | None:
    """Turn the ids to search among into a bitmap of rows; None: all rows."""
    if ids is None:
        return None
    wanted = np.unique(as_ids(ids, np.size(ids), caller=caller))
    return np.packbits(rows_of(stored, wanted), bitorder="little")


def new_ids(stored: IndexedCodes, ids: Any, count: int, *, caller: str) -> NDArray[np.int64]:
    """Check the ids of codes to be added, or number on from the largest."""
    n = len(stored.codes)
    if ids is None:
        first = largest_id(stored) + 1 if n else 0
        if first + count > np.iinfo(np.int64).max:
            raise InputError(f"{caller}: no ids are left above {first - 1}. Give ids.")
        return np.arange(first, first + count)
    numbers = as_ids(ids, count, caller=caller)
    ordered = np.sort(numbers)
    check_unique(ordered, caller=caller)
    if n and count and not (stored.increasing and ordered[0] > largest_id(stored)):
        known = rows_of(stored, ordered)
        if known.any():
            old = np.flatnonzero(known)[0]
            known_id = old if stored.ids is None else stored.ids[old]
            raise InputError(f"{caller}: the index has id {known_id} already. Remove it first.")
    return numbers


def grown(buffer: NDArray[Any] | None, used: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Put ``new`` behind ``used``: into the same buffer if there is room, else into a larger one.

    Rows behind those in use may be written while others search: they look at earlier rows only.
    """
    n, total = len(used), len(used) + len(new)
    own = buffer is not None and buffer.base is None and buffer.flags.writeable and len(buffer) > n
    if not own or buffer is None or len(buffer) < total:
        buffer = np.empty((total + int(SPARE * total), *used.shape[1:]), dtype=used.dtype)
        buffer[:n] = used
    buffer[n:total] = new
    return buffer
