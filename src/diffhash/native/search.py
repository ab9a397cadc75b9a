"""Exact search over packed codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..threads import thread_count
from ..types import CodeArray, RangeResult, SearchResult
from ..validation import check_count
from . import argument_checks, dispatch
from .keyword_only import keyword_only

__all__ = ["IndexedCodes", "top_k", "within"]


class IndexedCodes(NamedTuple):
    """Checked codes and their ids, as the kernels read them.

    ``ids`` is None if the ids are the row numbers. ``increasing``: every id is larger than the one
    before it.
    """

    codes: CodeArray
    n_bits: int
    ids: NDArray[np.int64] | None
    increasing: bool

    @property
    def ties(self) -> NDArray[np.int64] | None:
        """Ids by which equal distances are ordered; None if the order of the rows is the same.

        The kernels are faster without ids.
        """
        return None if self.increasing else self.ids


def increasing(ids: NDArray[np.int64]) -> bool:
    """Whether every id is larger than the one before it."""
    return bool(np.all(ids[1:] > ids[:-1]))


@keyword_only("top_k(queries=..., database=..., k=...)")
def top_k(
    *,
    queries: CodeArray,
    database: CodeArray,
    k: int,
    n_bits: int | None = None,
    ids: Any = None,
    allowed: Any = None,
    n_threads: int | None = None,
    kernel: str | None = None,
) -> SearchResult:
    """Find the k nearest codes of every query, exactly.

    All arguments are given by name.

    Parameters
    ----------
    queries : uint8 array of shape (q, bytes)
    database : uint8 array of shape (n, bytes)
        The codes to search, of 8 to 4,096 bits. A contiguous array or a memory map is not copied.
    k : int
        At least 1. If fewer than k codes (that are allowed) exist, all of them are returned.
    n_bits : int, optional
        Number of bits of a code, by default all bits of its bytes. The padding bits of queries
        are ignored; those of the database must be 0.
    ids : int array of shape (n,), optional
        Ids of the database codes, by default their row numbers. Equal distances are ordered by id.
    allowed : bool array of shape (n,), or its bits packed (little bit order), optional
        Rows of the database that may be found.
    n_threads : int, optional
        By default ``DIFFHASH_NUM_THREADS``, or the number of CPUs that this process may use.
    kernel : str, optional
        One of :func:`available_kernels`; by default the best, or ``DIFFHASH_KERNEL``.

    Returns
    -------
    SearchResult
        ``ids`` and ``distances``, both of shape (q, min(k, n)), in order of (distance, id). Every
        kernel and every number of threads gives the same result.

    Examples
    --------
    >>> codes = np.array([[0b0000], [0b0111], [0b0001]], dtype=np.uint8)
    >>> top_k(queries=np.array([[0b0011]], dtype=np.uint8), database=codes, k=2)
    SearchResult(ids=array([[1, 2]]), distances=array([[1, 1]], dtype=uint16))
    """
    caller = "top_k"
    stored = _indexed(database, n_bits, ids, caller)
    return run_top_k(
        stored,
        queries,
        k,
        bitmap=argument_checks.check_allowed(allowed, len(stored.codes), caller=caller),
        n_threads=n_threads,
        kernel=kernel,
        caller=caller,
    )


@keyword_only("within(queries=..., database=..., radius=...)")
def within(
    *,
    queries: CodeArray,
    database: CodeArray,
    radius: int,
    n_bits: int | None = None,
    ids: Any = None,
    allowed: Any = None,
    n_threads: int | None = None,
    kernel: str | None = None,
) -> RangeResult:
    """Find all codes at a distance of at most ``radius`` from every query.

    The parameters are those of :func:`top_k`, with a radius instead of k.

    Returns
    -------
    RangeResult
        ``offsets`` of shape (q + 1,), ``ids`` and ``distances``: query ``i`` found
        ``ids[offsets[i]:offsets[i + 1]]``, in order of (distance, id).

    Examples
    --------
    >>> codes = np.array([[0b0000], [0b0111], [0b0001]], dtype=np.uint8)
    >>> within(queries=np.array([[0b0011]], dtype=np.uint8), database=codes, radius=1).ids
    array([1, 2])
    """
    caller = "within"
    stored = _indexed(database, n_bits, ids, caller)
    return run_within(
        stored,
        queries,
        radius,
        bitmap=argument_checks.check_allowed(allowed, len(stored.codes), caller=caller),
        n_threads=n_threads,
        kernel=kernel,
        caller=caller,
    )


def _indexed(database: Any, n_bits: int | None, ids: Any, caller: str) -> IndexedCodes:
    codes = argument_checks.check_kernel_codes(database, caller=caller, name="database")
    n, width = codes.shape
    numbers = None if ids is None else argument_checks.check_ids(ids, n, caller=caller)
    n_bits = argument_checks.check_n_bits(n_bits, width, caller=caller)
    return IndexedCodes(codes, n_bits, numbers, numbers is None or increasing(numbers))


def run_top_k(
    stored: IndexedCodes,
    queries: Any,
    k: Any,
    *,
    bitmap: NDArray[np.uint8] | None,
    n_threads: int | None,
    kernel: str | None = None,
    caller: str,
) -> SearchResult:
    """:func:`top_k` on codes that are already checked."""
    n, width = stored.codes.shape
    queries = argument_checks.check_queries(queries, width, stored.n_bits, caller=caller)
    k = check_count(k, "k", caller=caller)
    threads = thread_count(n_threads, caller=caller)
    backend, level = dispatch.choose(kernel)

    reachable = n if bitmap is None else int(np.bitwise_count(bitmap).sum(dtype=np.int64))
    rows = np.empty((len(queries), min(k, reachable)), dtype=np.int64)
    distances = np.empty(rows.shape, dtype=np.uint16)
    if rows.size:
        backend.top_k(stored.codes, queries, stored.ties, bitmap, threads, level, rows, distances)
    return SearchResult(rows if stored.ids is None else stored.ids[rows], distances)


def run_within(
    stored: IndexedCodes,
    queries: Any,
    radius: Any,
    *,
    bitmap: NDArray[np.uint8] | None,
    n_threads: int | None,
    kernel: str | None = None,
    caller: str,
) -> RangeResult:
    """:func:`within` on codes that are already checked."""
    n, width = stored.codes.shape
    queries = argument_checks.check_queries(queries, width, stored.n_bits, caller=caller)
    radius = min(check_count(radius, "radius", caller=caller, minimum=0), 8 * width)
    threads = thread_count(n_threads, caller=caller)
    backend, level = dispatch.choose(kernel)

    if not len(queries) or not n:
        empty = np.empty(0, dtype=np.int64)
        return RangeResult(np.zeros(len(queries) + 1, dtype=np.int64), empty, empty.astype(np.uint16))
    offsets, rows, distances = backend.within(
        stored.codes, queries, radius, stored.ties, bitmap, threads, level
    )
    # The extension returns C's long long, which NumPy treats as a type other than int64.
    offsets, rows = offsets.view(np.int64), rows.view(np.int64)
    return RangeResult(offsets, rows if stored.ids is None else stored.ids[rows], distances)
