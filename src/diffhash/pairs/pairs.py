"""The public class :class:`Pairs`: which objects are similar and which are not.

:meth:`Pairs.resolve` checks the pairs against the views and returns
:class:`~diffhash.pairs.resolved.ResolvedPairs`, which all sums over pairs use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import PairsError
from ..types import PairIndex
from ..validation import as_array, check_count, check_seed
from .labels import LabelGroups, group_labels, sample_pairs
from .resolved import ResolvedPairs, checked_pairs
from .sampling import sample_resolved

__all__ = ["Pairs"]


class Pairs:
    """Similar and dissimilar pairs of rows of two views, or of one view.

    Parameters
    ----------
    positive : (i, j)
        Row numbers of similar objects: row ``i[p]`` of the first view is similar to row ``j[p]``
        of the second view.
    negative : (i, j), optional
        Row numbers of dissimilar objects. By default, every pair that is not positive; these pairs
        are never listed.

    Notes
    -----
    Repeated pairs count once. With one view the pairs are unordered, and ``(i, i)`` is left out.

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
        self._one_view = False

    @classmethod
    def _implied(
        cls, n_aligned: int | None = None, groups: LabelGroups | None = None, one_view: bool = False
    ) -> Pairs:
        pairs = cls.__new__(cls)
        pairs.positive = pairs.negative = None
        pairs._n_aligned, pairs._groups, pairs._one_view = n_aligned, groups, one_view
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
        """Objects are similar if they have the same label, or at least one common label.

        Parameters
        ----------
        labels_x, labels_y : arrays of shape (n,), or bool (n, n_labels)
            Labels of the rows of the two views. With one view, leave out the second.
        n_positive, n_negative : int, optional
            Draw this many distinct pairs at random. By default *all* pairs are used, without listing
            them: positives are all pairs with a common label, negatives are all pairs without one
            (even if the positives were drawn).
        random_state : int, optional
            Seed for drawing pairs.

        Examples
        --------
        >>> Pairs.from_labels([0, 0, 1], [0, 1, 1])
        Pairs(positive: all by label, negative: all by label)
        >>> Pairs.from_labels([0, 0, 1], [0, 1, 1], n_positive=2, n_negative=3, random_state=0)
        Pairs(2 positive, 3 negative)
        """
        caller = "Pairs.from_labels"
        groups = group_labels(labels_x, labels_y, caller=caller)
        pairs = cls._implied(groups=groups, one_view=labels_y is None)
        rng = np.random.default_rng(check_seed(random_state, caller=caller))
        if n_positive is None or n_negative is None:
            groups.check_closed_form(caller)

        def draw(n: int | None, name: str, similar: bool) -> PairIndex | None:
            if n is None:
                return None
            n = check_count(n, name, caller=caller)
            return sample_pairs(groups, n, similar=similar, one_view=pairs._one_view, rng=rng, caller=caller)

        pairs.positive = draw(n_positive, "n_positive", similar=True)
        pairs.negative = draw(n_negative, "n_negative", similar=False)
        return pairs

    def sample(
        self,
        n_positive: int,
        n_negative: int,
        random_state: int | None = None,
        *,
        n_rows: int | Sequence[int] | None = None,
    ) -> Pairs:
        """Draw distinct pairs at random: each positive pair has the same chance, and each negative pair.

        Pairs that labels imply, or that are "every other pair", are not enumerated.

        Parameters
        ----------
        n_positive, n_negative : int
            Number of pairs to draw.
        random_state : int, optional
            Seed of the drawing.
        n_rows : (int, int), or int for one view, optional
            Numbers of rows of the views. Needed if positives are listed and negatives are not:
            nothing else tells which other pairs there are.

        Returns
        -------
        Pairs
            Both sets are listed, sorted by row.

        Raises
        ------
        PairsError
            If there are not that many pairs.

        Examples
        --------
        >>> Pairs.aligned(100_000).sample(500, 2000, random_state=0)
        Pairs(500 positive, 2000 negative)
        >>> Pairs(([0, 1], [0, 1])).sample(1, 3, random_state=0, n_rows=(10, 10))
        Pairs(1 positive, 3 negative)
        """
        caller = "Pairs.sample"
        n_positive = check_count(n_positive, "n_positive", caller=caller, minimum=0)
        n_negative = check_count(n_negative, "n_negative", caller=caller, minimum=0)
        rng = np.random.default_rng(check_seed(random_state, caller=caller))
        resolved = self.resolve(*self._sizes(n_rows, caller), caller=caller)
        return Pairs(*sample_resolved(resolved, n_positive, n_negative, rng, caller=caller))

    def _sizes(self, n_rows: int | Sequence[int] | None, caller: str) -> tuple[int, int | None]:
        """Numbers of rows of the views; the second is None for one view."""
        if n_rows is not None:
            given = list(n_rows) if isinstance(n_rows, Sequence | np.ndarray) else [n_rows]
            if len(given) not in (1, 2):
                raise PairsError(f"{caller}: n_rows must be one or two numbers, got {n_rows!r}.")
            first, *rest = (check_count(n, "n_rows", caller=caller) for n in given)
            return first, rest[0] if rest else None
        if self._n_aligned is not None:
            return self._n_aligned, self._n_aligned
        if self._groups is not None:
            return len(self._groups.x), None if self._one_view else len(self._groups.y)
        if self.positive is None or self.negative is None:
            raise PairsError(
                f"{caller}: the negatives are every other pair, so the numbers of rows are needed. "
                "Give n_rows=(n, n'), or n_rows=n for one view."
            )
        i, j = (np.concatenate(sides) for sides in zip(self.positive, self.negative, strict=True))
        return int(i.max(initial=-1)) + 1, int(j.max(initial=-1)) + 1

    def __repr__(self) -> str:
        implied = "all by label" if self._groups is not None else "every other pair"
        if self._n_aligned is not None:
            positive = f"{self._n_aligned} aligned rows"
        elif self.positive is None:
            positive = f"positive: {implied}"
        else:
            positive = f"{len(self.positive[0])} positive"
        negative = f"negative: {implied}" if self.negative is None else f"{len(self.negative[0])} negative"
        return f"Pairs({positive}, {negative})"

    def resolve(self, n_x: int, n_y: int | None = None, *, caller: str = "Pairs.resolve") -> ResolvedPairs:
        """Check the pairs against views with ``n_x`` and ``n_y`` rows; ``n_y`` is None for one view."""
        one_view = n_y is None
        n_second = n_x if n_y is None else n_y
        groups = self._groups
        if groups is not None:
            _check_label_counts(groups, n_x, n_second, one_view, caller)
        positive, aligned = self.positive, False
        if self._n_aligned is not None:
            if one_view:
                raise PairsError(
                    f"{caller}: aligned rows are pairs between two views, but there is only one view."
                )
            if not self._n_aligned == n_x == n_second:
                raise PairsError(
                    f"{caller}: {self._n_aligned} aligned rows need views with as many rows, got {n_x} and {n_second}."
                )
            rows = np.arange(n_x)
            positive, aligned = (rows, rows), True
        elif positive is not None:
            positive = checked_pairs(positive, n_x, n_second, one_view, "positive", caller)
        negative = self.negative
        if negative is not None:
            negative = checked_pairs(negative, n_x, n_second, one_view, "negative", caller)
            if positive is not None:
                _check_disjoint(positive, negative, n_second, caller)
        return ResolvedPairs(n_x, n_second, one_view, positive, negative, groups, aligned)


