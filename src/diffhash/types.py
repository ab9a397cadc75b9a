"""Type aliases for arrays, and the results of searches by distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Real-valued array, float32 or float64.
FloatArray: TypeAlias = NDArray[np.floating[Any]]
#: Array of whole numbers: row numbers, labels, counts.
IntArray: TypeAlias = NDArray[np.integer[Any]]
#: Packed codes, ``uint8`` of shape ``(n, ceil(n_bits / 8))``, little bit order.
CodeArray: TypeAlias = NDArray[np.uint8]
#: Boolean array.
BoolArray: TypeAlias = NDArray[np.bool_]
#: Row numbers of pairs: ``(i, j)``, two integer arrays of equal length.
PairIndex: TypeAlias = tuple[IntArray, IntArray]
#: Feature arrays by modality, as a user passes them (dense, or scipy sparse).
Views: TypeAlias = Mapping[str, Any]


class SearchResult(NamedTuple):
    """The nearest codes of every query, in order of (distance, id).

    Attributes
    ----------
    ids : int64 array of shape (q, min(k, n))
        Ids of the codes, or their row numbers if there are no ids.
    distances : uint16 array of shape (q, min(k, n))
    """

    ids: NDArray[np.int64]
    distances: NDArray[np.uint16]


class RangeResult(NamedTuple):
    """All codes within a radius of every query, in order of (distance, id).

    Attributes
    ----------
    offsets : int64 array of shape (q + 1,)
        Query ``i`` found ``ids[offsets[i]:offsets[i + 1]]``.
    ids : int64 array
        Ids of the codes, or their row numbers if there are no ids.
    distances : uint16 array of the same length
    """

    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    distances: NDArray[np.uint16]
