"""Checked pairs, in the form that sums over pairs use.

Positives and negatives are either *listed* (row numbers) or *implied* (by labels, or as "every other
pair"). Implied pairs are never listed: sums over them are computed from sums over rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PairsError
from ..types import FloatArray, IntArray, PairIndex
from .labels import LabelGroups, sample_pairs

__all__ = ["PairScheme", "ResolvedPairs", "checked_pairs", "weights_of"]


@dataclass(frozen=True)
class PairScheme:
    """Which pairs are listed and which are implied: how sums over positives and negatives are composed.

    Attributes
    ----------
    one_view : bool
        Whether the pairs are unordered pairs within one view.
    positive_listed, negative_listed : bool
        Whether row numbers were given; otherwise the set is implied.
    groups : LabelGroups or None
        Groups of the rows, if labels imply the positives or the negatives.
    weighted : bool
        Whether listed pairs have weights.
    """

    one_view: bool
    positive_listed: bool
    negative_listed: bool
    groups: LabelGroups | None
    weighted: bool = False

    @property
    def n_groups(self) -> int:
        """Number of groups for which row sums are kept; 1 unless labels imply pairs."""
        return 1 if self.groups is None else self.groups.n_groups

    @property
    def counts_positives(self) -> bool:
        """Whether sums over the listed positives are also needed without their weights.

        The negatives that are every other pair are all pairs without the positives, whatever their weights.
        """
        return self.weighted and self.groups is None and not self.negative_listed

    def compose(
        self,
        positive: NDArray[Any],
        negative: NDArray[Any],
        related: Callable[[], NDArray[Any]],
        every: Callable[[], NDArray[Any]],
        counted: NDArray[Any] | None = None,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Sums over all positives and all negatives.

        Parameters
        ----------
        positive, negative : arrays
            Sums over the listed pairs.
        related, every : functions without arguments
            Return the sums over the pairs that labels make similar, and over all pairs. Each is called
            only if its result is needed.
        counted : array, optional
            Sums over the listed positives without weights, if :attr:`counts_positives`.
        """
        without = positive if counted is None else counted
        implied = related() if self.groups is not None else without
        return (
            positive if self.positive_listed else implied,
            negative if self.negative_listed else every() - implied,
        )


