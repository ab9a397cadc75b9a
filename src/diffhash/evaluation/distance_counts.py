"""Counts of relevant and irrelevant items at every Hamming distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..codes import check_codes
from ..errors import CodeError, InputError, PairsError
from ..pairs.labels import LabelGroups, group_labels
from ..types import CodeArray, IntArray, PairIndex
from ..validation import as_array

__all__ = ["distance_table", "pair_distance_table"]

Table = NDArray[np.int64]


def distance_table(
    query_codes: CodeArray,
    database_codes: CodeArray,
    query_labels: Any,
    database_labels: Any,
    *,
    own: Any = None,
) -> Table:
    """Count, for each query, the items of the database at each distance.

    Parameters
    ----------
    query_codes, database_codes : uint8 arrays of shape (q, n_bytes), (n, n_bytes)
        Packed codes of the same width.
    query_labels, database_labels : arrays of shape (q,), (n,), or bool (q, n_labels), (n, n_labels)
        An item is relevant if it has the same label as the query, or at least one label in common with it.
    own : int array of shape (q,), optional
        Database row that is the query itself; it is not counted. -1 for a query that is not in the database.

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
    query_codes, database_codes = checked_codes(query_codes, database_codes)
    groups = checked_groups(query_labels, database_labels, len(query_codes), len(database_codes))
    x, y = (side if groups.sets is None else groups.sets[side] for side in (groups.x, groups.y))
    table = native.distance_table(
        queries=query_codes, database=database_codes, query_labels=x, database_labels=y
    )
    if own is not None:
        rows, items = checked_own(own, len(query_codes), len(database_codes))
        relevant = are_relevant(groups, rows, items)
        # Each query has at most one own item, so no index occurs twice.
        table[rows, code_distances(query_codes, database_codes, rows, items), relevant] -= 1
    return table


def pair_distance_table(query_codes: CodeArray, database_codes: CodeArray, relevant: PairIndex) -> Table:
    """Count items at each distance if the relevant pairs are listed and no other item is relevant.

    Parameters
    ----------
    query_codes, database_codes : uint8 arrays of shape (q, n_bytes), (n, n_bytes)
    relevant : (i, j)
        Item ``j[p]`` is relevant to query ``i[p]``. Repeated pairs count once.

    Examples
    --------
    >>> codes = np.array([[0b00], [0b01]], dtype=np.uint8)
    >>> pair_distance_table(codes, codes, ([0, 1], [1, 1]))[:, :2].tolist()
    [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    """
    query_codes, database_codes = checked_codes(query_codes, database_codes)
    i, j, _ = checked_relevant(relevant, len(query_codes), len(database_codes))
    return listed_table(query_codes, database_codes, i, j)


def listed_table(query_codes: CodeArray, database_codes: CodeArray, i: IntArray, j: IntArray) -> Table:
    """See :func:`pair_distance_table`; the arguments were checked, and no pair is repeated."""
    table = native.distance_table(
        queries=query_codes,
        database=database_codes,
        query_labels=np.zeros(len(query_codes), int),
        database_labels=np.ones(len(database_codes), int),
    )
    cells = i * table.shape[1] + code_distances(query_codes, database_codes, i, j)
    found = np.bincount(cells, minlength=table.shape[0] * table.shape[1]).reshape(table.shape[:2])
    table[:, :, 0] -= found
    table[:, :, 1] = found
    return table


def checked_relevant(
    relevant: PairIndex, n_queries: int, n_items: int
) -> tuple[IntArray, IntArray, IntArray]:
    """The different relevant pairs, sorted, and the place of each given pair among them."""
    i, j = (as_array(side, "evaluate: relevant").astype(np.int64) for side in relevant)
    if i.shape != j.shape or i.ndim != 1:
        raise PairsError(
            f"evaluate: relevant needs two 1-d arrays of the same length, got shapes {i.shape} and {j.shape}."
        )
    for rows, n, what in ((i, n_queries, "query"), (j, n_items, "item")):
        if rows.size and (rows.min() < 0 or rows.max() >= n):
            raise PairsError(f"evaluate: relevant names a {what} outside 0 to {n - 1}.")
    keys, places = np.unique(i * n_items + j, return_inverse=True)
    return keys // n_items, keys % n_items, places


def checked_groups(query_labels: Any, database_labels: Any, n_queries: int, n_items: int) -> LabelGroups:
    """Group the labels of both sides, after checking their lengths."""
    groups = group_labels(query_labels, database_labels, caller="evaluate")
    for name, labels, n in (("query_labels", groups.x, n_queries), ("database_labels", groups.y, n_items)):
        if len(labels) != n:
            raise InputError(f"evaluate: {name} has {len(labels)} rows for {n} objects.")
    return groups


def checked_own(own: Any, n_queries: int, n_items: int) -> tuple[IntArray, IntArray]:
    """Return the queries that are in the database, and their rows in it."""
    rows = as_array(own, "evaluate: own")
    if rows.shape != (n_queries,) or rows.dtype.kind not in "iu":
        raise InputError(
            f"evaluate: own must have one row number for each of {n_queries} queries, "
            f"got {rows.dtype} of shape {rows.shape}."
        )
    if rows.min() < -1 or rows.max() >= n_items:
        raise InputError(f"evaluate: own must be between -1 (not in the database) and {n_items - 1}.")
    queries = np.flatnonzero(rows >= 0)
    return queries, rows[queries]


def are_relevant(groups: LabelGroups, rows: IntArray, items: IntArray) -> IntArray:
    """For each pair of a query and an item: 1 if the item is relevant, 0 otherwise."""
    x, y = groups.x[rows], groups.y[items]
    if groups.sets is None:
        return np.asarray(x == y, dtype=np.intp)
    return np.asarray((groups.sets[x] & groups.sets[y]).any(axis=1), dtype=np.intp)


def code_distances(
    query_codes: CodeArray, database_codes: CodeArray, rows: IntArray, items: IntArray
) -> IntArray:
    """Hamming distances of pairs of a query and an item."""
    return np.asarray(np.bitwise_count(query_codes[rows] ^ database_codes[items]).sum(axis=1, dtype=np.intp))


def checked_codes(query_codes: Any, database_codes: Any) -> tuple[CodeArray, CodeArray]:
    """Return both arrays after checking that they have the same width and are not empty."""
    queries = check_codes(query_codes, caller="evaluate", name="query_codes")
    database = check_codes(database_codes, caller="evaluate", name="database_codes")
    for name, codes in (("query_codes", queries), ("database_codes", database)):
        if not codes.size:
            raise CodeError(f"evaluate: {name} must not be empty, got shape {codes.shape}.")
    if queries.shape[1] != database.shape[1]:
        raise CodeError(
            f"evaluate: query codes have {queries.shape[1]} bytes, database codes "
            f"{database.shape[1]}. Encode both with the same model."
        )
    return queries, database