def _check_index(index: Any, name: str) -> PairIndex:
    """Check and convert to two int64 arrays of the same length."""
    try:
        i, j = index
    except (TypeError, ValueError) as error:
        raise PairsError(
            f"Pairs: {name} must be a tuple (i, j) of two arrays of row numbers, got {type(index).__name__}."
        ) from error
    i, j = (as_array(rows, f"Pairs: {name}") for rows in (i, j))
    if i.ndim != 1 or i.shape != j.shape:
        raise PairsError(
            f"Pairs: {name} needs two arrays of the same length, got shapes {i.shape} and {j.shape}."
        )
    for rows in (i, j):
        if rows.dtype.kind not in "iu" and rows.size:
            raise PairsError(f"Pairs: {name} row numbers must be whole numbers, got dtype {rows.dtype}.")
    return i.astype(np.int64), j.astype(np.int64)


def _check_disjoint(positive: PairIndex, negative: PairIndex, n_y: int, caller: str) -> None:
    keys, others = (i * n_y + j for i, j in sorted((positive, negative), key=lambda index: len(index[0])))
    # Both are sorted: look up each key of the shorter list in the longer one.
    positions = np.minimum(np.searchsorted(others, keys), max(len(others) - 1, 0))
    both = keys[others[positions] == keys] if len(others) else keys[:0]
    if both.size:
        i, j = divmod(int(both[0]), n_y)
        raise PairsError(
            f"{caller}: {both.size} pairs are both positive and negative; the first is ({i}, {j}). "
            "Remove them from one of the two lists."
        )


def _check_label_counts(groups: LabelGroups, n_x: int, n_y: int, one_view: bool, caller: str) -> None:
    if len(groups.x) != n_x or len(groups.y) != n_y:
        raise PairsError(
            f"{caller}: the views have {n_x} and {n_y} rows, but there are labels for "
            f"{len(groups.x)} and {len(groups.y)}."
        )
    if one_view and not np.array_equal(groups.x, groups.y):
        raise PairsError(f"{caller}: with one view there is one array of labels; leave out the second.")
