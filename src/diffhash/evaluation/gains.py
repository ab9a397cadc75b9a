"""Graded relevance: how much each relevant item is worth, summed by distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..errors import InputError
from ..types import CodeArray, FloatArray, IntArray, PairIndex
from ..validation import as_array, check_choice
from .distance_counts import (
    Table,
    checked_codes,
    checked_groups,
    checked_own,
    checked_relevant,
    code_distances,
    distance_table,
    listed_table,
)

__all__ = ["GAIN_RULES", "Gains", "graded_distance_table", "graded_pair_table"]

#: How the gain of an item follows from the number of labels that it shares with the query.
GAIN_RULES = ("shared", "exponential")
#: Sums of larger powers of 2 would lose the gains of all other items.
_MOST_EXPONENTIAL = 50
#: Bytes of a block of counts by distance and grade.
_BLOCK_BYTES = 1 << 25


@dataclass(frozen=True)
class Gains:
    """Gains of the relevant items of each query.

    Attributes
    ----------
    at_distance : array of shape (q, n_distances)
        Sum of the gains of all items at a distance.
    values, counts : arrays of shape (m,)
        The gains of each query, the largest first, and how many items have each of them.
    starts : int array of shape (q + 1,)
        Query ``i`` has ``values[starts[i]:starts[i + 1]]``.
    """

    at_distance: FloatArray
    values: FloatArray
    counts: IntArray
    starts: IntArray

    @classmethod
    def binary(cls, table: IntArray) -> Self:
        """Gain 1 for every relevant item, from a table of shape (q, n_distances, 2)."""
        relevant = table[..., 1]
        return cls(
            relevant.astype(np.float64),
            np.ones(len(table)),
            relevant.sum(axis=1),
            np.arange(len(table) + 1),
        )


def graded_distance_table(
    query_codes: CodeArray,
    database_codes: CodeArray,
    query_labels: Any,
    database_labels: Any,
    rule: str,
    *,
    own: Any = None,
) -> tuple[Table, Gains]:
    """Count items at each distance, and sum their gains.

    Parameters
    ----------
    query_codes, database_codes, query_labels, database_labels, own
        See :func:`~diffhash.evaluation.distance_table`.
    rule : {"shared", "exponential"}
        Gain of an item that shares g labels with the query: g, or ``2**g - 1``.

    Returns
    -------
    table : int64 array of shape (q, 8 * n_bytes + 1, 2)
    gains : Gains
    """
    check_choice(rule, "gains with labels", GAIN_RULES, caller="evaluate")
    queries, database = checked_codes(query_codes, database_codes)
    groups = checked_groups(query_labels, database_labels, len(queries), len(database))
    if groups.sets is None:
        # One label each: an item shares one label or none, and both rules give 1.
        table = distance_table(queries, database, query_labels, database_labels, own=own)
        return table, Gains.binary(table)
    x, y = groups.sets[groups.x], groups.sets[groups.y]
    most = max(1, int(min(x.sum(axis=1).max(initial=0), y.sum(axis=1).max(initial=0))))
    if rule == "exponential" and most > _MOST_EXPONENTIAL:
        raise InputError(
            f'evaluate: with gains="exponential", items may share at most {_MOST_EXPONENTIAL} labels with a query, '
            f'here they share up to {most}. Use gains="shared".'
        )
    grades = np.arange(most + 1, dtype=np.float64)
    gain_of = grades if rule == "shared" else 2.0**grades - 1.0
    own_rows = np.full(len(queries), -1)
    if own is not None:
        rows, items = checked_own(own, len(queries), len(database))
        own_rows[rows] = items
    n_distances = 8 * queries.shape[1] + 1
    table = np.empty((len(queries), n_distances, 2), dtype=np.int64)
    at_distance = np.empty((len(queries), n_distances))
    by_grade = np.empty((len(queries), most), dtype=np.int64)
    step = max(1, _BLOCK_BYTES // (8 * n_distances * (most + 1)))
    for start in range(0, len(queries), step):
        block = slice(start, min(start + step, len(queries)))
        counts = native.distance_table(
            queries=queries[block],
            database=database,
            query_labels=x[block],
            database_labels=y,
            max_shared=most,
        )
        mine = np.flatnonzero(own_rows[block] >= 0)
        items = own_rows[block][mine]
        shared = (x[block][mine] & y[items]).sum(axis=1)
        counts[mine, code_distances(queries[block], database, mine, items), shared] -= 1
        table[block, :, 0] = counts[..., 0]
        table[block, :, 1] = counts[..., 1:].sum(axis=-1)
        at_distance[block] = counts @ gain_of
        by_grade[block] = counts[..., :0:-1].sum(axis=1)
    occurs = by_grade > 0
    values = np.broadcast_to(gain_of[:0:-1], by_grade.shape)[occurs]
    return table, Gains(at_distance, values, by_grade[occurs], _starts(occurs.sum(axis=1)))


def graded_pair_table(
    query_codes: CodeArray, database_codes: CodeArray, relevant: PairIndex, gains: Any
) -> tuple[Table, Gains]:
    """Count items at each distance, and sum the gains of the listed pairs.

    Parameters
    ----------
    query_codes, database_codes, relevant
        See :func:`~diffhash.evaluation.pair_distance_table`.
    gains : array of shape (n_pairs,)
        Gain of each pair, above 0. A repeated pair counts once, with its largest gain.

    Returns
    -------
    table : int64 array of shape (q, 8 * n_bytes + 1, 2)
    gains : Gains
    """
    queries, database = checked_codes(query_codes, database_codes)
    i, j, places = checked_relevant(relevant, len(queries), len(database))
    values = np.zeros(len(i))
    np.maximum.at(values, places, _checked_gains(gains, len(places)))
    table = listed_table(queries, database, i, j)
    cells = i * table.shape[1] + code_distances(queries, database, i, j)
    at_distance = np.zeros(table.shape[:2])
    np.add.at(at_distance.reshape(-1), cells, values)
    order = np.lexsort((-values, i))
    starts = _starts(np.bincount(i, minlength=len(queries)))
    return table, Gains(at_distance, values[order], np.ones(len(i), dtype=np.int64), starts)


def _checked_gains(gains: Any, n_pairs: int) -> NDArray[np.float64]:
    array = as_array(gains, "evaluate: gains")
    if array.shape != (n_pairs,) or array.dtype.kind not in "fiub":
        raise InputError(
            f"evaluate: with {n_pairs} relevant pairs, gains must be as many numbers, got {array.dtype} of shape "
            f"{array.shape}."
        )
    values = array.astype(np.float64)
    if not (np.isfinite(values) & (values > 0)).all():
        bad = int(np.flatnonzero(~(np.isfinite(values) & (values > 0)))[0])
        raise InputError(
            f"evaluate: gains must be finite and above 0, got {array[bad]} for pair {bad}. Leave out pairs that are "
            "not relevant."
        )
    return values


def _starts(lengths: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)])
