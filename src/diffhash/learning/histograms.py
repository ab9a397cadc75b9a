"""Joint counts of binned projections over pairs, from which thresholds are chosen.

:class:`JointHistogram` holds sums over rows and listed pairs. They can be computed for parts of the
data and merged, and implied pairs are counted in closed form. It serves thresholds as
:class:`~diffhash.learning.moments.PairMoments` serves projections.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..native import joint_counts
from ..native.binning import bin_columns, count_bins
from ..pairs.resolved import PairScheme
from ..types import FloatArray, IntArray, PairIndex
from .moments import listed_pairs

__all__ = ["JointHistogram", "bin_values", "bin_with_extremes", "grid_edges"]

Counts = NDArray[Any]
#: The grid extends this many standard deviations from the mean to either side.
_GRID_DEVIATIONS = 3.0


@dataclass
class JointHistogram:
    """Joint counts of binned projections over positives and negatives; parts can be merged.

    Parameters
    ----------
    scheme : PairScheme
    n_bits, n_bins : int

    Attributes
    ----------
    positive, negative : arrays of shape (n_bits, n_bins, n_bins)
        Counts over the listed pairs, whole numbers unless pairs have weights.
    counted : array of the same shape, or (0, 0, 0)
        Counts over the listed positives without their weights, if they are needed.
    rows_x, rows_y : int arrays of shape (n_groups, n_bits, n_bins)
        Counts over the rows of each group.
    self_pairs : int array of shape (n_bits, n_bins)
        One view only: counts over the rows that are similar to themselves.
    """

    scheme: PairScheme
    n_bits: int
    n_bins: int
    positive: Counts = field(init=False)
    negative: Counts = field(init=False)
    counted: Counts = field(init=False)
    rows_x: Counts = field(init=False)
    rows_y: Counts = field(init=False)
    self_pairs: Counts = field(init=False)

    def __post_init__(self) -> None:
        cells = (self.n_bits, self.n_bins, self.n_bins)
        dtype = np.float64 if self.scheme.weighted else np.int64
        self.positive = np.zeros(cells, dtype=dtype)
        self.negative = np.zeros(cells, dtype=dtype)
        self.counted = np.zeros(cells if self.scheme.counts_positives else (0, 0, 0), dtype=np.int64)
        self.rows_x = np.zeros((self.scheme.n_groups, self.n_bits, self.n_bins), dtype=np.int64)
        self.rows_y = np.zeros_like(self.rows_x)
        self.self_pairs = np.zeros((self.n_bits, self.n_bins), dtype=np.int64)

    def update(
        self,
        bins_x: IntArray,
        bins_y: IntArray | None = None,
        *,
        positive: PairIndex | None = None,
        negative: PairIndex | None = None,
        groups_x: IntArray | None = None,
        groups_y: IntArray | None = None,
        positive_weights: FloatArray | None = None,
        negative_weights: FloatArray | None = None,
        own: tuple[int, int] | None = None,
    ) -> Self:
        """Add rows of both views and the listed pairs between them.

        Parameters
        ----------
        bins_x, bins_y : int arrays of shape (n_bits, n), (n_bits, n')
            For each bit, the interval that the projection of each new row falls into. Leave out
            ``bins_y`` with one view.
        positive, negative : (i, j), optional
            Row numbers within the new rows.
        groups_x, groups_y : int arrays of shape (n,), (n',), optional
        positive_weights, negative_weights : arrays of shape (n_pairs,), optional
            Weights of the listed pairs.
        own : (int, int), optional
            Only so many rows of each view are counted as rows; the others are there for listed pairs.
        """
        own_x, own_y = (None, None) if own is None else own
        self._add_rows(self.rows_x, bins_x, groups_x, own_x)
        if bins_y is None:
            bins_y, bins_self = bins_x, bins_x[:, :own_x]
            self.rows_y = self.rows_x
            if self.scheme.groups is not None and groups_x is not None:
                bins_self = bins_self[:, self.scheme.groups.self_related()[groups_x]]
            for bit in range(self.n_bits):
                self.self_pairs[bit] += np.bincount(bins_self[bit], minlength=self.n_bins)
        else:
            self._add_rows(self.rows_y, bins_y, groups_y, own_y)
        listed = listed_pairs(self.scheme, positive, negative, positive_weights, negative_weights)
        for kind, (index, weights) in listed.items():
            found = joint_counts(
                bins_x=bins_x, bins_y=bins_y, index=index, n_bins=self.n_bins, weights=weights
            )
            table = getattr(self, kind)
            # The tables are large: the first counts need not be added to zeros.
            if table.any():
                table += found
            else:
                setattr(self, kind, found.astype(table.dtype, copy=False))
        return self

    def _add_rows(self, table: Counts, bins: IntArray, groups: IntArray | None, n_own: int | None) -> None:
        n_groups = self.scheme.n_groups
        if n_groups == 1:
            table[0] += count_bins(bins, self.n_bins, n_own=n_own)
            return
        assert groups is not None
        bins = bins[:, :n_own]
        for bit in range(self.n_bits):
            cells = bins[bit].astype(np.intp)
            cells += groups * self.n_bins
            counts = np.bincount(cells, minlength=n_groups * self.n_bins)
            table[:, bit] += counts.reshape(n_groups, self.n_bins)

    def merge(self, other: JointHistogram) -> Self:
        """Add the counts of another part, which must have the same bin edges."""
        if self.positive.shape != other.positive.shape or self.rows_x.shape != other.rows_x.shape:
            raise InputError(
                f"JointHistogram.merge: the parts must have the same bits, intervals and groups, got counts of "
                f"shapes {self.rows_x.shape} and {other.rows_x.shape}."
            )
        for name in ("positive", "negative", "counted", "rows_x", "rows_y", "self_pairs"):
            # With one view the rows of both sides are the same counts.
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def counts(self) -> tuple[Counts, Counts]:
        """Joint counts over all positives and all negatives, with implied pairs.

        Returns
        -------
        positive, negative : arrays of shape (n_bits, n_bins, n_bins)
            Symmetric with one view: each unordered pair counts 1/2 in each of its two orders.
        """
        counted = self.counted if self.scheme.counts_positives else None
        if not self.scheme.one_view:
            return self.scheme.compose(self.positive, self.negative, self._related, self._every, counted)
        diagonal = np.arange(self.n_bins)

        def without_self_pairs(table: Counts, self_pairs: Counts) -> Counts:
            table = table.astype(np.float64)
            table[:, diagonal, diagonal] -= self_pairs
            return table / 2

        return self.scheme.compose(
            (self.positive + self.positive.transpose(0, 2, 1)) / 2,
            (self.negative + self.negative.transpose(0, 2, 1)) / 2,
            lambda: without_self_pairs(self._related(), self.self_pairs),
            lambda: without_self_pairs(self._every(), self.rows_x.sum(axis=0)),
            None if counted is None else (counted + counted.transpose(0, 2, 1)) / 2,
        )

    def _every(self) -> Counts:
        x, y = self.rows_x.sum(axis=0), self.rows_y.sum(axis=0)
        return np.asarray(x[:, :, None] * y[:, None, :])

    def _related(self) -> Counts:
        groups = self.scheme.groups
        assert groups is not None
        table = self.rows_y.reshape(groups.n_groups, -1).astype(np.float64)
        related = groups.related(table).reshape(self.rows_y.shape)
        # (groups, bits, bins) x (groups, bits, bins) -> (bits, bins, bins); counts are exact in float64.
        return np.asarray(self.rows_x.transpose(1, 2, 0).astype(np.float64) @ related.transpose(1, 0, 2))


def grid_edges(mean: FloatArray, deviation: FloatArray, n_bins: int) -> FloatArray:
    """Evenly spaced edges of shape (n_bits, n_bins - 1) around each bit's mean.

    Mean and standard deviation come from sums over rows. These can be merged, so all parts of the data
    can use the same edges.
    """
    return mean[:, None] + deviation[:, None] * np.linspace(-_GRID_DEVIATIONS, _GRID_DEVIATIONS, n_bins - 1)


def bin_values(values: FloatArray, edges: FloatArray) -> NDArray[np.uint8]:
    """Number of the interval between evenly spaced edges that each value falls into.

    Parameters
    ----------
    values : array of shape (n, n_bits)
    edges : array of shape (n_bits, n_bins - 1), evenly spaced along the last axis; at most 256 bins

    Returns
    -------
    uint8 array of shape (n_bits, n)
        Number of edges below each value. Values very close to an edge may be off by one.
    """
    return bin_columns(values, *_grid(values, edges), edges.shape[1] + 1)[0]


def bin_with_extremes(
    values: FloatArray, edges: FloatArray, n_own: int
) -> tuple[NDArray[np.uint8], FloatArray, FloatArray]:
    """The same, and the smallest and largest value of each interval among the first rows."""
    bins, low, high = bin_columns(
        values, *_grid(values, edges), edges.shape[1] + 1, n_own=n_own, extremes=True
    )
    assert low is not None
    assert high is not None
    return bins, low, high


def _grid(values: FloatArray, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First edge and inverse distance of the edges of each bit, in the dtype of the values."""
    first = edges[:, 0].astype(values.dtype)
    step = (edges[:, -1] - edges[:, 0]) / max(edges.shape[1] - 1, 1)
    return first, (1.0 / np.where(step > 0, step, 1.0)).astype(values.dtype)
