"""Class scores of rows, with the labels of the rows and the pairs between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...pairs.couples import ResolvedCouples
from ...pairs.labels import LabelGroups
from ...types import FloatArray, IntArray

__all__ = ["ScoredRows", "labelled_pairs"]


@dataclass(frozen=True)
class ScoredRows:
    """Rows of each view with their scores, their labels, and the pairs between them.

    Attributes
    ----------
    scores : list of float32 arrays of shape (n, n_scores)
    couples : ResolvedCouples
        Pairs between the rows, implied by labels.
    labels : list of sparse arrays of shape (n, n_labels)
        Indicators of the labels.
    """

    scores: list[FloatArray]
    couples: ResolvedCouples
    labels: list[Any]

    def rows(self, rows: Sequence[IntArray]) -> ScoredRows:
        """Some rows of each view, and the couples with a positive and a negative pair between them."""
        chosen = _with_compact_groups(self.couples.subset(rows).learnable())
        return ScoredRows(
            [s[r] for s, r in zip(self.scores, rows, strict=True)],
            chosen,
            [each[r] for each, r in zip(self.labels, rows, strict=True)],
        )

    @property
    def enough(self) -> bool:
        """Whether something can be learned from the rows, or searched among them."""
        return bool(len(self.couples)) and min(map(len, self.scores)) >= 2


def labelled_pairs(couples: ResolvedCouples, rows: list[IntArray]) -> ResolvedCouples:
    """All pairs between some rows of each view that labels imply, also if the positives were sampled."""
    by_label = tuple(replace(c, pairs=replace(c.pairs, positive=None)) for c in couples)
    return _with_compact_groups(replace(couples, couples=by_label).subset(rows))


def _with_compact_groups(couples: ResolvedCouples) -> ResolvedCouples:
    """The same pairs; groups without rows are removed, because sums over groups need memory for each."""
    found = []
    for couple in couples:
        groups = couple.pairs.groups
        assert groups is not None, "every couple needs labels"
        present, numbers = np.unique(np.concatenate([groups.x, groups.y]), return_inverse=True)
        sets = None if groups.sets is None else groups.sets[present]
        x, y = numbers[: len(groups.x)], numbers[len(groups.x) :]
        compact = LabelGroups(x, y, len(present), sets)
        found.append(replace(couple, pairs=replace(couple.pairs, groups=compact)))
    return replace(couples, couples=tuple(found))
