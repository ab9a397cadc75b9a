"""Counting distances, which is all that evaluation needs to know."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import CodeError, InputError
from ..types import CodeArray
from . import checks, dispatch

__all__ = ["distance_table"]


class _Runs(NamedTuple):
    """Rows grouped by their labels: ``order`` sorts them, run r is starts[r] to starts[r + 1]."""

    order: NDArray[np.int64] | None
    starts: NDArray[np.int64]
    labels: NDArray[np.uint64]


def _label_words(labels: Any, n: int, *, caller: str, name: str) -> tuple[NDArray[np.uint64], bool]:
    """Labels as uint64 words, and whether they are sets (relevant: one in common)."""
    array = np.asarray(labels)
    if len(array) != n if array.ndim else True:
        raise InputError(f"{caller}: {n} codes need {n} labels, {name} has shape {array.shape}.")
    if array.ndim == 1 and array.dtype.kind in "iub":
        return array.astype(np.int64).view(np.uint64)[:, None], False
    if array.ndim == 2 and array.dtype == np.bool_:
        packed = np.packbits(array, axis=1, bitorder="little")
        padded = np.zeros((n, -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
        padded[:, : packed.shape[1]] = packed
        return padded.view(np.uint64), True
    if array.ndim == 2 and array.dtype == np.uint64:
        return np.ascontiguousarray(array), True
    raise InputError(
        f"{caller}: {name} must be whole numbers of shape (n,), or sets of labels: bool of shape "
        f"(n, n_labels) or uint64 bit sets of shape (n, words); got {array.dtype} of shape {array.shape}."
    )


def _runs(words: NDArray[np.uint64]) -> _Runs:
    n = len(words)
    order = np.lexsort(words.T[::-1]) if words.shape[1] else np.arange(n)
    in_order = bool(np.all(order[1:] > order[:-1]))
    sorted_words = words if in_order else words[order]
    starts = np.flatnonzero(np.r_[True, (sorted_words[1:] != sorted_words[:-1]).any(axis=1)][:n])
    return _Runs(
        None if in_order else order,
        np.append(starts, n).astype(np.int64),
        np.ascontiguousarray(sorted_words[starts]),
    )


def distance_table(
    query_codes: CodeArray,
    database_codes: CodeArray,
    query_labels: Any,
    database_labels: Any,
    *,
    n_bits: int | None = None,
    n_threads: int | None = None,
    kernel: str | None = None,
) -> NDArray[np.int64]:
    """Count relevant and irrelevant codes at every distance from every query.

    Parameters
    ----------
    query_codes, database_codes : uint8 arrays of shape (q, bytes) and (n, bytes)
    query_labels, database_labels : arrays
        Whole numbers of shape (q,) and (n,): relevant is the same label. Or sets of labels,
        bool of shape (q, n_labels) and (n, n_labels), or uint64 bit sets of shape
        (q, words) and (n, words): relevant is a label in common.
    n_bits : int, optional
        Bits that count, by default all.
    n_threads, kernel : optional
        As in :func:`top_k`.

    Returns
    -------
    int64 array of shape (q, n_bits + 1, 2)
        ``[:, d, 1]`` counts relevant, ``[:, d, 0]`` irrelevant codes at distance d.

    Notes
    -----
    The database is sorted by label first (one copy of its codes), so that relevance is
    decided once per run of rows; no q × n matrix is ever made.

    Examples
    --------
    >>> codes = np.array([[0b00], [0b01], [0b11]], dtype=np.uint8)
    >>> distance_table(codes[:1], codes, [7], [7, 7, 8], n_bits=2)
    array([[[0, 1],
            [0, 1],
            [1, 0]]])
    """
    caller = "distance_table"
    database = checks.as_codes(database_codes, caller=caller, name="database_codes")
    n, width = database.shape
    bits = checks.as_n_bits(n_bits, width, caller=caller)
    queries = checks.as_queries(query_codes, width, bits, caller=caller, name="query_codes")
    query_words, query_sets = _label_words(query_labels, len(queries), caller=caller, name="query_labels")
    words, sets = _label_words(database_labels, n, caller=caller, name="database_labels")
    if sets != query_sets or words.shape[1] != query_words.shape[1]:
        raise InputError(
            f"{caller}: labels of queries and database must be of one kind, got arrays of shape "
            f"{np.shape(query_labels)} and {np.shape(database_labels)}."
        )
    threads = dispatch.thread_count(n_threads, caller=caller)
    backend, level = dispatch.choose(kernel)

    table = np.zeros((len(queries), 8 * width + 1, 2), dtype=np.int64)
    if n and len(queries):
        runs = _runs(words)
        rows = database if runs.order is None else database[runs.order]
        backend.distance_table(
            rows, queries, runs.starts, runs.labels, query_words, sets, threads, level, table
        )
    if bits % 8:
        if table[:, bits + 1 :].any() or (n and (database[:, -1] >> (bits % 8)).any()):
            raise CodeError(
                f"{caller}: database_codes of {bits} bits must have zeros in the padding bits "
                "of their last byte."
            )
        table = np.ascontiguousarray(table[:, : bits + 1])
    return table
