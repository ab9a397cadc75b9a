"""Count codes by their distance from each query; evaluation computes its metrics from these counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..codes import check_padding
from ..errors import InputError
from ..threads import thread_count
from ..types import CodeArray
from ..validation import as_array, check_count
from . import argument_checks, dispatch
from .keyword_only import keyword_only

__all__ = ["distance_table"]


class _Runs(NamedTuple):
    """Rows grouped by label: ``order`` sorts the rows, group r has the rows starts[r] to starts[r + 1]."""

    order: NDArray[np.int64] | None
    starts: NDArray[np.int64]
    labels: NDArray[np.uint64]


def _label_words(labels: Any, n: int, *, caller: str, name: str) -> tuple[NDArray[np.uint64], bool]:
    """Convert labels to uint64 words; the flag tells whether they are sets of labels."""
    array = as_array(labels, f"{caller}: {name}")
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


@keyword_only("distance_table(queries=..., database=..., query_labels=..., database_labels=...)")
def distance_table(
    *,
    queries: CodeArray,
    database: CodeArray,
    query_labels: Any,
    database_labels: Any,
    n_bits: int | None = None,
    max_shared: int = 1,
    n_threads: int | None = None,
    kernel: str | None = None,
) -> NDArray[np.int64]:
    """Count relevant and irrelevant codes at every distance from every query.

    All arguments are given by name.

    Parameters
    ----------
    queries, database : uint8 arrays of shape (q, bytes) and (n, bytes)
    query_labels, database_labels : arrays
        Whole numbers of shape (q,) and (n,): a code is relevant if it has the query's label. Or
        sets of labels, bool of shape (q, n_labels) and (n, n_labels), or uint64 bit sets of shape
        (q, words) and (n, words): a code is relevant if it shares a label with the query.
    n_bits : int, optional
        Number of bits of a code, by default all bits of its bytes.
    max_shared : int
        If it is more than 1, relevance is graded: codes are counted by the number of labels that they share
        with the query. Codes that share more than ``max_shared`` count as if they shared ``max_shared``. It must
        not be more than the number of labels, rounded up to a multiple of 64.
    n_threads, kernel : optional
        As in :func:`top_k`.

    Returns
    -------
    int64 array of shape (q, n_bits + 1, max_shared + 1)
        ``[:, d, g]`` counts the codes at distance d that share g labels with the query. By default
        ``[:, d, 1]`` counts the relevant codes at distance d, ``[:, d, 0]`` the irrelevant ones.

    Notes
    -----
    The codes of the database are copied and sorted by label, so relevance is decided once for all
    rows with the same label. No matrix of shape (q, n) is made.

    Examples
    --------
    >>> codes = np.array([[0b00], [0b01], [0b11]], dtype=np.uint8)
    >>> distance_table(
    ...     queries=codes[:1], database=codes, query_labels=[7], database_labels=[7, 7, 8], n_bits=2
    ... )
    array([[[0, 1],
            [0, 1],
            [1, 0]]])
    """
    caller = "distance_table"
    database = argument_checks.check_kernel_codes(database, caller=caller, name="database")
    n, width = database.shape
    bits = argument_checks.check_n_bits(n_bits, width, caller=caller)
    check_padding(database, bits, caller=caller)
    queries = argument_checks.check_queries(queries, width, bits, caller=caller)
    query_words, query_sets = _label_words(query_labels, len(queries), caller=caller, name="query_labels")
    words, sets = _label_words(database_labels, n, caller=caller, name="database_labels")
    if sets != query_sets or words.shape[1] != query_words.shape[1]:
        raise InputError(
            f"{caller}: query_labels and database_labels must have the same form, got arrays of shape "
            f"{np.shape(query_labels)} and {np.shape(database_labels)}."
        )
    most = 64 * words.shape[1] if sets else 1
    max_shared = check_count(max_shared, "max_shared", caller=caller, maximum=max(most, 1))
    threads = thread_count(n_threads, caller=caller)
    backend, level = dispatch.choose(kernel)

    table = np.zeros((len(queries), 8 * width + 1, max_shared + 1), dtype=np.int64)
    if n and len(queries):
        runs = _runs(words)
        rows = database if runs.order is None else database[runs.order]
        backend.distance_table(
            rows, queries, runs.starts, runs.labels, query_words, sets, threads, level, table
        )
    return np.ascontiguousarray(table[:, : bits + 1])
