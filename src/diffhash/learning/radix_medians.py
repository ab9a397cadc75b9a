"""Exact medians of projections in passes over a source, by radix selection.

A floating point number has an integer *key* of the same order: its bits, of which negative numbers have all and
positive numbers the first inverted. A pass counts the 65,536 values that the next 16 bits of the keys have, among the
keys that begin like the median. float32 takes two passes, float64 four. The median of an even number of values is the
mean of the middle two, so two ranks are selected together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..maps import FeatureMap
from ..types import FloatArray, IntArray
from .batches import Batch, Source

__all__ = ["DigitCounts", "DigitPass", "ordered_keys", "radix_medians", "select_medians"]

_DIGIT = 16
Keys = NDArray[Any]


@dataclass
class DigitCounts:
    """Number of keys with each next digit, of shape (n_bits, 2, 65536); parts can be merged."""

    counts: IntArray

    def merge(self, other: DigitCounts) -> DigitCounts:
        """Add another part."""
        self.counts = self.counts + other.counts
        return self


@dataclass(frozen=True)
class DigitPass:
    """Job: count the next digits of the keys of the projections of one modality.

    Attributes
    ----------
    modality : int
    feature_map : FeatureMap
    projection : array of shape (n_bits, n_features)
    dtype : dtype of the values, the widest of all batches
    known : int
        Number of digits that are known.
    prefix : unsigned array of shape (n_bits, 2)
        The known digits of both ranks.
    """

    modality: int
    feature_map: FeatureMap
    projection: FloatArray
    dtype: np.dtype[Any]
    known: int
    prefix: Keys

    def __call__(self, batch: Batch) -> DigitCounts:
        """Counts of one batch."""
        values = batch.projected(self.modality, self.feature_map, self.projection)
        values = values[: batch.n_own(self.modality)].astype(self.dtype, copy=False)
        return DigitCounts(count_digits(ordered_keys(values), self.known, self.prefix))


def ordered_keys(values: FloatArray) -> Keys:
    """Unsigned integers in the order of the values; 0.0 and -0.0 have the same.

    Examples
    --------
    >>> keys = ordered_keys(np.array([-np.inf, -1.0, -0.0, 0.0, 1e-300, 2.0]))
    >>> bool(np.all(keys[:-1] <= keys[1:])), bool(keys[2] == keys[3])
    (True, True)
    """
    width = values.dtype.itemsize * 8
    kind = np.dtype(f"u{width // 8}")
    keys = np.ascontiguousarray(values + values.dtype.type(0.0)).view(kind)
    first = kind.type(1 << (width - 1))
    return np.where(keys & first, ~keys, keys | first)


def values_of_keys(keys: Keys) -> FloatArray:
    """Inverse of :func:`ordered_keys`."""
    width = keys.dtype.itemsize * 8
    first = keys.dtype.type(1 << (width - 1))
    bits = np.where(keys & first, keys ^ first, ~keys)
    return np.ascontiguousarray(bits).view(f"f{width // 8}")


def count_digits(keys: Keys, known: int, prefix: Keys) -> IntArray:
    """How often each next digit occurs among the keys that begin with the prefix, (n_bits, 2, 65536)."""
    width = keys.dtype.itemsize * 8
    shift = width - _DIGIT * (known + 1)
    counts = np.zeros((keys.shape[1], 2, 1 << _DIGIT), dtype=np.int64)
    for bit in range(keys.shape[1]):
        column = keys[:, bit] >> keys.dtype.type(shift)
        for slot in (0, 1):
            if slot and prefix[bit, 1] == prefix[bit, 0]:
                counts[bit, 1] = counts[bit, 0]
                continue
            chosen = column[column >> keys.dtype.type(_DIGIT) == prefix[bit, slot]] if known else column
            digits = (chosen & keys.dtype.type((1 << _DIGIT) - 1)).astype(np.intp)
            counts[bit, slot] = np.bincount(digits, minlength=1 << _DIGIT)
    return counts


def select_medians(
    count: Callable[[int, Keys], IntArray], n_rows: int, n_bits: int, dtype: np.dtype[Any]
) -> tuple[FloatArray, FloatArray]:
    """Medians from counts of digits.

    Parameters
    ----------
    count : function
        ``count(known, prefix)`` gives the counts of the next digits, see :func:`count_digits`.
    n_rows, n_bits : int
    dtype : dtype of the values

    Returns
    -------
    medians : array of shape (n_bits,)
        Exactly those of :func:`numpy.median`.
    shares : array of shape (n_bits,)
        Share of the rows on the smaller side: below the median, or at or above it.

    Examples
    --------
    >>> values = np.array([[3.0], [1.0], [2.0], [10.0]])
    >>> keys = ordered_keys(values)
    >>> select_medians(lambda known, prefix: count_digits(keys, known, prefix), 4, 1, values.dtype)
    (array([2.5]), array([0.5]))
    """
    kind = np.dtype(f"u{dtype.itemsize}")
    prefix = np.zeros((n_bits, 2), dtype=kind)
    # The ranks that are left to find, among the keys with the prefix; and the number of keys below the prefix.
    ranks = np.tile(np.array([(n_rows - 1) // 2, n_rows // 2]), (n_bits, 1))
    below = np.zeros((n_bits, 2), dtype=np.int64)
    for known in range(dtype.itemsize * 8 // _DIGIT):
        cumulative = count(known, prefix).cumsum(axis=2)
        digit = (cumulative <= ranks[:, :, None]).sum(axis=2)
        before = np.where(
            digit > 0,
            np.take_along_axis(cumulative, np.maximum(digit - 1, 0)[:, :, None], axis=2)[:, :, 0],
            0,
        )
        ranks, below = ranks - before, below + before
        prefix = (prefix << kind.type(_DIGIT) if known else prefix) | digit.astype(kind)
    middle = values_of_keys(prefix)
    # With an odd number of rows both are the same row. As in NumPy, the mean of two very large values is infinite.
    with np.errstate(over="ignore"):
        medians = middle[:, 0] if n_rows % 2 else np.mean(middle, axis=1)
    # If the median is above the lower of the two, the rows below it are the lower half.
    n_below = np.where(medians > middle[:, 0], (n_rows - 1) // 2 + 1, below[:, 0])
    n_below[medians > middle[:, 1]] = n_rows  # infinite, see above
    n_below[medians < middle[:, 0]] = 0
    return medians.astype(np.float64), np.minimum(n_below, n_rows - n_below) / n_rows


def radix_medians(
    source: Source,
    modality: int,
    feature_map: FeatureMap,
    projection: FloatArray,
    n_rows: int,
    dtype: np.dtype[Any],
) -> tuple[FloatArray, FloatArray]:
    """Medians of the projections of one modality, see :func:`select_medians`."""

    def count(known: int, prefix: Keys) -> IntArray:
        return source.reduce(DigitPass(modality, feature_map, projection, dtype, known, prefix)).counts

    return select_medians(count, n_rows, len(projection), dtype)
