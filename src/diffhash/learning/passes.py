"""The passes over a source before thresholds are chosen: jobs for its batches, and their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..maps import FeatureMap, MappedView
from ..maps.view_moments import ViewMoments
from ..pairs.group_names import GroupNames
from ..types import FloatArray
from .batches import Batch, CoupleForm
from .couple_sums import CoupleSums, local_map
from .moments import dense
from .row_sample import RowSample

__all__ = [
    "CollectPass",
    "Collected",
    "DataSums",
    "DegreePass",
    "FeaturePass",
    "FeatureSums",
    "FirstPass",
    "WeightedSum",
]


@dataclass
class DataSums:
    """What the first pass learns about the rows.

    Attributes
    ----------
    views : list of ViewMoments
        Moments of the rows of each modality.
    sample : RowSample
    couples : list of CoupleSums
        Sums over the pairs of each couple; empty if features are not affine.
    """

    views: list[ViewMoments]
    sample: RowSample
    couples: list[CoupleSums]

    def merge(self, other: DataSums) -> DataSums:
        """Add another part."""
        for mine, theirs in zip(self.views, other.views, strict=True):
            mine.merge(theirs)
        for sums, more in zip(self.couples, other.couples, strict=True):
            sums.merge(more)
        self.sample.merge(other.sample)
        return self

    def faded(self, factor: float) -> DataSums:
        """The same sums, in which every row and pair counts only ``factor``."""
        return DataSums(
            [view.faded(factor) for view in self.views],
            self.sample.faded(factor),
            [sums.faded(factor) for sums in self.couples],
        )


@dataclass(frozen=True)
class FirstPass:
    """Job: moments and a sample of the rows and, for affine features, the sums over the pairs.

    Attributes
    ----------
    forms : tuple of CoupleForm
    limit : int
        Largest number of rows of a modality in the sample.
    full : tuple of bool
        For each modality, whether to sum the products of all features.
    standardize : tuple of bool, or None
        For each modality, whether its features will be standardised. None: do not sum the pairs.
    gamma : float or None
        Given if there is only one batch, see :meth:`CoupleSums.of`.
    """

    forms: tuple[CoupleForm, ...]
    limit: int
    full: tuple[bool, ...]
    standardize: tuple[bool, ...] | None
    gamma: float | None = None

    def __call__(self, batch: Batch) -> DataSums:
        """Sums of one batch."""
        views = [ViewMoments.of(batch.own(u), full=full) for u, full in enumerate(self.full)]
        couples = []
        if self.standardize is not None:
            maps = [
                local_map(moments, standardize=scaled, sparse=not isinstance(X, np.ndarray))
                for moments, scaled, X in zip(views, self.standardize, batch.views, strict=True)
            ]
            couples = _couple_sums(batch, maps, self.forms, self.gamma)
        return DataSums(views, RowSample.of(batch, self.forms, self.limit), couples)


@dataclass
class Collected:
    """Samples of batches, which are joined at the end: joining them one by one would copy the first rows often."""

    parts: list[RowSample]

    def merge(self, other: Collected) -> Collected:
        """Add another part."""
        self.parts = self.parts + other.parts
        return self

    def sample(self) -> RowSample:
        """All parts together."""
        parts = self.parts
        while len(parts) > 1:
            joined = [one.merge(two) for one, two in zip(parts[::2], parts[1::2], strict=False)]
            parts = joined + parts[2 * len(joined) :]
        return parts[0]


@dataclass(frozen=True)
class CollectPass:
    """Job: collect rows and their pairs; all of them if ``limit`` is None, otherwise a sample."""

    forms: tuple[CoupleForm, ...]
    limit: int | None

    def __call__(self, batch: Batch) -> Collected:
        """Rows of one batch."""
        limit = np.iinfo(np.int64).max if self.limit is None else self.limit
        return Collected([RowSample.of(batch, self.forms, int(limit))])


@dataclass
class FeatureSums:
    """Sums of mapped features: over the pairs of each couple, and the moments of the rows that are needed."""

    couples: list[CoupleSums]
    views: list[ViewMoments | None]

    def merge(self, other: FeatureSums) -> FeatureSums:
        """Add another part."""
        for sums, more in zip(self.couples, other.couples, strict=True):
            sums.merge(more)
        for mine, theirs in zip(self.views, other.views, strict=True):
            if mine is not None and theirs is not None:
                mine.merge(theirs)
        return self

    def faded(self, factor: float) -> FeatureSums:
        """The same sums, in which every row and pair counts only ``factor``."""
        return FeatureSums(
            [sums.faded(factor) for sums in self.couples],
            [None if view is None else view.faded(factor) for view in self.views],
        )


@dataclass(frozen=True)
class FeaturePass:
    """Job: sums over the pairs of mapped features, the same maps for all batches.

    ``full`` says for which modalities the products of all features are summed, too.
    """

    maps: tuple[FeatureMap, ...]
    forms: tuple[CoupleForm, ...]
    full: tuple[bool, ...]
    gamma: float | None = None

    def __call__(self, batch: Batch) -> FeatureSums:
        """Sums of one batch."""
        views = [
            _feature_moments(batch.mapped(u, self.maps[u]), batch.n_own(u)) if full else None
            for u, full in enumerate(self.full)
        ]
        return FeatureSums(_couple_sums(batch, self.maps, self.forms, self.gamma), views)


def _couple_sums(
    batch: Batch, maps: Sequence[FeatureMap], forms: Sequence[CoupleForm], gamma: float | None
) -> list[CoupleSums]:
    found = []
    for form, pairs in zip(forms, batch.pairs, strict=True):
        x, y = (batch.mapped(u, maps[u]) for u in form.sides)
        own = batch.n_own(form.first), batch.n_own(form.second)
        found.append(CoupleSums.of(x, y, pairs, own=own, gamma=gamma))
    return found


def _feature_moments(view: MappedView, n_own: int) -> ViewMoments:
    total = ViewMoments.of(np.zeros((0, view.n_features), view.dtype), full=True)
    for rows, block in view.blocks():
        own = block[: max(0, n_own - rows.start)]
        if own.shape[0]:
            total.merge(ViewMoments.of(own, full=True))
    return total


@dataclass
class WeightedSum:
    """Sums of x x^T over rows, weighted by their positive and by their negative pairs: (2, d, d)."""

    table: FloatArray

    def merge(self, other: WeightedSum) -> WeightedSum:
        """Add another part."""
        self.table = self.table + other.table
        return self


@dataclass(frozen=True)
class DegreePass:
    """Job: sums of x x^T over the rows of one view, weighted by how many pairs each row has.

    Attributes
    ----------
    feature_map : FeatureMap
    n_rows : float
        Number of all rows.
    names : GroupNames or None
        Groups that labels make.
    by_group : array of shape (n_groups,), or None
        Number of partners of a row of each group.
    """

    feature_map: FeatureMap
    n_rows: float
    names: GroupNames | None
    by_group: FloatArray | None

    def __call__(self, batch: Batch) -> WeightedSum:
        """Sums of one batch."""
        pairs, by_group = batch.pairs[0], None
        if self.names is not None and self.by_group is not None and pairs.groups is not None:
            local, numbers = GroupNames.of(pairs.groups)
            by_group = self.by_group[self.names.positions(local.keys)][numbers]
        degrees = pairs.degrees(by_group, self.n_rows, batch.n_own(0))
        view = batch.mapped(0, self.feature_map)
        table = np.zeros((2, view.n_features, view.n_features))
        for rows, block in view.blocks():
            values = dense(block)
            for slot in (0, 1):
                table[slot] += values.T @ (values * degrees[slot][rows, None].astype(values.dtype))
        return WeightedSum(table)
