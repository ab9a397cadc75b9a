"""Moments of views in memory, summed block by block, and the covariance difference of two views."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from ..errors import InputError
from ..maps import MappedView
from ..maps.mapped_view import feature_mean
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray
from .moments import Moments, PairMoments, augmented_product, dense, incidence, listed_pairs, shifted
from .projections import covariance_difference

__all__ = [
    "DifferenceSettings",
    "difference_covariances",
    "listed_difference",
    "listed_table",
    "pair_moments",
    "view_difference",
]


@dataclass(frozen=True)
class DifferenceSettings:
    """How the covariance difference is computed.

    Attributes
    ----------
    gamma : float
        Weight of the positives; ``inf`` for positives only.
    statistic : {"product", "difference"}
        "difference" is for one view only, see :func:`difference_covariances`.
    center : tuple of bool
        For each view: whether to subtract its mean.
    separate_sums : bool
        Sum positives and negatives separately even if both are listed. By default listed pairs are
        summed in one faster matrix product. The results agree up to rounding.
    """

    gamma: float
    statistic: str = "product"
    center: tuple[bool, ...] = (True, True)
    separate_sums: bool = False

    def of_couple(self, first: int, second: int) -> DifferenceSettings:
        """The settings of two of the views."""
        return replace(self, center=(self.center[first], self.center[second]))


def view_difference(
    x: MappedView, y: MappedView, pairs: ResolvedPairs, settings: DifferenceSettings
) -> FloatArray:
    r"""The paper's :math:`\Sigma^N - \gamma \Sigma^P` of two views, of shape (d, d').

    Parameters
    ----------
    x, y : MappedView
        The same object with one view.
    pairs : ResolvedPairs
    settings : DifferenceSettings
    """
    gamma = settings.gamma
    listed = pairs.scheme.positive_listed and pairs.scheme.negative_listed
    if listed and not pairs.one_view and np.isfinite(gamma) and not settings.separate_sums:
        matrix = listed_difference(x, y, pairs, gamma, settings.center)
    else:
        moments = pair_moments(x, y, pairs)
        if settings.statistic == "difference":
            # The product is large on positives, this statistic is small: change its sign.
            positive, negative = (-table for table in difference_covariances(x, pairs, moments))
        else:
            positive, negative = moments.covariances(center=settings.center)
        matrix = covariance_difference(positive, negative, gamma)
    if not np.isfinite(matrix).all():
        raise InputError("fit: products of features are infinite. Divide the features by a constant.")
    # Whitening the d x d' matrix costs less than whitening every row.
    matrix = matrix if x.whitening is None else x.whitening @ matrix
    return matrix if y.whitening is None else matrix @ y.whitening


def pair_moments(
    x: MappedView,
    y: MappedView,
    pairs: ResolvedPairs,
    *,
    own: tuple[int, int] | None = None,
    rows_only: bool = False,
) -> PairMoments:
    """Moments of two views in memory, block by block.

    Only listed pairs that are not aligned need the features of a whole view (y) in memory.

    Parameters
    ----------
    x, y : MappedView
        The same object with one view.
    pairs : ResolvedPairs
    own : (int, int), optional
        Only so many rows of each view are counted as rows; the others are there for listed pairs.
    rows_only : bool
        Sum the rows without the listed pairs.
    """
    scheme = pairs.scheme
    own_x, own_y = (x.n_rows, y.n_rows) if own is None else own
    listed = listed_pairs(
        scheme, pairs.positive, pairs.negative, pairs.positive_weights, pairs.negative_weights
    )
    not_aligned = {
        kind: incidence(index, pairs.n_x, pairs.n_y, y.dtype, weights)
        for kind, (index, weights) in listed.items()
        if not rows_only and len(index[0]) and not (pairs.aligned and kind == "positive")
    }
    # Before threads need it.
    if not_aligned:
        y.whole()
    elif pairs.aligned:
        y.prepare()
    groups_x, groups_y = (None, None) if scheme.groups is None else (scheme.groups.x, scheme.groups.y)

    def sum_first(blocks: Iterator[tuple[slice, Any]]) -> PairMoments:
        moments = PairMoments(scheme, np.zeros(x.n_features), np.zeros(y.n_features))
        for rows, block in _own_blocks(blocks, own_x):
            moments.update_rows("x", block, None if groups_x is None else groups_x[rows])
            for kind, matrix in not_aligned.items():
                moments.update_pairs(kind, block, *_partners(matrix[rows], y))
            if pairs.aligned:
                partner = y.rows(rows)
                if not rows_only:
                    moments.update_pairs("positive", block, partner, np.ones(partner.shape[0]))
                moments.update_rows("y", partner)
        return moments

    def sum_second(blocks: Iterator[tuple[slice, Any]]) -> PairMoments:
        moments = PairMoments(scheme, np.zeros(x.n_features), np.zeros(y.n_features))
        for rows, block in _own_blocks(blocks, own_y):
            moments.update_rows("y", block, None if groups_y is None else groups_y[rows])
        return moments

    # Products of features for each kind of pairs and each view, and sums of groups.
    bytes_each = 8 * (x.n_features + y.n_features) * (x.n_features + y.n_features + scheme.n_groups)
    parts = x.over_blocks(sum_first, bytes_each=bytes_each, partner=y)
    if not (pairs.one_view or pairs.aligned):
        parts += y.over_blocks(sum_second, bytes_each=bytes_each)
    moments = parts[0]
    for part in parts[1:]:
        moments.merge(part)
    return moments


def _own_blocks(blocks: Iterator[tuple[slice, Any]], n_own: int) -> Iterator[tuple[slice, Any]]:
    """The blocks of the first rows only."""
    for rows, block in blocks:
        if rows.stop <= n_own:
            yield rows, block
        elif rows.start < n_own:
            yield slice(rows.start, n_own), block[: n_own - rows.start]


def listed_difference(
    x: MappedView, y: MappedView, pairs: ResolvedPairs, gamma: float, center: tuple[bool, ...]
) -> FloatArray:
    r"""The paper's :math:`\Sigma^N - \gamma \Sigma^P` when both sets are listed, in one pass.

    The result is that of :func:`pair_moments`, with half of the arithmetic: each pair is multiplied by
    its weight, so there is one matrix product instead of two.
    """
    table = listed_table(x, y, pairs, gamma)
    dx, dy = (
        feature_mean(view) if wanted else np.zeros(view.n_features)
        for view, wanted in zip((x, y), center, strict=True)
    )
    return shifted(table, dx, dy)[:-1, :-1]


def listed_table(x: MappedView, y: MappedView, pairs: ResolvedPairs, gamma: float) -> Moments:
    """The sum over all listed pairs of ``w [x; 1] [y; 1]^T``.

    The weight w is that of the pair, divided by the mass of its set; positives count minus gamma.
    """
    assert pairs.positive is not None, "both sets must be listed"
    assert pairs.negative is not None, "both sets must be listed"
    index = tuple(np.concatenate(sides) for sides in zip(pairs.positive, pairs.negative, strict=True))
    weights = np.repeat(
        [-gamma / pairs.positive_mass, 1.0 / pairs.negative_mass], [pairs.n_positive, pairs.n_negative]
    )
    if pairs.positive_weights is not None:
        weights[: pairs.n_positive] *= pairs.positive_weights
    if pairs.negative_weights is not None:
        weights[pairs.n_positive :] *= pairs.negative_weights
    matrix = scipy.sparse.csr_array((weights.astype(y.dtype), index), shape=(pairs.n_x, pairs.n_y))
    table = np.zeros((x.n_features + 1, y.n_features + 1))
    for rows, block in x.blocks():
        table += augmented_product(block, *_partners(matrix[rows], y))
    return table


def _partners(matrix: Any, y: MappedView) -> tuple[Any, FloatArray]:
    """For each row of a sparse matrix: the weighted sum of its partners, and the sum of the weights."""
    return matrix @ y.whole(), np.asarray(matrix.sum(axis=1, dtype=np.float64)).reshape(-1)


def difference_covariances(
    x: MappedView, pairs: ResolvedPairs, moments: PairMoments
) -> tuple[FloatArray, FloatArray]:
    r"""Mean of :math:`(x - x')(x - x')^T` over the positives and over the negatives of one view.

    LDAHash's diff-hash uses this statistic. Let D be the diagonal matrix of the number of pairs of each
    object. Then :math:`\sum (x - x')(x - x')^T = X^T D X - 2 \sum x x'^T`: the paper's statistic (times
    -2) plus a weighted covariance of the data itself.

    Parameters
    ----------
    x : MappedView
    pairs : ResolvedPairs
        Pairs within one view.
    moments : PairMoments
        Moments of the same view and pairs.
    """
    weighted = np.zeros((2, x.n_features, x.n_features))
    degrees = pairs.degrees()
    for rows, block in x.blocks():
        block = dense(block)
        for slot in (0, 1):
            weighted[slot] += block.T @ (block * degrees[slot][rows, None].astype(block.dtype))
    positive, negative = (
        (table - 2 * sums[:-1, :-1]) / (sums[-1, -1] or 1.0)
        for table, sums in zip(weighted, moments.sums(), strict=True)
    )
    return positive, negative
