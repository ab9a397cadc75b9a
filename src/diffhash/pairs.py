"""Which objects belong together.

:class:`Pairs` is what a user writes. :meth:`Pairs.resolve` checks it against the views and gives
a :class:`ResolvedPairs`: the form that the sums over pairs (:mod:`~diffhash.moments`,
:mod:`~diffhash.thresholds`) work with. There, positives and negatives are each either *listed*
(row numbers) or *implied* (by labels, or as "every other pair"), and what is implied is never
enumerated: sums over it come from sums over rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import PairsError
from .labels import LabelGroups, group_labels, sample_pairs
from .types import IntArray, PairIndex
from .validation import check_count

__all__ = ["PairScheme", "Pairs", "ResolvedPairs"]


class Pairs:
    """Similar and dissimilar pairs of rows of two views (or of one).

    Parameters
    ----------
    positive : (i, j)
        Row numbers of similar objects: row ``i[p]`` of the first view belongs to row ``j[p]``
        of the second.
    negative : (i, j), optional
        Row numbers of dissimilar objects. By default every pair that is not positive, none of
        which is ever enumerated.

    Notes
    -----
    Pairs are a set: repeated ones count once. With one view they are unordered and ``(i, i)``
    is left out.

    See Also
    --------
    Pairs.aligned : row r of every view is one object.
    Pairs.from_labels : objects with the same label are similar.

    Examples
    --------
    >>> pairs = Pairs(positive=([0, 1, 2], [0, 1, 0]))
    >>> pairs
    Pairs(3 positive, negative: every other pair)
    """

    def __init__(self, positive: Any, negative: Any = None) -> None:
        self.positive: PairIndex | None = _check_index(positive, "positive")
        self.negative: PairIndex | None = None if negative is None else _check_index(negative, "negative")
        self._n_aligned: int | None = None
        self._groups: LabelGroups | None = None

    @classmethod
    def _implied(cls, n_aligned: int | None = None, groups: LabelGroups | None = None) -> Pairs:
        pairs = cls.__new__(cls)
        pairs.positive = pairs.negative = None
        pairs._n_aligned, pairs._groups = n_aligned, groups
        return pairs

    @classmethod
    def aligned(cls, n: int) -> Pairs:
        """Row r of every view is one object, and every other pair is dissimilar.

        Examples
        --------
        >>> Pairs.aligned(500)
        Pairs(500 aligned rows, negative: every other pair)
        """
        return cls._implied(n_aligned=check_count(n, "n", caller="Pairs.aligned"))

    @classmethod
    def from_labels(
        cls,
        labels_x: Any,
        labels_y: Any = None,
        n_positive: int | None = None,
        n_negative: int | None = None,
        random_state: int | None = None,
    ) -> Pairs:
        """Objects are similar if they have the same label, or at least one in common.

        Parameters
        ----------
        labels_x, labels_y : arrays of shape (n,), or bool (n, n_labels)
            Labels of the rows of the two views; leave out the second when there is one view.
        n_positive, n_negative : int, optional
            Draw this many distinct pairs at random. By default *all* of them: positives are all
            pairs with a label in common, negatives all pairs with none (whatever positives
            were drawn), both in closed form.
        random_state : int, optional
            Seed of the drawing.

        Examples
        --------
        >>> Pairs.from_labels([0, 0, 1], [0, 1, 1])
        Pairs(positive: all by label, negative: all by label)
        >>> Pairs.from_labels([0, 0, 1], [0, 1, 1], n_positive=2, n_negative=3, random_state=0)
        Pairs(2 positive, 3 negative)
        """
        caller = "Pairs.from_labels"
        groups = group_labels(labels_x, labels_y, caller=caller)
        pairs = cls._implied(groups=groups)
        rng = np.random.default_rng(random_state)
        if n_positive is None or n_negative is None:
            groups.check_closed_form(caller)

        def draw(n: int | None, name: str, similar: bool) -> PairIndex | None:
            if n is None:
                return None
            n = check_count(n, name, caller=caller)
            one_view = labels_y is None
            return sample_pairs(groups, n, similar=similar, one_view=one_view, rng=rng, caller=caller)

        pairs.positive = draw(n_positive, "n_positive", similar=True)
        pairs.negative = draw(n_negative, "n_negative", similar=False)
        return pairs

    def __repr__(self) -> str:
        rest = "all by label" if self._groups is not None else "every other pair"
        if self._n_aligned is not None:
            positive = f"{self._n_aligned} aligned rows"
        elif self.positive is None:
            positive = f"positive: {rest}"
        else:
            positive = f"{len(self.positive[0])} positive"
        negative = f"negative: {rest}" if self.negative is None else f"{len(self.negative[0])} negative"
        return f"Pairs({positive}, {negative})"

    def resolve(self, n_x: int, n_y: int | None = None, *, caller: str = "Pairs.resolve") -> ResolvedPairs:
        """Check the pairs against views of ``n_x`` and ``n_y`` rows; one view if ``n_y`` is None."""
        one_view = n_y is None
        n_second = n_x if n_y is None else n_y
        groups = self._groups
        if groups is not None:
            _check_label_counts(groups, n_x, n_second, one_view, caller)
        positive, aligned = self.positive, False
        if self._n_aligned is not None:
            if one_view:
                raise PairsError(
                    f"{caller}: aligned rows are pairs between two views, but there is one view."
                )
            if not self._n_aligned == n_x == n_second:
                raise PairsError(
                    f"{caller}: {self._n_aligned} aligned rows need views of as many rows, got {n_x} and {n_second}."
                )
            rows = np.arange(n_x)
            positive, aligned = (rows, rows), True
        elif positive is not None:
            positive = _as_set(positive, n_x, n_second, one_view, "positive", caller)
        negative = self.negative
        if negative is not None:
            negative = _as_set(negative, n_x, n_second, one_view, "negative", caller)
            if positive is not None:
                _check_disjoint(positive, negative, n_second, caller)
        return ResolvedPairs(n_x, n_second, one_view, positive, negative, groups, aligned)


@dataclass(frozen=True)
class PairScheme:
    """How the positive and the negative sums are put together, whatever is summed.

    Attributes
    ----------
    one_view : bool
        Unordered pairs within one view.
    positive_listed, negative_listed : bool
        Whether row numbers were given; otherwise the set is implied.
    groups : LabelGroups or None
        The relation between groups, when labels imply a set.
    """

    one_view: bool
    positive_listed: bool
    negative_listed: bool
    groups: LabelGroups | None

    @property
    def n_groups(self) -> int:
        """Groups by which row sums are kept: one unless labels imply a set."""
        return 1 if self.groups is None else self.groups.n_groups

    def compose(
        self,
        positive: NDArray[Any],
        negative: NDArray[Any],
        related: Callable[[], NDArray[Any]],
        every: Callable[[], NDArray[Any]],
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Sums over all positives and all negatives.

        Parameters
        ----------
        positive, negative : arrays
            Sums over the listed pairs.
        related, every : functions without arguments
            Sums over the pairs that labels make similar, and over all pairs: called if needed.
        """
        implied = related() if self.groups is not None else positive
        return (
            positive if self.positive_listed else implied,
            negative if self.negative_listed else every() - implied,
        )


