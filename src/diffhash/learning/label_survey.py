"""Which labels the rows of each modality have, counted over batches.

A modality may take part in several couples, each with labels of its own. The rows with the same labels in all couples
form a *combination*. Combinations are few, so what depends only on labels is computed for them instead of for rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..pairs.couples import ResolvedCouple, ResolvedCouples
from ..pairs.group_names import GroupNames
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray, IntArray
from .batches import Batch, CoupleForm

__all__ = ["LabelSurvey"]


@dataclass
class _Combinations:
    """Different combinations of labels of the rows of one modality.

    Attributes
    ----------
    keys : tuple of arrays of shape (n_combinations,)
        For each couple of the modality, the name of the group, see :class:`GroupNames`.
    counts : array of shape (n_combinations,)
        Number of rows.
    """

    keys: tuple[NDArray[Any], ...]
    counts: FloatArray

    def merge(self, other: _Combinations) -> _Combinations:
        numbers = _numbered([np.concatenate(both) for both in zip(self.keys, other.keys, strict=True)])
        first = np.unique(numbers, return_index=True)[1]
        keys = tuple(np.concatenate(both)[first] for both in zip(self.keys, other.keys, strict=True))
        return _Combinations(keys, _counted(numbers, np.concatenate([self.counts, other.counts])))

    def only(self, couples: Sequence[int]) -> _Combinations:
        keys = [self.keys[c] for c in couples]
        numbers = _numbered(keys)
        first = np.unique(numbers, return_index=True)[1]
        return _Combinations(tuple(each[first] for each in keys), _counted(numbers, self.counts))

    def positions(self, keys: Sequence[NDArray[Any]]) -> IntArray:
        """Numbers of combinations, all of which must be among these."""
        n = len(self.counts)
        numbers = _numbered([np.concatenate(both) for both in zip(self.keys, keys, strict=True)])
        known = np.zeros(numbers.max() + 1, dtype=np.int64)
        known[numbers[:n]] = np.arange(n)
        return np.asarray(known[numbers[n:]])


@dataclass
class LabelSurvey:
    """The combinations of labels of all modalities; parts can be merged.

    Attributes
    ----------
    forms : tuple of CoupleForm
        The couples that have labels.
    numbers : tuple of int
        Number of each of them in a batch.
    n_labels : tuple of int or None
        For each couple, see :class:`GroupNames`.
    views : list of _Combinations or None
        For each modality; None if no couple gives it labels.

    Examples
    --------
    >>> from diffhash import Pairs
    >>> from diffhash.learning.one_batch import one_batch
    >>> pairs = Pairs.from_labels(["b", "a", "b"], ["a", "b"]).resolve(3, 2)
    >>> views = [np.zeros((3, 1)), np.zeros((2, 1))]
    >>> source = one_batch(["x", "y"], views, ResolvedCouples.of_pairs(pairs))
    >>> found = LabelSurvey.of(source.batch, source.form.couples)
    >>> found.views[0].counts, found.rows_of(source.batch, 0)
    (array([1., 2.]), array([1, 0, 1]))
    """

    forms: tuple[CoupleForm, ...]
    numbers: tuple[int, ...]
    n_labels: tuple[int | None, ...]
    views: list[_Combinations | None]

    @classmethod
    def of(cls, batch: Batch, forms: tuple[CoupleForm, ...]) -> LabelSurvey:
        """The labels of a batch."""
        numbers_of = tuple(number for number, pairs in enumerate(batch.pairs) if pairs.labelled)
        forms = tuple(forms[number] for number in numbers_of)
        views: list[_Combinations | None] = []
        for u in range(len(batch.views)):
            if not _couples_of(forms, u):
                views.append(None)
                continue
            keys, numbers = _combinations_of(batch, forms, numbers_of, u)
            views.append(_Combinations(keys, _counted(numbers, np.ones(len(numbers)), len(keys[0]))))
        n_labels = []
        for number in numbers_of:
            groups = batch.pairs[number].groups
            assert groups is not None, "these couples have labels"
            n_labels.append(None if groups.sets is None else int(groups.sets.shape[1]))
        return cls(forms, numbers_of, tuple(n_labels), views)

    def merge(self, other: LabelSurvey) -> LabelSurvey:
        """Add another part."""
        for number in range(len(self.forms)):
            # Raises an error if the labels of two batches cannot be compared.
            self._names(number).union(other._names(number), caller="fit_batches")
        self.views = [
            None if mine is None or theirs is None else mine.merge(theirs)
            for mine, theirs in zip(self.views, other.views, strict=True)
        ]
        return self

    def only(self, numbers: Sequence[int]) -> LabelSurvey:
        """The labels of some of the couples of a batch."""
        chosen = [c for c, number in enumerate(self.numbers) if number in numbers]
        if len(chosen) == len(self.forms):
            return self
        views: list[_Combinations | None] = []
        for u, view in enumerate(self.views):
            known = _couples_of(self.forms, u)
            kept = [known.index(c) for c in chosen if c in known]
            views.append(None if view is None or not kept else view.only(kept))
        return LabelSurvey(
            tuple(self.forms[c] for c in chosen),
            tuple(self.numbers[c] for c in chosen),
            tuple(self.n_labels[c] for c in chosen),
            views,
        )

    def couples(self) -> ResolvedCouples:
        """The pairs that labels imply between combinations, as if each were one row."""
        found = []
        for number, form in enumerate(self.forms):
            names = self._names(number)
            x, y = (names.positions(keys) for keys in self._keys(number))
            one_view = form.first == form.second
            pairs = ResolvedPairs(len(x), len(y), one_view, None, None, names.groups(x, x if one_view else y))
            found.append(ResolvedCouple(form.first, form.second, form.weight, pairs))
        return ResolvedCouples(
            tuple(0 if view is None else len(view.counts) for view in self.views), tuple(found)
        )

    def counts(self, couple: ResolvedCouple | CoupleForm) -> tuple[FloatArray, FloatArray]:
        """How many rows have each combination, of both modalities of a couple."""
        return self._view(couple.first).counts, self._view(couple.second).counts

    def n_pairs(self, number: int) -> tuple[float, float]:
        """Number of similar and of other pairs of rows of a couple of a batch."""
        couple = self.couples().couples[self.numbers.index(number)]
        groups = couple.pairs.groups
        assert groups is not None, "these couples have labels"
        x, y = self.counts(couple)
        sizes_x, sizes_y = (_counted(g, n, groups.n_groups) for g, n in ((groups.x, x), (groups.y, y)))
        similar, every = float(sizes_x @ groups.related(sizes_y[:, None])[:, 0]), float(x.sum() * y.sum())
        if couple.within:
            alone = float(sizes_x @ groups.self_related())
            similar, every = (similar - alone) / 2, (every - float(x.sum())) / 2
        return similar, every - similar

    def rows_of(self, batch: Batch, modality: int) -> IntArray:
        """Number of the combination of each row of a batch, of shape (n_own,)."""
        keys, numbers = _combinations_of(batch, self.forms, self.numbers, modality)
        return np.asarray(self._view(modality).positions(keys)[numbers])

    def _names(self, number: int) -> GroupNames:
        return GroupNames(np.union1d(*self._keys(number)), self.n_labels[number])

    def _keys(self, number: int) -> list[NDArray[Any]]:
        """Of both sides of a couple, the group of each combination."""
        sides = self.forms[number].sides
        return [self._view(u).keys[_couples_of(self.forms, u).index(number)] for u in sides]

    def _view(self, modality: int) -> _Combinations:
        found = self.views[modality]
        assert found is not None, "a couple of the modality has labels"
        return found


def _couples_of(forms: Sequence[CoupleForm], modality: int) -> list[int]:
    """Numbers of the couples that a modality takes part in."""
    return [number for number, form in enumerate(forms) if modality in form.sides]


def _combinations_of(
    batch: Batch, forms: Sequence[CoupleForm], numbers_of: Sequence[int], modality: int
) -> tuple[tuple[NDArray[Any], ...], IntArray]:
    """The combinations of labels of the rows of a batch, and the number of each row among them."""
    n, columns, names = batch.n_own(modality), [], []
    for number in _couples_of(forms, modality):
        groups = batch.pairs[numbers_of[number]].groups
        assert groups is not None, "these couples have labels"
        columns.append((groups.x if forms[number].first == modality else groups.y)[:n])
        known, positions = GroupNames.of(groups)
        names.append((known.keys, positions))
    numbers = _numbered(columns)
    first = np.unique(numbers, return_index=True)[1]
    keys = tuple(
        of_group[positions[column[first]]]
        for column, (of_group, positions) in zip(columns, names, strict=True)
    )
    return keys, numbers


def _counted(numbers: IntArray, counts: FloatArray, n: int = 0) -> FloatArray:
    """For each number, the sum of its counts."""
    return np.asarray(np.bincount(numbers, counts, n), dtype=np.float64)


def _numbered(columns: Sequence[NDArray[Any]]) -> IntArray:
    """Numbers of the different rows of a table, which is given by its columns.

    Examples
    --------
    >>> _numbered([np.array(["b", "a", "b"]), np.array([1, 1, 1])])
    array([1, 0, 1])
    """
    found = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, numbers = np.unique(column, return_inverse=True)
        # There are at most as many combinations as rows, so the products do not overflow.
        found = np.unique(found * len(values) + numbers, return_inverse=True)[1].reshape(-1)
    return found
