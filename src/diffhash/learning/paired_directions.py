r"""Regularised canonical correlation analysis: directions of all views along which partners agree.

Let :math:`z` and :math:`z'` be coordinates along the principal components of the two views, with variances
:math:`s` and :math:`s'`, and M the mean of :math:`z z'^T` over the positive pairs minus its mean over the
negative pairs. The directions are the singular vectors of

.. math:: \mathrm{diag}(s + \lambda s_1)^{-1/2} \, M \, \mathrm{diag}(s' + \lambda' s'_1)^{-1/2},

and their strengths are the singular values. The ridges :math:`\lambda, \lambda'` damp components with little
variance, whose correlations are mostly chance.

With several couples of views, each couple has such a matrix, times its weight. All of them are the blocks of one
symmetric matrix, and its eigenvectors of the largest eigenvalues, split by view, are the directions
(:mod:`.block_difference`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.optimize import isotonic_regression

from ..maps import LinearMap, MappedView
from ..pairs.couples import ResolvedCouple, ResolvedCouples
from ..types import FloatArray, PairIndex
from .block_difference import BlockMatrix, block_directions
from .moments import incidence
from .view_difference import DifferenceSettings, view_difference

__all__ = [
    "PAIR_SETTINGS",
    "PairedDirections",
    "PrincipalAxes",
    "covariance_blocks",
    "decreasing_strengths",
    "held_out_strengths",
    "pair_covariance",
    "paired_directions",
]

#: Covariances of pairs: positives minus negatives. Separate sums also work if one of the two sets is empty.
PAIR_SETTINGS = DifferenceSettings(gamma=1.0, separate_sums=True)
#: Components whose variance is below this share of the largest are left out.
_SMALLEST_VARIANCE = 1e-7
#: Directions whose strength is below this share of the largest are left out.
_SMALLEST_STRENGTH = 1e-6
#: With more features than this, the components come from at most this many rows.
_MAX_SIZE = 2048


@dataclass(frozen=True)
class PrincipalAxes:
    """Principal components of the features of a view.

    Attributes
    ----------
    mean : array of shape (n_features,)
        What remains to be subtracted from the mapped features.
    directions : float64 array of shape (n_features, rank)
    variances : float64 array of shape (rank,)
        Variances along the directions, decreasing, all above zero.
    """

    mean: FloatArray
    directions: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, view: MappedView, max_rank: int, *, by_rows: bool = False) -> PrincipalAxes:
        """Components of all rows. No matrix is larger than 2,048 features or rows squared.

        With more features than rows, or if ``by_rows``, the components are computed in the space of the rows. With more
        than 2,048 features, at most 2,048 rows are used.

        Examples
        --------
        >>> X = np.array([[3.0, 0.0], [-1.0, 0.0], [1.0, 0.1], [1.0, -0.1]])
        >>> axes = PrincipalAxes.of(MappedView(X, LinearMap(np.zeros(2))), max_rank=2)
        >>> axes.mean, axes.variances
        (array([1., 0.]), array([2.   , 0.005]))
        """
        n, d = view.n_rows, view.n_features
        if by_rows or d > min(n, _MAX_SIZE):
            step = -(-n // _MAX_SIZE)
            return cls._in_row_space(view if step == 1 else MappedView(view.X[::step], view.map), max_rank)
        second, total = np.zeros((d, d)), np.zeros(d)
        for _, block in view.blocks():
            product = _finite_product(block.T, block)
            second += product
            total += _column_sums(block)
        mean = total / n
        variances, directions = _leading(second / n - np.outer(mean, mean), max_rank)
        return cls(mean - view.offset, directions, variances)

    @classmethod
    def _in_row_space(cls, view: MappedView, max_rank: int) -> PrincipalAxes:
        features, n = view.whole(), view.n_rows
        mean = _column_sums(features) / n
        gram = _finite_product(features, features.T)
        towards_mean = np.asarray(features @ mean)
        gram = gram - towards_mean[:, None] - towards_mean + mean @ mean
        variances, vectors = _leading(gram / n, max_rank)
        scaled = vectors / np.sqrt(n * variances)
        directions = np.asarray(features.T @ scaled) - np.outer(mean, scaled.sum(axis=0))
        return cls(mean - view.offset, directions, variances)

    def coordinates(self, view: MappedView) -> FloatArray:
        """Coordinates of rows along the components, of shape (n, rank)."""
        return view.project(self.directions.T, -self.mean @ self.directions)

    def scales(self, ridge: float) -> FloatArray:
        """Factors of the coordinates that make their variances nearly equal, of shape (rank,)."""
        return np.asarray(1.0 / np.sqrt(self.variances + ridge * self.variances[0]))

    def normalised(self) -> PrincipalAxes:
        """The same axes in units in which the largest variance is 1. Features may be as large as 1e30."""
        unit = float(np.sqrt(self.variances[0]))
        return PrincipalAxes(self.mean, self.directions / unit, self.variances / unit**2)

    def measured_on(self, coordinates: FloatArray) -> PrincipalAxes:
        """The same axes with the variances of the given coordinates."""
        return self.with_variances(coordinates.var(axis=0, dtype=np.float64))

    def with_variances(self, variances: FloatArray) -> PrincipalAxes:
        """The same axes with other variances; none is negligible beside the largest one."""
        variances = np.maximum(variances, _SMALLEST_VARIANCE * (variances.max() or 1.0))
        return PrincipalAxes(self.mean, self.directions, variances)


@dataclass(frozen=True)
class PairedDirections:
    """Directions in the scaled coordinates of each view, with their strengths.

    Attributes
    ----------
    parts : tuple of arrays of shape (rank, n_directions)
        For each view, columns of unit length. With several couples, the columns are shorter in views that say less
        about a direction: the value of a view is then its best guess of the sum of the others, up to a factor for
        all views.
    strengths : array of shape (n_directions,), decreasing
    """

    parts: tuple[FloatArray, ...]
    strengths: FloatArray


def pair_covariance(values: Sequence[FloatArray], couple: ResolvedCouple) -> FloatArray:
    """Mean product of coordinates over the positive pairs minus that over the negatives, (rank, rank').

    Parameters
    ----------
    values : list of arrays of shape (n, rank)
        Coordinates of each view.
    couple : ResolvedCouple
    """
    x, y = (MappedView(values[side], LinearMap(np.zeros(values[side].shape[1]))) for side in couple.sides)
    return np.asarray(-view_difference(x, x if couple.within else y, couple.pairs, PAIR_SETTINGS))


def covariance_blocks(
    values: Sequence[FloatArray],
    couples: ResolvedCouples,
    covariance: Callable[[Sequence[FloatArray], ResolvedCouple], FloatArray] = pair_covariance,
) -> BlockMatrix:
    """The covariances of all couples, times their weights."""
    blocks = {couple.sides: couple.weight * covariance(values, couple) for couple in couples}
    return BlockMatrix(tuple(each.shape[1] for each in values), blocks)


def paired_directions(
    covariances: BlockMatrix, scales: Sequence[FloatArray], max_directions: int
) -> PairedDirections:
    """The leading eigenvectors of the scaled covariances; with one couple of two views, singular vectors.

    Parameters
    ----------
    covariances : BlockMatrix
        See :func:`covariance_blocks`.
    scales : list of arrays of shape (rank,)
        Of each view, see :meth:`PrincipalAxes.scales`.
    max_directions : int

    Examples
    --------
    >>> covariances = BlockMatrix((2, 2), {(0, 1): np.diag([0.2, 0.9])})
    >>> found = paired_directions(covariances, [np.ones(2), np.ones(2)], max_directions=1)
    >>> abs(found.parts[0].T).round(6), found.strengths.round(6)
    (array([[0., 1.]]), array([0.9]))
    """
    if len(covariances.blocks) > 1:
        return _joint_directions(covariances.scaled(scales), max_directions)
    (covariance,) = covariances.blocks.values()
    matrix = scales[0][:, None] * covariance * scales[-1]
    if len(scales) == 1:
        strengths, vectors = _decreasing((matrix + matrix.T) / 2, max_directions)
        kept = _strong(strengths)
        return PairedDirections((vectors[:, kept],), np.maximum(strengths[kept], 0.0))
    flip = matrix.shape[0] > matrix.shape[1]
    matrix = matrix.T if flip else matrix
    squares, left = _decreasing(matrix @ matrix.T, max_directions)
    strengths = np.sqrt(np.maximum(squares, 0.0))
    kept = _strong(strengths)
    left, strengths = left[:, kept], strengths[kept]
    right = matrix.T @ left / np.maximum(strengths, np.finfo(np.float64).tiny)
    return PairedDirections((right, left) if flip else (left, right), strengths)


def _joint_directions(matrix: BlockMatrix, max_directions: int) -> PairedDirections:
    r"""Eigenvectors of the largest eigenvalues of several couples, split by view.

    With blocks :math:`M_{uv}` of whitened views, an eigenvector has :math:`\mu a_u = \sum_v M_{uv} a_v`: the part of a
    view is, up to the factor :math:`\mu`, its ridge regression to the sum of the other views. A view that knows
    nothing about a direction has a short part. At unit length it would be noise, as loud as the rest.
    """
    opposite = BlockMatrix(
        matrix.sizes, {(u, v): -(b + b.T) / 2 if u == v else -b for (u, v), b in matrix.blocks.items()}
    )
    found = block_directions(opposite, max_directions, exact=False)
    assert found.lengths is not None, "several couples give lengths"
    kept = _strong(found.strengths)
    parts = tuple(
        (part * of_view[:, None])[kept].T for part, of_view in zip(found.parts, found.lengths, strict=True)
    )
    return PairedDirections(parts, found.strengths[kept])


def held_out_strengths(values: Sequence[FloatArray], couples: ResolvedCouples) -> FloatArray:
    """Strengths of directions on objects that did not take part in learning them, (n_views, n_directions).

    For each direction: the mean product of the values over the positive pairs, minus that over the negative
    pairs, in units of the standard deviations. With aligned rows this is nearly the correlation. Strengths
    on the learning objects are too large if features are many. A view has the weighted mean over its couples: one
    view may say nothing along a direction that two others share.

    Parameters
    ----------
    values : list of arrays of shape (n, n_directions)
        Values of new objects of each view along the directions.
    couples : ResolvedCouples
    """
    deviations = [side.std(axis=0, dtype=np.float64) for side in values]
    found, total = np.zeros((len(values), len(deviations[0]))), np.zeros((len(values), 1))
    for couple in couples:
        covariances = _column_covariances(values, couple)
        spread = deviations[couple.first] * deviations[couple.second]
        strengths = np.divide(covariances, spread, out=np.zeros(len(spread)), where=spread > 0)
        for side in set(couple.sides):
            found[side] += couple.weight * strengths
            total[side] += couple.weight
    return np.asarray(found / np.where(total > 0, total, 1.0))


def _column_covariances(values: Sequence[FloatArray], couple: ResolvedCouple) -> FloatArray:
    """The diagonal of :func:`pair_covariance`, without the rest of the matrix."""
    pairs, scheme = couple.pairs, couple.pairs.scheme
    x, y = (values[side] - values[side].mean(axis=0, dtype=np.float64) for side in couple.sides)

    def listed(index: PairIndex | None, weights: FloatArray | None) -> FloatArray:
        if index is None:
            return np.zeros(x.shape[1])
        if pairs.aligned and index is pairs.positive and weights is None:
            return np.asarray(np.einsum("ij,ij->j", x, y))
        return np.asarray(np.einsum("ij,ij->j", x, incidence(index, len(x), len(y), x.dtype, weights) @ y))

    def related() -> FloatArray:
        groups = scheme.groups
        assert groups is not None, "labels imply the pairs"
        of_x, of_y = (
            incidence((of_rows, np.arange(len(of_rows))), groups.n_groups, len(of_rows), np.float64) @ rows
            for of_rows, rows in ((groups.x, x), (groups.y, y))
        )
        products = np.einsum("ij,ij->j", of_x, groups.related(of_y))
        return without_self(products, groups.self_related()[groups.x] if pairs.one_view else None)

    def without_self(products: FloatArray, rows: Any) -> FloatArray:
        """With one view, the sums over unordered pairs of different rows, from those over all ordered pairs."""
        return (products - (x[rows] ** 2).sum(axis=0)) / 2 if pairs.one_view else products

    # The sums over all pairs are products of the sums of centred rows, which are zero.
    positive, negative = scheme.compose(
        listed(pairs.positive, pairs.positive_weights),
        listed(pairs.negative, pairs.negative_weights),
        related,
        lambda: without_self(np.zeros(x.shape[1]), slice(None)),
        listed(pairs.positive, None) if scheme.counts_positives else None,
    )
    return positive / (pairs.positive_mass or 1.0) - negative / (pairs.negative_mass or 1.0)


def decreasing_strengths(strengths: list[FloatArray]) -> FloatArray:
    """Mean of held-out strengths over several splits, made decreasing and never negative.

    Directions of different splits differ, but the first ones of each are its strongest. Single held-out
    strengths are noisy; the nearest decreasing sequence averages neighbours.

    Parameters
    ----------
    strengths : list of arrays of shape (n_views, n_directions)
        Of each split, see :func:`held_out_strengths`.

    Examples
    --------
    >>> decreasing_strengths([np.array([[0.9, 0.3, 0.5, -0.1]])])
    array([[0.9, 0.4, 0.4, 0. ]])
    """
    n = min(of_split.shape[1] for of_split in strengths)
    mean = np.mean([of_split[:, :n] for of_split in strengths], axis=0)
    decreasing = [isotonic_regression(of_view, increasing=False).x for of_view in mean]
    return np.asarray(np.clip(decreasing, 0.0, 1.0))


def _strong(strengths: FloatArray) -> Any:
    """Which strengths are not negligible; the first one always counts."""
    kept = strengths > _SMALLEST_STRENGTH * max(strengths[0], np.finfo(np.float64).tiny)
    kept[0] = True
    return kept


def _leading(matrix: FloatArray, max_rank: int) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of a covariance that are not negligible, decreasing, and their eigenvectors."""
    values, vectors = _decreasing(matrix, max_rank)
    if values[0] <= np.finfo(np.float64).tiny:
        # All rows are equal: any direction will do, and all coordinates along it are zero.
        return np.ones(1), np.ascontiguousarray(vectors[:, :1])
    n_kept = int((values > _SMALLEST_VARIANCE * values[0]).sum())
    return values[:n_kept].copy(), np.ascontiguousarray(vectors[:, :n_kept])


def _decreasing(matrix: FloatArray, n_largest: int) -> tuple[FloatArray, FloatArray]:
    """The largest eigenvalues of a symmetric matrix and their eigenvectors."""
    n = len(matrix)
    if n_largest < n // 3:
        values, vectors = scipy.linalg.eigh(
            matrix, subset_by_index=[n - n_largest, n - 1], check_finite=False
        )
    else:
        # The same routine as SciPy's, but it releases the interpreter lock: settings are compared in threads.
        values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:n_largest], vectors[:, ::-1][:, :n_largest]


def _finite_product(a: Any, b: Any) -> FloatArray:
    """Matrix product in float64; if the squares of float32 numbers overflow, they are converted before."""
    with np.errstate(over="ignore", invalid="ignore"):
        product = a @ b
    product = np.asarray(product.toarray() if scipy.sparse.issparse(product) else product)
    if not np.isfinite(product).all():
        product = a.astype(np.float64) @ b.astype(np.float64)
        product = np.asarray(product.toarray() if scipy.sparse.issparse(product) else product)
    return product.astype(np.float64)


def _column_sums(matrix: Any) -> FloatArray:
    return np.asarray(matrix.sum(axis=0, dtype=np.float64)).reshape(-1)