@dataclass(frozen=True)
class ResolvedPairs:
    """Checked pairs of rows of two views with ``n_x`` and ``n_y`` rows.

    ``positive`` and ``negative`` are row numbers without repetition (``i < j`` in one view), or
    None where they are implied; ``groups`` is None unless labels imply one of them.
    """

    n_x: int
    n_y: int
    one_view: bool
    positive: PairIndex | None
    negative: PairIndex | None
    groups: LabelGroups | None
    aligned: bool = False

    @property
    def scheme(self) -> PairScheme:
        """What the sums need to know beside the row numbers."""
        implied_by_label = self.groups if self.positive is None or self.negative is None else None
        return PairScheme(
            self.one_view, self.positive is not None, self.negative is not None, implied_by_label
        )

    @property
    def n_positive(self) -> int:
        """Number of positive pairs, implied ones included."""
        return self._n_related() if self.positive is None else len(self.positive[0])

    @property
    def n_negative(self) -> int:
        """Number of negative pairs, implied ones included."""
        if self.negative is not None:
            return len(self.negative[0])
        every = self.n_x * (self.n_x - 1) // 2 if self.one_view else self.n_x * self.n_y
        return every - (self.n_positive if self.groups is None else self._n_related())

    def _n_related(self) -> int:
        groups = self.groups
        assert groups is not None, "without labels the positives are always listed"
        sizes_x = np.bincount(groups.x, minlength=groups.n_groups).astype(np.float64)
        sizes_y = np.bincount(groups.y, minlength=groups.n_groups).astype(np.float64)
        total = int(sizes_x @ groups.related(sizes_y[:, None])[:, 0])
        return (total - int(sizes_x @ groups.self_related())) // 2 if self.one_view else total

    def degrees(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Number of positive and of negative pairs that each row of one view is part of, (n,) each."""
        assert self.one_view, "degrees are counted within one view"

        def of_list(index: PairIndex) -> NDArray[Any]:
            return np.bincount(np.concatenate(index), minlength=self.n_x).astype(np.float64)

        def of_labels() -> NDArray[Any]:
            groups = self.groups
            assert groups is not None
            group_sizes = np.bincount(groups.x, minlength=groups.n_groups).astype(np.float64)
            related = groups.related(group_sizes[:, None])[:, 0] - groups.self_related()
            return np.asarray(related[groups.x])

        empty = np.zeros(self.n_x)
        return self.scheme.compose(
            empty if self.positive is None else of_list(self.positive),
            empty if self.negative is None else of_list(self.negative),
            of_labels,
            lambda: np.full(self.n_x, self.n_x - 1.0),
        )

    def subset(self, rows_x: IntArray, rows_y: IntArray) -> ResolvedPairs:
        """The pairs among some rows of the views, which are renumbered in the order given.

        Rows must not repeat; aligned rows and one view need the same rows on both sides.
        """
        places_x, places_y = np.full(self.n_x, -1), np.full(self.n_y, -1)
        places_x[rows_x], places_y[rows_y] = np.arange(len(rows_x)), np.arange(len(rows_y))
        n_x, n_y = len(rows_x), len(rows_y)

        def among(index: PairIndex | None) -> PairIndex | None:
            if index is None:
                return None
            i, j = places_x[index[0]], places_y[index[1]]
            kept = (i >= 0) & (j >= 0)
            return _as_set((i[kept], j[kept]), n_x, n_y, self.one_view, "some", "subset")

        positive, negative, groups = among(self.positive), among(self.negative), self.groups
        if groups is not None:
            groups = LabelGroups(groups.x[rows_x], groups.y[rows_y], groups.n_groups, groups.sets)
        return ResolvedPairs(n_x, n_y, self.one_view, positive, negative, groups, self.aligned)

    def listed(
        self, n_positive: int, n_negative: int, rng: np.random.Generator, *, caller: str
    ) -> ResolvedPairs:
        """The same pairs with both sets listed: implied ones are drawn, at most that many of each."""
        positive, negative = self.positive, self.negative
        groups = self.groups
        if positive is None:
            assert groups is not None, "without labels the positives are always listed"
            n = min(n_positive, self.n_positive)
            positive = sample_pairs(groups, n, similar=True, one_view=self.one_view, rng=rng, caller=caller)
        if negative is None:
            n = min(n_negative, self.n_negative)
            if groups is not None:
                negative = sample_pairs(
                    groups, n, similar=False, one_view=self.one_view, rng=rng, caller=caller
                )
            else:
                negative = self._draw_rest(positive, n, rng)
        return ResolvedPairs(self.n_x, self.n_y, self.one_view, positive, negative, None, self.aligned)

    def _draw_rest(self, positive: PairIndex, n: int, rng: np.random.Generator) -> PairIndex:
        """``n`` distinct pairs that are not positive."""
        taken = positive[0] * self.n_y + positive[1]
        taken.sort()
        n_cells = self.n_x * self.n_y
        size = min(n_cells, 2 * n + 1024)
        while True:
            keys = rng.choice(n_cells, size=size, replace=False)
            if self.one_view:
                keys = keys[keys // self.n_y < keys % self.n_y]
            keys = keys[taken[np.minimum(np.searchsorted(taken, keys), len(taken) - 1)] != keys]
            if len(keys) >= n or size == n_cells:
                keys = np.sort(keys[:n])
                return keys // self.n_y, keys % self.n_y
            size = min(n_cells, 2 * size)


def _check_index(index: Any, name: str) -> PairIndex:
    """Two integer arrays of one length."""
    try:
        i, j = (np.asarray(rows) for rows in index)
    except (TypeError, ValueError) as error:
        raise PairsError(
            f"Pairs: {name} must be a tuple (i, j) of two arrays of row numbers, got {type(index).__name__}."
        ) from error
    if i.ndim != 1 or i.shape != j.shape:
        raise PairsError(f"Pairs: {name} needs two arrays of one length, got shapes {i.shape} and {j.shape}.")
    for rows in (i, j):
        if rows.dtype.kind not in "iu" and rows.size:
            raise PairsError(f"Pairs: {name} row numbers must be whole numbers, got dtype {rows.dtype}.")
    return i.astype(np.int64), j.astype(np.int64)


def _as_set(index: PairIndex, n_x: int, n_y: int, one_view: bool, name: str, caller: str) -> PairIndex:
    i, j = index
    for rows, n, which in ((i, n_x, "first"), (j, n_y, "second")):
        out = (rows < 0) | (rows >= n)
        if out.any():
            p = int(np.flatnonzero(out)[0])
            raise PairsError(
                f"{caller}: {name} pair {p} names row {rows[p]} of the {'one' if one_view else which} view, "
                f"which has rows 0 to {n - 1}."
            )
    if one_view:
        i, j = np.minimum(i, j), np.maximum(i, j)
        i, j = i[i != j], j[i != j]
    keys = i * n_y + j
    if np.all(keys[1:] > keys[:-1]):
        return i, j
    keys = np.unique(keys)
    return keys // n_y, keys % n_y


def _check_disjoint(positive: PairIndex, negative: PairIndex, n_y: int, caller: str) -> None:
    keys, others = (i * n_y + j for i, j in sorted((positive, negative), key=lambda index: len(index[0])))
    # Both are sorted: look the fewer up among the more.
    places = np.minimum(np.searchsorted(others, keys), max(len(others) - 1, 0))
    both = keys[others[places] == keys] if len(others) else keys[:0]
    if both.size:
        i, j = divmod(int(both[0]), n_y)
        raise PairsError(
            f"{caller}: {both.size} pairs are both positive and negative, the first one ({i}, {j}). "
            "Remove them from one of the two."
        )


def _check_label_counts(groups: LabelGroups, n_x: int, n_y: int, one_view: bool, caller: str) -> None:
    if len(groups.x) != n_x or len(groups.y) != n_y:
        raise PairsError(
            f"{caller}: the views have {n_x} and {n_y} rows, but there are labels for "
            f"{len(groups.x)} and {len(groups.y)}."
        )
    if one_view and not np.array_equal(groups.x, groups.y):
        raise PairsError(f"{caller}: one view needs one array of labels; leave the second one out.")
