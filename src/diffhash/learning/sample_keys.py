"""Keys by which rows are sampled, and how many rows a sample has.

Every row has a *key*, a positive number that its row number determines. The rows with the smallest keys are the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..pairs.couples import ResolvedCouple
from ..types import FloatArray, IntArray

__all__ = [
    "key_bound",
    "name_keys",
    "partner_keys",
    "row_keys",
    "sample_limit",
    "smallest_keys",
    "stream_limit",
]

#: Largest number of rows of a modality in the sample of a stream.
MAX_STREAM_ROWS = 1 << 20
#: Largest number of rows of a modality in the sample, and of bytes that they may take; but at least 2,000 rows.
MAX_SAMPLE_ROWS, MAX_SAMPLE_BYTES, MIN_SAMPLE_ROWS = 20_000, 1 << 27, 2000


def sample_limit(n_features: Sequence[int], sparse: Sequence[bool], dtype_bytes: int = 4) -> int:
    """Number of rows that a sample may have: the same for all modalities, so that objects stay together.

    Examples
    --------
    >>> sample_limit([128, 64], [False, False]), sample_limit([4096], [False]), sample_limit([10**6], [True])
    (20000, 8192, 20000)
    """
    widest = max((d for d, is_sparse in zip(n_features, sparse, strict=True) if not is_sparse), default=1)
    fitting = MAX_SAMPLE_BYTES // (widest * dtype_bytes)
    return min(MAX_SAMPLE_ROWS, max(MIN_SAMPLE_ROWS, fitting))


def stream_limit(n_features: Sequence[int], sparse: Sequence[bool], dtype_bytes: int = 4) -> int:
    """The same for data that pass only once: thresholds are chosen on the sample, so it is larger."""
    smaller = sample_limit(n_features, sparse, dtype_bytes)
    widest = max((d for d, is_sparse in zip(n_features, sparse, strict=True) if not is_sparse), default=1)
    return max(smaller, min(MAX_STREAM_ROWS, MAX_SAMPLE_BYTES // (widest * dtype_bytes)))


def row_keys(numbers: IntArray) -> FloatArray:
    """Exponential random numbers that depend only on the row numbers.

    Examples
    --------
    >>> row_keys(np.array([0, 1, 0])).round(3)
    array([0.124, 0.84 , 0.124])
    """
    # SplitMix64: nearby numbers become independent.
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.asarray(-np.log(((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53))


def name_keys(names: NDArray[Any]) -> FloatArray:
    """Exponential random numbers that depend only on the names of groups of rows, which are numbers or strings.

    Examples
    --------
    >>> bool(np.all(name_keys(np.array(["a", "b"]))[1:] == name_keys(np.array(["b", "long"]))[:1]))
    True
    """
    if names.dtype.kind in "iub":
        return row_keys(names.astype(np.int64))
    if names.dtype.kind == "f":
        # Zero has two forms.
        return row_keys((names.astype(np.float64) + 0.0).view(np.int64))
    digests = (
        blake2b(each if isinstance(each, bytes) else str(each).encode(errors="surrogatepass"), digest_size=8)
        for each in names.tolist()
    )
    return row_keys(
        np.array([int.from_bytes(each.digest(), "little") >> 1 for each in digests], dtype=np.int64)
    )


def partner_keys(keys: Sequence[FloatArray], couples: Sequence[ResolvedCouple]) -> list[FloatArray]:
    """The keys of rows of which some are partners in listed pairs: the smallest key of their partners.

    Parameters
    ----------
    keys : list of arrays of shape (n,)
        Keys of the rows of each modality. Rows of earlier modalities keep theirs.
    couples : list of ResolvedCouple

    Examples
    --------
    >>> import diffhash as dh
    >>> pairs = dh.Pairs(([0, 0], [1, 2])).resolve(2, 3)
    >>> partner_keys([np.array([0.1, 0.2]), np.array([0.5, 0.6, 0.7])], [ResolvedCouple(0, 1, 1.0, pairs)])[1]
    array([0.5, 0.1, 0.1])
    """
    found = list(keys)
    taken: list[FloatArray | None] = [None] * len(keys)
    # A modality takes keys from earlier ones, which have taken theirs already.
    for couple in sorted(couples, key=lambda each: (max(each.sides), min(each.sides))):
        pairs = couple.pairs
        if couple.within or pairs.positive is None or pairs.aligned or pairs.groups is not None:
            continue
        i, j = pairs.positive if couple.first < couple.second else pairs.positive[::-1]
        low, high = min(couple.sides), max(couple.sides)
        best = taken[high]
        if best is None:
            best = np.full(len(keys[high]), np.inf)
        np.minimum.at(best, j, found[low][i])
        taken[high] = best
        found[high] = np.where(np.isfinite(best), best, keys[high])
    return found


def key_bound(n_rows: int, limit: int) -> float:
    """A key that all of the ``limit`` smallest keys of so many rows are below.

    Keys are exponential random numbers. The expected number of keys below the bound is ten standard deviations more
    than needed, so there are practically always enough of them.

    Examples
    --------
    >>> key_bound(10_000, 20_000), bool(np.sum(row_keys(np.arange(100_000)) < key_bound(100_000, 1000)) > 1000)
    (inf, True)
    """
    wanted = limit + 10 * limit**0.5 + 100
    return float("inf") if wanted >= n_rows else float(-np.log1p(-wanted / n_rows))


def smallest_keys(keys: FloatArray, numbers: IntArray, limit: int, bound: float = np.inf) -> IntArray | slice:
    """Positions of the smallest keys, increasing; equal keys are taken in the order of their row numbers.

    Keys above the bound are left out.
    """
    if bound < np.inf:
        inside = np.flatnonzero(keys <= bound)
        return np.asarray(inside[smallest_keys(keys[inside], numbers[inside], limit)])
    if len(keys) <= limit:
        return slice(None)
    bound = np.partition(keys, limit - 1)[limit - 1]
    below, ties = np.flatnonzero(keys < bound), np.flatnonzero(keys == bound)
    ties = ties[np.argsort(numbers[ties], kind="stable")][: limit - len(below)]
    return np.sort(np.concatenate([below, ties]))
