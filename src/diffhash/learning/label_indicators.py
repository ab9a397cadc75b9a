"""Indicators of the labels of all views: the targets of regressions to classes.

Each couple of views has labels of its own, but most often they are the same ones: the labels of a view, once for
each couple that it takes part in. Two labels of different couples are the same if they mark the same rows of a
view. Then all views share one set of labels, and a view without some of them has zeros there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from ..pairs.couples import ResolvedCouples
from ..pairs.labels import LabelGroups
from ..types import IntArray

__all__ = ["couple_indicators", "label_indicators"]


def couple_indicators(groups: LabelGroups) -> tuple[Any, Any]:
    """For both views of a couple, a sparse matrix (n, n_labels) with a 1 for every label of a row.

    Labels that only one view has are left out: no pair is similar because of them.

    Examples
    --------
    >>> x, y = couple_indicators(LabelGroups(np.array([0, 1, 2]), np.array([1, 0]), 3))
    >>> x.toarray()
    array([[1., 0.],
           [0., 1.],
           [0., 0.]], dtype=float32)
    """
    if groups.sets is None:
        of_group = scipy.sparse.eye_array(groups.n_groups, dtype=np.float32, format="csr")
    else:
        of_group = scipy.sparse.csr_array(groups.sets.astype(np.float32))
    x, y = of_group[groups.x], of_group[groups.y]
    common = np.flatnonzero((_counts(x) > 0) & (_counts(y) > 0))
    return x[:, common], y[:, common]


def label_indicators(couples: ResolvedCouples) -> list[Any]:
    """For each view, a sparse matrix (n, n_labels); the columns are the labels of all couples.

    Examples
    --------
    >>> from diffhash.pairs.couples import ResolvedCouple
    >>> from diffhash import Pairs
    >>> first = Pairs.from_labels([5, 7, 5], [7, 5]).resolve(3, 2)
    >>> second = Pairs.from_labels([5, 7, 5], [5]).resolve(3, 1)
    >>> both = ResolvedCouple(0, 1, 1.0, first), ResolvedCouple(0, 2, 1.0, second)
    >>> [each.toarray().tolist() for each in label_indicators(ResolvedCouples((3, 2, 1), both))]
    [[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0]]]
    """
    tables = []
    for couple in couples:
        groups = couple.pairs.groups
        assert groups is not None, "every couple needs labels"
        tables.append(couple_indicators(groups))
    if len(couples) == 1:
        return list(tables[0][: len(couples.n_rows)])
    columns = _same_labels(couples, tables)
    n_labels = 1 + max(int(each.max(initial=-1)) for each in columns)
    found = [scipy.sparse.csr_array((n, n_labels), dtype=np.float32) for n in couples.n_rows]
    for couple, both, numbers in zip(couples, tables, columns, strict=True):
        for side, table in zip(couple.sides, both, strict=True):
            entries = table.tocoo()
            moved = scipy.sparse.csr_array(
                (entries.data, (entries.row, numbers[entries.col])), shape=found[side].shape
            )
            found[side] = found[side].maximum(moved)
    return found


def _same_labels(couples: ResolvedCouples, tables: list[tuple[Any, Any]]) -> list[IntArray]:
    """For each couple, a number for each of its labels; equal numbers: the same label."""
    ends = np.concatenate([[0], np.cumsum([both[0].shape[1] for both in tables])])
    seen: dict[tuple[int, int, bytes], int] = {}
    links: list[tuple[int, int]] = []
    for couple, both, start in zip(couples, tables, ends, strict=False):
        for side in {couple.first: 0, couple.second: 1}.items():
            table = both[side[1]].tocsc()
            table.sort_indices()
            repeats: dict[bytes, int] = {}
            for label in range(table.shape[1]):
                rows = table.indices[table.indptr[label] : table.indptr[label + 1]].tobytes()
                # Two labels of one couple that mark the same rows stay two labels.
                repeats[rows] = repeats.get(rows, 0) + 1
                node = int(start) + label
                links.append((seen.setdefault((side[0], repeats[rows], rows), node), node))
    i, j = np.array(links, dtype=np.int64).reshape(-1, 2).T
    graph = scipy.sparse.coo_array((np.ones(len(i), bool), (i, j)), shape=(ends[-1], ends[-1]))
    numbers = connected_components(graph, directed=False)[1].astype(np.int64)
    return np.split(numbers, ends[1:-1])


def _counts(matrix: Any) -> Any:
    return np.asarray(matrix.sum(axis=0, dtype=np.float64)).reshape(-1)
