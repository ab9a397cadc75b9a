"""Counts of relevant and irrelevant items at every Hamming distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CodeError, InputError
from ..labels import group_labels
from ..types import CodeArray

__all__ = ["distance_table"]

_BLOCK_CELLS = 1 << 20


def distance_table(
    query_codes: CodeArray, database_codes: CodeArray, query_labels: Any, database_labels: Any
) -> NDArray[np.int64]:
    """For each query, how many items of the database lie at each distance.

    Parameters
    ----------
    query_codes, database_codes : uint8 arrays of shape (q, n_bytes), (n, n_bytes)
        Packed codes of one width.
    query_labels, database_labels : arrays of shape (q,), (n,), or bool (q, n_labels), (n, n_labels)
        An item is relevant if it has the query's label, or one in common with it.

    Returns
    -------
    int64 array of shape (q, 8 * n_bytes + 1, 2)
        Irrelevant items in ``[:, :, 0]`` and relevant ones in ``[:, :, 1]``.

    Examples
    --------
    >>> codes = np.array([[0b00], [0b01], [0b11]], dtype=np.uint8)
    >>> distance_table(codes[:1], codes, [7], [7, 7, 8])[0, :3]
    array([[0, 1],
           [0, 1],
           [1, 0]])
    """
    caller = "evaluate"
    for name, codes in (("query_codes", query_codes), ("database_codes", database_codes)):
        if (
            not isinstance(codes, np.ndarray)
            or codes.dtype != np.uint8
            or codes.ndim != 2
            or 0 in codes.shape
        ):
            got = (
                f"{codes.dtype} of shape {codes.shape}"
                if isinstance(codes, np.ndarray)
                else type(codes).__name__
            )
            raise CodeError(
                f"{caller}: {name} must be packed codes, uint8 of shape (n, n_bytes), not empty; got {got}."
            )
    if query_codes.shape[1] != database_codes.shape[1]:
        raise CodeError(
            f"{caller}: query codes have {query_codes.shape[1]} bytes, database codes {database_codes.shape[1]}. "
            "Encode both with one model."
        )
    groups = group_labels(query_labels, database_labels, caller=caller)
    for name, labels, codes in (
        ("query_labels", groups.x, query_codes),
        ("database_labels", groups.y, database_codes),
    ):
        if len(labels) != len(codes):
            raise InputError(f"{caller}: {name} has {len(labels)} rows for {len(codes)} codes.")
    queries, items = _words(query_codes), _words(database_codes)
    n_cells = 2 * (8 * query_codes.shape[1] + 1)
    table = np.empty((len(queries), n_cells), dtype=np.int64)
    step = max(1, _BLOCK_CELLS // len(items))
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        cells = np.zeros((len(queries[block]), len(items)), dtype=np.int64)
        for word in range(items.shape[1]):
            cells += np.bitwise_count(queries[block, word, None] ^ items[:, word])
        cells *= 2
        if groups.sets is None:
            cells += groups.x[block, None] == groups.y
        else:
            cells += (groups.sets[groups.x[block]].astype(np.float32) @ groups.sets[groups.y].T) > 0
        cells += np.arange(len(cells))[:, None] * n_cells
        table[block] = np.bincount(cells.ravel(), minlength=len(cells) * n_cells).reshape(-1, n_cells)
    return table.reshape(len(queries), -1, 2)


def _words(codes: CodeArray) -> NDArray[np.uint64]:
    """Codes as whole 64-bit words, padded with zeros."""
    padded = np.zeros((len(codes), -(-codes.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : codes.shape[1]] = codes
    return padded.view(np.uint64)
