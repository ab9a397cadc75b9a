"""Ids of an index: check them, and find their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..native.argument_checks import check_ids
from ..native.search import IndexedCodes
from ..validation import as_array


def given_ids(ids: Any, *, caller: str) -> NDArray[np.int64]:
    """Check ids that a caller gave: an array or one id."""
    array = np.atleast_1d(as_array(ids, f"{caller}: ids"))
    return check_ids(array, array.size, caller=caller)


def largest_id(stored: IndexedCodes) -> int:
    """The largest id. There must be at least one code."""
    if stored.ids is None:
        return len(stored.codes) - 1
    return int(stored.ids[-1] if stored.increasing else stored.ids.max())


def check_unique(ordered: NDArray[np.int64], *, caller: str) -> None:
    """Raise InputError if an id occurs twice; the ids are sorted."""
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        raise InputError(f"{caller}: ids must be unique, but {twice[0]} occurs more than once.")


def rows_of(stored: IndexedCodes, wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Boolean mask of the rows whose id is in ``wanted``, which is sorted."""
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


def find_rows(stored: IndexedCodes, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row of each id in ``wanted``, which may be in any order; -1 for an unknown id."""
    n = len(stored.codes)
    if not n:
        return np.full(len(wanted), -1)
    if stored.ids is None:
        return np.where((wanted >= 0) & (wanted < n), wanted, -1)
    order = None if stored.increasing else np.argsort(stored.ids)
    places = np.minimum(np.searchsorted(stored.ids, wanted, sorter=order), n - 1)
    rows = places if order is None else order[places]
    return np.where(stored.ids[rows] == wanted, rows, -1)


def bitmap_of(stored: IndexedCodes, ids: Any, *, caller: str) -> NDArray[np.uint8] | None:
    """Bitmap of the rows that have one of the ids, for the kernels; None for all rows."""
    if ids is None:
        return None
    array = as_array(ids, f"{caller}: ids")
    wanted = np.unique(check_ids(array, array.size, caller=caller))
    return np.packbits(rows_of(stored, wanted), bitorder="little")


def new_ids(stored: IndexedCodes, ids: Any, count: int, *, caller: str) -> NDArray[np.int64]:
    """Check the ids of new codes; without ids, count on from the largest id."""
    n = len(stored.codes)
    if ids is None:
        first = largest_id(stored) + 1 if n else 0
        if first + count > np.iinfo(np.int64).max:
            raise InputError(f"{caller}: there are no ids above {first - 1}. Pass ids.")
        return np.arange(first, first + count)
    numbers = check_ids(ids, count, caller=caller)
    ordered = np.sort(numbers)
    check_unique(ordered, caller=caller)
    if n and count and not (stored.increasing and ordered[0] > largest_id(stored)):
        known = rows_of(stored, ordered)
        if known.any():
            old = np.flatnonzero(known)[0]
            known_id = old if stored.ids is None else stored.ids[old]
            raise InputError(f"{caller}: the index already has id {known_id}. Remove it first.")
    return numbers
