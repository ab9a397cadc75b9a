r"""Sums over the pairs of a couple that merge over batches, whatever scale and labels each batch has.

A batch is summed in coordinates of its own: its mean is subtracted and, if features will be standardised, they are
divided by its standard deviations, because products of float32 need numbers of usual size. The sums are float64. There
both steps can be undone and done again with the mean and the deviations of all rows, so one pass is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..maps import LinearMap, MappedView
from ..maps.view_moments import ViewMoments
from ..pairs.group_names import GroupNames
from ..pairs.resolved import PairScheme, ResolvedPairs
from ..pairs.tiny_groups import are_tiny
from ..types import FloatArray
from .batches import CoupleForm
from .block_difference import BlockMatrix
from .moments import Moments, PairMoments, shifted
from .projections import covariance_difference
from .view_difference import DifferenceSettings, listed_table, pair_moments

__all__ = ["CoupleSums", "local_map", "sums_difference"]

#: Sums lose no precision with means up to this, in standard deviations, and with deviations in this range.
_SMALL_MEAN, _USUAL = 1.0, (1e-6, 1e6)


@dataclass
class CoupleSums:
    """Moments of the pairs of one couple; parts can be merged.

    Attributes
    ----------
    moments : PairMoments
        Of the features times ``scale``.
    scale_x, scale_y : arrays of shape (n_features,)
    names : GroupNames or None
        Names of the groups that labels make.
    n_listed : float
        Number of listed positives, without weights.
    combined : array of shape (n_features + 1, n_features' + 1), or None
        If all data are one batch and all pairs are listed: see :func:`~diffhash.learning.view_difference.listed_table`.
        Such sums cannot be merged.
    """

    moments: PairMoments
    scale_x: FloatArray
    scale_y: FloatArray
    names: GroupNames | None
    n_listed: float
    combined: Moments | None = None

    @classmethod
    def of(
        cls,
        x: MappedView,
        y: MappedView,
        pairs: ResolvedPairs,
        *,
        own: tuple[int, int],
        gamma: float | None = None,
    ) -> CoupleSums:
        """Sums over the pairs of a batch.

        Parameters
        ----------
        x, y : MappedView
            The same object with one view. If a map is a :class:`~diffhash.maps.LinearMap`, the sums know its mean
            and scale and can be merged with those of other maps; otherwise all batches need the same map.
        pairs : ResolvedPairs
        own : (int, int)
            Number of rows of each view that are counted.
        gamma : float, optional
            If given, there are no other batches. Sets that are both listed are then summed in one product.
        """
        scheme = pairs.scheme
        both = scheme.positive_listed and scheme.negative_listed and not scheme.one_view
        combine = gamma is not None and both and np.isfinite(gamma)
        moments = pair_moments(x, y, pairs, own=own, rows_only=combine)
        names = None
        if scheme.groups is not None:
            names, numbers = GroupNames.of(scheme.groups)
            if not np.array_equal(numbers, np.arange(len(numbers))):
                moments = moments.regrouped(_scheme(scheme, names), numbers)
            moments.scheme = _scheme(scheme, names)
        (shift_x, scale_x), (shift_y, scale_y) = (_coordinates(view) for view in (x, y))
        moments.shift_x, moments.shift_y = (np.asarray(each, np.float64) for each in (shift_x, shift_y))
        n_listed = 0.0 if pairs.positive is None else float(len(pairs.positive[0]))
        combined = None
        if combine:
            assert gamma is not None
            combined = listed_table(x, y, pairs, gamma)
        return cls(moments, scale_x, scale_y, names, n_listed, combined)

    def merge(self, other: CoupleSums) -> CoupleSums:
        """Add the sums of another part."""
        if self.combined is not None or other.combined is not None:
            raise InputError("CoupleSums.merge: sums over positives and negatives together cannot be merged.")
        theirs = other.moments
        if self.names is not None and other.names is not None:
            names = self.names.union(other.names, caller="fit_batches")
            if names.n_groups > self.names.n_groups:
                scheme = _scheme(self.moments.scheme, names)
                self.moments = self.moments.regrouped(scheme, names.positions(self.names.keys))
                self.names = names
            theirs = theirs.regrouped(self.moments.scheme, self.names.positions(other.names.keys))
        ratio_x, ratio_y = self.scale_x / other.scale_x, self.scale_y / other.scale_y
        if not (np.all(ratio_x == 1) and np.all(ratio_y == 1)):
            theirs = theirs.rescaled(ratio_x, ratio_y)
        self.moments.merge(theirs)
        self.n_listed += other.n_listed
        return self

    def faded(self, factor: float) -> CoupleSums:
        """The same sums, in which every row and pair counts only ``factor``."""
        return replace(self, moments=self.moments.faded(factor), n_listed=self.n_listed * factor)

    def in_features(self, maps: tuple[LinearMap, LinearMap]) -> CoupleSums:
        """The sums of the features that linear maps give."""
        scales = [np.ones(len(m.mean)) if m.scale is None else m.scale for m in maps]
        moments, combined = self.moments, self.combined
        ratios = scales[0] / self.scale_x, scales[1] / self.scale_y
        if not all(np.all(ratio == 1) for ratio in ratios):
            moments = moments.rescaled(*ratios)
            if combined is not None:
                combined = combined * np.append(ratios[0], 1.0)[:, None] * np.append(ratios[1], 1.0)
        moments = replace_shift(moments, *(m.mean * s for m, s in zip(maps, scales, strict=True)))
        return CoupleSums(moments, scales[0], scales[1], self.names, self.n_listed, combined)

    @property
    def masses(self) -> tuple[float, float]:
        """Sum of the weights of all positives and of all negatives; their number if they have no weights."""
        if self.combined is not None:
            # Both sets are listed and were checked before.
            return self.n_listed, 1.0
        return self.moments.masses()

    @property
    def has_tiny_groups(self) -> bool:
        """Whether labels make very many tiny groups, see :func:`~diffhash.pairs.tiny_groups.are_tiny`."""
        x, y = self.moments.rows_x[:, -1], self.moments.rows_y[:, -1]
        return are_tiny(self.moments.scheme, float(x @ y), float(x.sum() + y.sum()))

    def mean_partners(self) -> float:
        """Mean number of partners of the rows of the larger view."""
        scheme = self.moments.scheme
        n_positive = self.n_listed if scheme.positive_listed else self.masses[0]
        n_rows = max(self.moments.rows_x[:, -1].sum(), self.moments.rows_y[:, -1].sum())
        return float(n_positive / n_rows * (2 if scheme.one_view else 1))

    def difference(self, settings: DifferenceSettings, weighted: FloatArray | None = None) -> FloatArray:
        r"""The paper's :math:`\Sigma^N - \gamma \Sigma^P`, of shape (n_features, n_features').

        Parameters
        ----------
        settings : DifferenceSettings
        weighted : array of shape (2, n_features, n_features), optional
            For the statistic "difference": the sums of x x^T over rows, weighted by their positive and negative pairs.
        """
        moments = self.moments
        if self.combined is not None:
            dx, dy = (
                (mean if wanted else np.zeros_like(mean)) - shift
                for mean, wanted, shift in zip(
                    moments.means(), settings.center, (moments.shift_x, moments.shift_y), strict=True
                )
            )
            matrix: FloatArray = shifted(self.combined, dx, dy)[:-1, :-1]
        elif settings.statistic == "difference":
            assert weighted is not None, "the statistic needs the weighted sums"
            moved = (shifted(table, -moments.shift_x, -moments.shift_y) for table in moments.sums())
            # The product is large on positives, this statistic is small: change its sign.
            positive, negative = (
                -(table - 2 * sums[:-1, :-1]) / (sums[-1, -1] or 1.0)
                for table, sums in zip(weighted, moved, strict=True)
            )
            matrix = covariance_difference(positive, negative, settings.gamma)
        else:
            matrix = covariance_difference(*moments.covariances(center=settings.center), settings.gamma)
        if not np.isfinite(matrix).all():
            raise InputError("fit: products of features are infinite. Divide the features by a constant.")
        return matrix


def replace_shift(moments: PairMoments, mean_x: FloatArray, mean_y: FloatArray) -> PairMoments:
    """The same sums as sums of features from which a mean was subtracted."""
    # Nothing is summed again: the centre of the sums stays where it is and only gets another name.
    moved = moments.rescaled(np.ones(len(mean_x)), np.ones(len(mean_y)))
    moved.shift_x, moved.shift_y = moments.shift_x - mean_x, moments.shift_y - mean_y
    return moved


def _coordinates(view: MappedView) -> tuple[FloatArray, FloatArray]:
    """Shift and scale of the features of a linear map, as in :class:`CoupleSums`; 0 and 1 for other maps."""
    fitted = view.map
    if not isinstance(fitted, LinearMap):
        return np.zeros(view.n_features), np.ones(view.n_features)
    scale = np.ones(view.n_features) if fitted.scale is None else fitted.scale
    # Sparse rows are not centred.
    shift = np.zeros(view.n_features) if view.offset.any() else fitted.mean * scale
    return shift, scale


def _scheme(scheme: PairScheme, names: GroupNames) -> PairScheme:
    """The scheme with the groups of all batches; they have no rows of their own."""
    none = np.empty(0, dtype=np.int64)
    return replace(scheme, groups=names.groups(none, none))


class _AsTheyAre(LinearMap):
    """Rows that are summed without centring and scaling them first."""

    def transform(self, X: Any) -> Any:
        """The rows themselves."""
        return X


def local_map(moments: ViewMoments, *, standardize: bool, sparse: bool) -> LinearMap:
    """The map of the coordinates in which the rows of a batch are summed.

    If means are small and deviations are of usual size, rows are summed as they are.
    """
    mean = np.zeros_like(moments.mean) if sparse else moments.mean
    deviation = np.sqrt(moments.variance)
    usual = (deviation >= _USUAL[0]) & (deviation <= _USUAL[1])
    if not sparse and usual.all() and np.all(np.abs(mean) <= _SMALL_MEAN * deviation):
        return _AsTheyAre(np.zeros_like(mean))
    if not standardize:
        return LinearMap(mean)
    variance = moments.variance
    return LinearMap(mean, 1.0 / np.sqrt(np.where(variance > 0, variance, 1.0)))


def sums_difference(
    sums: Sequence[CoupleSums],
    forms: Sequence[CoupleForm],
    sizes: Sequence[int],
    settings: DifferenceSettings,
    whitening: Sequence[FloatArray | None],
    weighted: FloatArray | None = None,
) -> BlockMatrix:
    r"""The blocks :math:`w_{uv} \Sigma^D_{uv}` of all couples, from their sums.

    Parameters
    ----------
    sums : list of CoupleSums, in the features that are projected
    forms : list of CoupleForm, in the same order
    sizes : list of int
        Number of features of each modality.
    settings : DifferenceSettings
        With ``center`` for each modality.
    whitening : list of symmetric matrices or None
        For each modality.
    weighted : array, optional
        See :meth:`CoupleSums.difference`.
    """
    blocks = {}
    for each, form in zip(sums, forms, strict=True):
        u, v = form.sides
        matrix = each.difference(settings.of_couple(u, v), weighted)
        # Whitening the d x d' matrix costs less than whitening every row.
        for side, white in enumerate((whitening[u], whitening[v])):
            if white is not None:
                matrix = white @ matrix if side == 0 else matrix @ white
        if len(sums) > 1:
            matrix = form.weight * (matrix if u != v else (matrix + matrix.T) / 2)
        blocks[u, v] = matrix
    return BlockMatrix(tuple(sizes), blocks)
