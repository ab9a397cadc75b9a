"""Which rows of the views belong together, as files say it: aligned rows, labels, ids, or pairs of couples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..pairs import Pairs
from ..types import IntArray, PairIndex

__all__ = ["Couple", "RowRelation"]

Couple = tuple[str, ...]
"""Two modalities, or one twice."""


@dataclass(frozen=True, eq=False)
class RowRelation:
    """Which rows belong together. At most one of ``labels``, ``ids`` and ``couples`` is given.

    Attributes
    ----------
    n_rows : dict by modality
        Number of rows of each view. Without more, row r of every view is one object.
    labels : dict of arrays by modality, optional
        Rows with the same label, or with a common label, belong together.
    ids : dict of arrays by modality, optional
        Rows with the same id are one object.
    couples : dict of Pairs by couple, optional
        Listed pairs between two modalities, or within one that is named twice.

    Examples
    --------
    >>> relation = RowRelation({"image": 3, "text": 2}, ids={"image": np.array([5, 6, 7]), "text": np.array([7, 5])})
    >>> relation.describe()
    '3 objects by id'
    """

    n_rows: Mapping[str, int]
    labels: Mapping[str, NDArray[Any]] | None = None
    ids: Mapping[str, NDArray[Any]] | None = None
    couples: Mapping[Couple, Pairs] = field(default_factory=dict)

    @property
    def aligned(self) -> bool:
        """Whether row r of every view is one object."""
        return self.labels is None and self.ids is None and not self.couples

    def pairs(self) -> Pairs | dict[Couple, Pairs]:
        """The pairs as ``fit`` takes them."""
        if self.labels is not None:
            return Pairs.from_labels(dict(self.labels))
        if self.ids is not None:
            return Pairs.from_ids(dict(self.ids))
        return dict(self.couples) or Pairs.aligned(min(self.n_rows.values()))

    def size(self) -> int:
        """Number of objects, or of the listed pairs of the largest couple."""
        if self.couples:
            return max(_n_positive(pairs) for pairs in self.couples.values())
        return max(self.n_rows.values()) if self.ids is None else self._n_ids()

    def describe(self) -> str:
        """A few words for people.

        Examples
        --------
        >>> RowRelation({"image": 5000, "text": 5000}).describe()
        '5,000 aligned rows'
        """
        if self.labels is not None:
            return _counted(list(dict.fromkeys(self.n_rows.values())), "labelled row")
        if self.ids is not None:
            return f"{_counted([self._n_ids()], 'object')} by id"
        if len(self.couples) > 1:
            return ", ".join(
                f"{_counted([_n_positive(pairs)], 'pair')} {_between(couple)}"
                for couple, pairs in self.couples.items()
            )
        for pairs in self.couples.values():
            return _counted([_n_positive(pairs)], "pair")
        return _counted([min(self.n_rows.values())], "aligned row")

    def sample(self, n: int, seed: int) -> tuple[RowRelation, dict[str, IntArray]]:
        """Draw at most ``n`` objects (rows of each view with labels), or ``n`` pairs of each couple.

        Objects by id are drawn from each view in turn, so that a modality that few objects have is kept.

        Returns
        -------
        relation : RowRelation
            Among the rows that were drawn; row numbers count these.
        rows : dict by modality
            Row numbers that were drawn, sorted.

        Examples
        --------
        >>> couples = {("image", "text"): Pairs([[7, 3, 5], [1, 1, 2]])}
        >>> relation, rows = RowRelation({"image": 10, "text": 4}, couples=couples).sample(2, seed=0)
        >>> [int(rows["image"][i]) for i in relation.couples["image", "text"].positive[0]]
        [3, 5]
        """
        rng = np.random.default_rng(seed)

        def draw(size: int) -> IntArray:
            return np.sort(rng.choice(size, min(n, size), replace=False))

        if self.couples:
            return self._sample_couples(draw)
        rows: dict[str, IntArray]
        if self.ids is not None:
            chosen = _draw_ids(self.ids, n, rng)
            rows = {name: np.flatnonzero(np.isin(ids, chosen)) for name, ids in self.ids.items()}
        elif self.labels is not None:
            rows = {name: draw(size) for name, size in self.n_rows.items()}
        else:
            rows = dict.fromkeys(self.n_rows, draw(min(self.n_rows.values())))
        return RowRelation(_lengths(rows), _rows_of(self.labels, rows), _rows_of(self.ids, rows)), rows

    def _sample_couples(self, draw: Any) -> tuple[RowRelation, dict[str, IntArray]]:
        kept = {}
        for couple, pairs in self.couples.items():
            assert pairs.positive is not None, "pairs from files are listed"
            chosen = draw(len(pairs.positive[0]))
            kept[couple] = tuple(side[chosen] for side in pairs.positive)
        rows = {}
        for name in self.n_rows:
            sides = [
                side
                for couple, index in kept.items()
                for m, side in zip(couple, index, strict=True)
                if m == name
            ]
            rows[name] = np.unique(np.concatenate([np.zeros(0, np.int64), *sides]))
        couples = {}
        for couple, (i, j) in kept.items():
            first, second = couple
            negative = self.couples[couple].negative
            couples[couple] = Pairs(
                (np.searchsorted(rows[first], i), np.searchsorted(rows[second], j)),
                None if negative is None else _among(negative, rows[first], rows[second]),
            )
        return RowRelation(_lengths(rows), couples=couples), rows

    def _n_ids(self) -> int:
        return len(np.unique(np.concatenate(list((self.ids or {}).values()))))


def _draw_ids(ids: Mapping[str, NDArray[Any]], n: int, rng: np.random.Generator) -> NDArray[Any]:
    """At most ``n`` ids: an equal share of the ids of each view, then any others; at least one of each view."""
    chosen = np.unique(np.concatenate([values[:0] for values in ids.values()]))
    for values in ids.values():
        known = np.unique(values)
        share = max(1, n // len(ids)) - len(np.intersect1d(known, chosen, assume_unique=True))
        rest = np.setdiff1d(known, chosen, assume_unique=True)
        if share > 0 and len(rest):
            chosen = np.union1d(chosen, rng.choice(rest, min(share, len(rest)), replace=False))
    rest = np.setdiff1d(np.concatenate(list(ids.values())), chosen)
    missing = min(max(n - len(chosen), 0), len(rest))
    return np.union1d(chosen, rng.choice(rest, missing, replace=False)) if missing else chosen


def _lengths(rows: Mapping[str, IntArray]) -> dict[str, int]:
    return {name: len(drawn) for name, drawn in rows.items()}


def _rows_of(
    values: Mapping[str, NDArray[Any]] | None, rows: Mapping[str, IntArray]
) -> dict[str, NDArray[Any]] | None:
    return None if values is None else {name: values[name][drawn] for name, drawn in rows.items()}


def _n_positive(pairs: Pairs) -> int:
    return 0 if pairs.positive is None else len(pairs.positive[0])


def _between(couple: Couple) -> str:
    return f"within {couple[0]}" if couple[0] == couple[1] else f"of {couple[0]} and {couple[1]}"


def _counted(numbers: list[int], what: str) -> str:
    *first, last = (f"{n:,}" for n in numbers)
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{listed} {what}{'' if numbers == [1] else 's'}"


def _among(pairs: PairIndex, rows_x: IntArray, rows_y: IntArray) -> PairIndex:
    """The pairs whose rows were both drawn, with their new numbers."""
    i, j = pairs
    kept = np.isin(i, rows_x) & np.isin(j, rows_y)
    return np.searchsorted(rows_x, i[kept]), np.searchsorted(rows_y, j[kept])
