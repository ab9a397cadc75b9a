"""Exact search over packed codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..types import CodeArray
from . import checks, dispatch

__all__ = ["IndexedCodes", "Neighbours", "Ranges", "top_k", "within"]


class Neighbours(NamedTuple):
    """Rows (or ids) and distances, both of shape (q, k), by (distance, id)."""

    ids: NDArray[np.int64]
    distances: NDArray[np.uint16]


class Ranges(NamedTuple):
    """Query ``q`` found ``ids[offsets[q]:offsets[q + 1]]``, by (distance, id)."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    distances: NDArray[np.uint16]


class IndexedCodes(NamedTuple):
    """Codes that were checked, and what is known of their ids (None: the row numbers)."""

    codes: CodeArray
    n_bits: int
    ids: NDArray[np.int64] | None
    increasing: bool

    @property
    def ties(self) -> NDArray[np.int64] | None:
        """Ids that decide between equal distances, or None where the row numbers do.

        Increasing ids order ties as the rows do, and the kernels are faster when they know it.
        """
        return None if self.increasing else self.ids


def increasing(ids: NDArray[np.int64]) -> bool:
    """Tell whether every id is larger than the one before."""
    return bool(np.all(ids[1:] > ids[:-1]))


def top_k(
    codes: CodeArray,
    queries: CodeArray,
    k: int,
    *,
    n_bits: int | None = None,
    ids: Any = None,
    allowed: Any = None,
    n_threads: int | None = None,
    kernel: str | None = None,
) -> Neighbours:
    """Find the k nearest codes of every query, exactly.

    Parameters
    ----------
    codes : uint8 array of shape (n, bytes)
        8 to 4,096 bits a code. Not copied if contiguous; a memory map is read in place.
    queries : uint8 array of shape (q, bytes)
    k : int
        At least 1. With fewer than k (allowed) codes, all of them are returned.
    n_bits : int, optional
        Bits that count, by default all. The padding bits of queries are ignored, those of
        codes must be 0.
    ids : int array of shape (n,), optional
        Returned in place of row numbers, and decides between equal distances.
    allowed : bool array of shape (n,), or its bits packed (little bit order), optional
        Rows that may be found.
    n_threads : int, optional
        By default ``DIFFHASH_NUM_THREADS``, or the CPUs at hand.
    kernel : str, optional
        One of :func:`available_kernels`; by default the best, or ``DIFFHASH_KERNEL``.

    Returns
    -------
    Neighbours
        ``ids`` int64 and ``distances`` uint16, both of shape (q, min(k, n)), by
        (distance, id): the same whatever the kernel and the number of threads.

    Examples
    --------
    >>> codes = np.array([[0b0000], [0b0111], [0b0001]], dtype=np.uint8)
    >>> top_k(codes, np.array([[0b0011]], dtype=np.uint8), k=2)
    Neighbours(ids=array([[1, 2]]), distances=array([[1, 1]], dtype=uint16))
    """
    caller = "top_k"
    stored = _stored(codes, n_bits, ids, caller)
    return run_top_k(
        stored,
        queries,
        k,
        bitmap=checks.as_allowed(allowed, len(stored.codes), caller=caller),
        n_threads=n_threads,
        kernel=kernel,
        caller=caller,
    )


def within(
    codes: CodeArray,
    queries: CodeArray,
    radius: int,
    *,
    n_bits: int | None = None,
    ids: Any = None,
    allowed: Any = None,
    n_threads: int | None = None,
    kernel: str | None = None,
) -> Ranges:
    """Find all codes at a distance of at most ``radius`` from every query.

    Parameters are those of :func:`top_k`, with a radius in place of k.

    Returns
    -------
    Ranges
        ``offsets`` of shape (q + 1,), ``ids`` and ``distances``: query ``q`` found
        ``ids[offsets[q]:offsets[q + 1]]``, by (distance, id).

    Examples
    --------
    >>> codes = np.array([[0b0000], [0b0111], [0b0001]], dtype=np.uint8)
    >>> within(codes, np.array([[0b0011]], dtype=np.uint8), radius=1).ids
    array([1, 2])
    """
    caller = "within"
    stored = _stored(codes, n_bits, ids, caller)
    return run_within(
        stored,
        queries,
        radius,
        bitmap=checks.as_allowed(allowed, len(stored.codes), caller=caller),
        n_threads=n_threads,
        kernel=kernel,
        caller=caller,
    )


def _stored(codes: Any, n_bits: int | None, ids: Any, caller: str) -> IndexedCodes:
    codes = checks.as_codes(codes, caller=caller, name="codes")
    n, width = codes.shape
    numbers = None if ids is None else checks.as_ids(ids, n, caller=caller)
    n_bits = checks.as_n_bits(n_bits, width, caller=caller)
    return IndexedCodes(codes, n_bits, numbers, numbers is None or increasing(numbers))


def run_top_k(
    stored: IndexedCodes,
    queries: Any,
    k: Any,
    *,
    bitmap: NDArray[np.uint8] | None,
    n_threads: int | None,
    kernel: str | None,
    caller: str,
) -> Neighbours:
    """:func:`top_k` over codes that were checked before."""
    n, width = stored.codes.shape
    queries = checks.as_queries(queries, width, stored.n_bits, caller=caller)
    k = checks.as_count(k, "k", 1, caller=caller)
    threads = dispatch.thread_count(n_threads, caller=caller)
    backend, level = dispatch.choose(kernel)

    reachable = n if bitmap is None else int(np.bitwise_count(bitmap).sum(dtype=np.int64))
    rows = np.empty((len(queries), min(k, reachable)), dtype=np.int64)
    distances = np.empty(rows.shape, dtype=np.uint16)
    if rows.size:
        backend.top_k(stored.codes, queries, stored.ties, bitmap, threads, level, rows, distances)
    return Neighbours(rows if stored.ids is None else stored.ids[rows], distances)


def run_within(
    stored: IndexedCodes,
    queries: Any,
    radius: Any,
    *,
    bitmap: NDArray[np.uint8] | None,
    n_threads: int | None,
    kernel: str | None,
    caller: str,
) -> Ranges:
    """:func:`within` over codes that were checked before."""
    n, width = stored.codes.shape
    queries = checks.as_queries(queries, width, stored.n_bits, caller=caller)
    radius = min(checks.as_count(radius, "radius", 0, caller=caller), 8 * width)
    threads = dispatch.thread_count(n_threads, caller=caller)
    backend, level = dispatch.choose(kernel)

    if not len(queries) or not n:
        empty = np.empty(0, dtype=np.int64)
        return Ranges(np.zeros(len(queries) + 1, dtype=np.int64), empty, empty.astype(np.uint16))
    offsets, rows, distances = backend.within(
        stored.codes, queries, radius, stored.ties, bitmap, threads, level
    )
    # The extension's int64 is C's long long, which NumPy shows as another type of the same name.
    offsets, rows = offsets.view(np.int64), rows.view(np.int64)
    return Ranges(offsets, rows if stored.ids is None else stored.ids[rows], distances)