@dataclass(frozen=True)
class ResolvedPairs:
    """Checked pairs between two views with ``n_x`` and ``n_y`` rows.

    ``positive`` and ``negative`` are row numbers without repetition (``i < j`` with one view), or
    None if the pairs are implied. ``groups`` is None unless the pairs were made from labels.
    ``positive_weights`` and ``negative_weights`` are the weights of listed pairs, None if all are 1.
    """

    n_x: int
    n_y: int
    one_view: bool
    positive: PairIndex | None
    negative: PairIndex | None
    groups: LabelGroups | None
    aligned: bool = False
    positive_weights: FloatArray | None = None
    negative_weights: FloatArray | None = None

    @property
    def scheme(self) -> PairScheme:
        """Which pairs are listed and which are implied."""
        implied_by_label = self.groups if self.positive is None or self.negative is None else None
        return PairScheme(
            self.one_view,
            self.positive is not None,
            self.negative is not None,
            implied_by_label,
            self.weighted,
        )

    @property
    def weighted(self) -> bool:
        """Whether pairs have weights."""
        return self.positive_weights is not None or self.negative_weights is not None

    @property
    def positive_mass(self) -> float:
        """Sum of the weights of the positive pairs; their number if they have no weights."""
        return float(self.n_positive if self.positive_weights is None else self.positive_weights.sum())

    @property
    def negative_mass(self) -> float:
        """Sum of the weights of the negative pairs; their number if they have no weights."""
        return float(self.n_negative if self.negative_weights is None else self.negative_weights.sum())

    @property
    def labelled(self) -> bool:
        """Whether labels decide for every pair if it is similar, even if the listed positives were drawn."""
        return self.groups is not None and self.negative is None

    @property
    def n_positive(self) -> int:
        """Number of positive pairs, listed or implied."""
        return self._n_related() if self.positive is None else len(self.positive[0])

    @property
    def n_negative(self) -> int:
        """Number of negative pairs, listed or implied."""
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

    def group_degrees(self) -> FloatArray:
        """Number of partners by label of a row of each group, within one view."""
        groups = self.groups
        assert groups is not None, "there are no labels"
        sizes = np.bincount(groups.x, minlength=groups.n_groups).astype(np.float64)
        return np.asarray(groups.related(sizes[:, None])[:, 0] - groups.self_related())

    def degrees(
        self, by_group: FloatArray | None = None, n_rows: float | None = None, n_own: int | None = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """For each row of one view, the weight of its positive and of its negative pairs; two arrays (n,).

        Parameters
        ----------
        by_group : array of shape (n_groups,), optional
            Number of partners of a row of each group, if there are more rows elsewhere; see :meth:`group_degrees`.
        n_rows : float, optional
            Number of all rows.
        n_own : int, optional
            Implied pairs are counted only for so many rows; the others are there for listed pairs.
        """
        assert self.one_view, "degrees are counted within one view"
        counted = np.arange(self.n_x) < (self.n_x if n_own is None else n_own)
        every = np.where(counted, (self.n_x if n_rows is None else n_rows) - 1.0, 0.0)

        def degrees_in_list(index: PairIndex, weights: FloatArray | None = None) -> NDArray[Any]:
            twice = None if weights is None else np.tile(weights, 2)
            return np.bincount(np.concatenate(index), twice, minlength=self.n_x).astype(np.float64)

        def degrees_by_label() -> NDArray[Any]:
            groups = self.groups
            assert groups is not None
            found = np.zeros(self.n_x)
            found[: len(groups.x)] = (self.group_degrees() if by_group is None else by_group)[groups.x]
            return found

        zeros = np.zeros(self.n_x)
        return self.scheme.compose(
            zeros if self.positive is None else degrees_in_list(self.positive, self.positive_weights),
            zeros if self.negative is None else degrees_in_list(self.negative, self.negative_weights),
            degrees_by_label,
            lambda: every,
            None if self.positive is None else degrees_in_list(self.positive),
        )

    def subset(self, rows_x: IntArray, rows_y: IntArray) -> ResolvedPairs:
        """The pairs between some rows of the views. The rows are renumbered in the given order.

        Rows must not repeat. With aligned rows or one view, both sides need the same rows.
        """
        new_x, new_y = np.full(self.n_x, -1), np.full(self.n_y, -1)
        new_x[rows_x], new_y[rows_y] = np.arange(len(rows_x)), np.arange(len(rows_y))
        n_x, n_y = len(rows_x), len(rows_y)

        def renumbered(
            index: PairIndex | None, weights: FloatArray | None
        ) -> tuple[PairIndex | None, FloatArray | None]:
            if index is None:
                return None, None
            i, j = new_x[index[0]], new_y[index[1]]
            kept = (i >= 0) & (j >= 0)
            chosen = i[kept], j[kept]
            found = checked_pairs(chosen, n_x, n_y, self.one_view, "listed", "subset")
            return found, None if weights is None else weights_of(
                found, chosen, weights[kept], n_y, one_view=self.one_view
            )

        positive, positive_weights = renumbered(self.positive, self.positive_weights)
        negative, negative_weights = renumbered(self.negative, self.negative_weights)
        groups = self.groups
        if groups is not None:
            groups = replace(groups, x=groups.x[rows_x], y=groups.y[rows_y])
        return ResolvedPairs(
            n_x,
            n_y,
            self.one_view,
            positive,
            negative,
            groups,
            self.aligned,
            positive_weights,
            negative_weights,
        )

    def listed(
        self, n_positive: int, n_negative: int, rng: np.random.Generator, *, caller: str
    ) -> ResolvedPairs:
        """The same pairs with both sets listed; of implied pairs at most the given number is drawn."""
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
                negative = self.draw_other_pairs(positive, n, rng)
        return replace(self, positive=positive, negative=negative, groups=None)

    def draw_other_pairs(self, positive: PairIndex, n: int, rng: np.random.Generator) -> PairIndex:
        """``n`` distinct random pairs that are not positive."""
        taken = positive[0] * self.n_y + positive[1]
        taken.sort()
        n_cells = self.n_x * self.n_y
        size = min(n_cells, 2 * n + 1024)
        while True:
            keys = rng.choice(n_cells, size=size, replace=False)
            if self.one_view:
                keys = keys[keys // self.n_y < keys % self.n_y]
            if len(taken):
                keys = keys[taken[np.minimum(np.searchsorted(taken, keys), len(taken) - 1)] != keys]
            if len(keys) >= n or size == n_cells:
                keys = np.sort(keys[:n])
                return keys // self.n_y, keys % self.n_y
            size = min(n_cells, 2 * size)


def checked_pairs(index: PairIndex, n_x: int, n_y: int, one_view: bool, name: str, caller: str) -> PairIndex:
    """Check that rows are in range; sort the pairs by row and remove repeated ones. One view: ``i < j``."""
    i, j = index
    for rows, n, which in ((i, n_x, "first"), (j, n_y, "second")):
        out = (rows < 0) | (rows >= n)
        if out.any():
            p = int(np.flatnonzero(out)[0])
            raise PairsError(
                f"{caller}: {name} pair {p} has row {rows[p]} of the {'only' if one_view else which} view, "
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


def weights_of(
    pairs: PairIndex, given: PairIndex, weights: FloatArray, n_y: int, *, one_view: bool
) -> FloatArray:
    """Weights of checked pairs, from the weights of the pairs as they were given.

    A pair that was given several times has the largest of its weights.

    Parameters
    ----------
    pairs : (i, j)
        Result of :func:`checked_pairs`.
    given : (i, j)
        Its argument.
    weights : array of shape (n_given,)
    n_y : int
        Number of rows of the second view.
    one_view : bool
        Whether the pairs are unordered.

    Examples
    --------
    >>> given = np.array([2, 0, 2]), np.array([1, 1, 1])
    >>> pairs = checked_pairs(given, 3, 2, False, "positive", "example")
    >>> weights_of(pairs, given, np.array([0.5, 2.0, 1.0]), 2, one_view=False)
    array([2., 1.])
    """
    i, j = (np.minimum(*given), np.maximum(*given)) if one_view else given
    keys, wanted = pairs[0] * n_y + pairs[1], i * n_y + j
    if not len(keys):
        return np.zeros(0)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    # Pairs of a row with itself were left out.
    same = keys[at] == wanted
    found = np.zeros(len(keys))
    np.maximum.at(found, at[same], weights[same])
    return found
