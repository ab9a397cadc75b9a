r"""Boosting: learn one bit after another, as CM-SSH does.

Every pair has a weight w and a sign s, which is +1 for positives and -1 for negatives. A bit with values
:math:`\xi, \eta \in \{\pm 1\}` on the two sides has the weighted correlation
:math:`r = \sum w s \xi \eta`. It is *maximised* (the paper prints "min"). Pairs that the bit
classifies wrongly get a larger weight for the next bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from ..maps import MappedView
from ..native import joint_counts
from ..pairs.couples import ResolvedCouples
from ..types import BoolArray, FloatArray, IntArray, PairIndex
from .block_difference import BlockMatrix, block_directions
from .joint_thresholds import search_couples
from .moments import augmented_product, incidence, shifted
from .projections import row_signs
from .thresholds import agreement, search_grid

__all__ = ["PairWeights", "boost", "leading_directions"]

#: Correlations are clipped here: a correlation of 1 would give an infinite alpha.
_LARGEST_CORRELATION = 1 - 1e-9

#: For matrices of at least this size, a few leading directions are found by Lanczos' method.
_MIN_LANCZOS_SIZE = 256


class PairWeights:
    """AdaBoost weights of the listed pairs of one or more couples.

    At the start the weights of a couple are proportional to its own weight, half on the positives and half on
    the negatives, within each set by the weights of the pairs.

    Attributes
    ----------
    indices : list of (i, j)
        For each couple, positives before negatives.
    signs : float array of shape (n_pairs,), +1 and -1
        Of the pairs of all couples, one couple after another.
    weights : float array of shape (n_pairs,), with sum 1
    """

    def __init__(self, couples: ResolvedCouples) -> None:
        self.indices: list[PairIndex] = []
        signs, weights = [], []
        total = sum(couple.weight for couple in couples)
        for couple in couples:
            pairs = couple.pairs
            assert pairs.positive is not None, "boosting works on listed pairs"
            assert pairs.negative is not None, "boosting works on listed pairs"
            i, j = (np.concatenate(sides) for sides in zip(pairs.positive, pairs.negative, strict=True))
            self.indices.append((i, j))
            signs.append(np.repeat([1.0, -1.0], [pairs.n_positive, pairs.n_negative]))
            share = couple.weight / total
            for n, mass, given in (
                (pairs.n_positive, pairs.positive_mass, pairs.positive_weights),
                (pairs.n_negative, pairs.negative_mass, pairs.negative_weights),
            ):
                weights.append((np.ones(n) if given is None else given) * (share * 0.5 / mass))
        self.signs, self.weights = np.concatenate(signs), np.concatenate(weights)
        self._ends = np.cumsum([len(i) for i, _ in self.indices])[:-1]

    def by_couple(self, values: FloatArray) -> list[FloatArray]:
        """Values of all pairs, split by couple."""
        return np.split(values, self._ends)

    def update(self, agrees: Any) -> float:
        r"""Reweight after a bit: :math:`w \leftarrow w e^{-\alpha s \xi \eta}`, then normalise.

        Parameters
        ----------
        agrees : bool array of shape (n_pairs,)
            Whether the two sides of each pair have the same bit.

        Returns
        -------
        float
            The bit's weighted correlation r; :math:`\alpha = \frac12 \ln \frac{1 + r}{1 - r}`.
        """
        product = np.where(agrees, self.signs, -self.signs)
        correlation = float(self.weights @ product)
        r = np.clip(correlation, -_LARGEST_CORRELATION, _LARGEST_CORRELATION)
        alpha = 0.5 * np.log((1 + r) / (1 - r))
        self.weights *= np.where(product > 0, np.exp(-alpha), np.exp(alpha))
        self.weights /= self.weights.sum()
        return correlation


def leading_directions(
    moment: FloatArray, n_directions: int, *, one_view: bool
) -> tuple[FloatArray, FloatArray]:
    """Candidate directions for a bit, as columns, in decreasing order of correlation.

    Parameters
    ----------
    moment : array of shape (n_features, n_features')
        Weighted sum of ``w s x y^T``.
    n_directions : int
    one_view : bool
        If True, both sides use the eigenvectors of the largest eigenvalues of the symmetric part.

    Returns
    -------
    arrays of shape (n_features, k), (n_features', k), k at most ``n_directions``
    """
    if one_view:
        d = len(moment)
        last = max(0, d - n_directions)
        _, vectors = scipy.linalg.eigh((moment + moment.T) / 2, subset_by_index=[last, d - 1])
        left = right = vectors[:, ::-1]
    else:
        u, vt = _leading_singular_vectors(moment, n_directions)
        left, right = u[:, :n_directions], vt[:n_directions].T
    largest = np.abs(left).argmax(axis=0)
    signs = np.where(left[largest, np.arange(left.shape[1])] < 0, -1.0, 1.0)
    return left * signs, right * signs


def _leading_singular_vectors(matrix: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """The first n or more left singular vectors (as columns) and right singular vectors (as rows)."""
    if min(matrix.shape) < _MIN_LANCZOS_SIZE or n > min(matrix.shape) // 8:
        u, _, vt = scipy.linalg.svd(matrix, full_matrices=False)
        return u, vt
    # Lanczos' method at full precision. The start is fixed, so a fit is reproducible bit for bit.
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    u, values, vt = scipy.sparse.linalg.svds(matrix, k=n, v0=start, tol=0)
    order = np.argsort(-values)
    return u[:, order], vt[order]


def boost(
    views: Sequence[MappedView],
    couples: ResolvedCouples,
    *,
    n_bits: int,
    n_directions: int,
    min_share: float,
    n_bins: int,
    to_features: Callable[[FloatArray], FloatArray] | None = None,
) -> tuple[list[FloatArray], list[FloatArray], FloatArray]:
    """Learn bits one by one on the listed pairs of all couples.

    Parameters
    ----------
    views : list of MappedView
        One for each modality.
    couples : ResolvedCouples, all sets of pairs listed
    n_bits, n_directions : int
    min_share, n_bins
        See :func:`~diffhash.learning.thresholds.search_grid`.
    to_features : callable, optional
        Turns rows in the coordinates of the first view into rows of features, if the coordinates have arbitrary signs.
        The grid of thresholds is not symmetric, so the signs of directions must be those of the features.

    Returns
    -------
    projections : list of arrays of shape (n_bits, n_features)
        For each modality.
    thresholds : list of arrays of shape (n_bits,)
    correlations : array of shape (n_bits,)
    """
    boosted = PairWeights(couples)
    sums = [
        _PairSum(views[couple.first], views[couple.second], index)
        for couple, index in zip(couples, boosted.indices, strict=True)
    ]
    projections: list[FloatArray] = [np.empty((n_bits, view.n_features)) for view in views]
    thresholds: list[FloatArray] = [np.empty(n_bits) for _ in views]
    correlations = np.empty(n_bits)
    sides = [couple.sides for couple in couples]
    for bit in range(n_bits):
        signed_weights = boosted.by_couple(boosted.weights * boosted.signs)
        moments = [each.product(values) for each, values in zip(sums, signed_weights, strict=True)]
        directions = _candidate_directions(moments, sides, n_directions)
        if to_features is not None:
            signs = row_signs(to_features(directions[0].T))[:, 0]
            directions = [each * signs for each in directions]
        values = [view.project(each.T) for view, each in zip(views, directions, strict=True)]
        best = _best_bit(values, sides, boosted.indices, signed_weights, min_share=min_share, n_bins=n_bins)
        correlations[bit] = boosted.update(best.agrees)
        for side, each in enumerate(directions):
            projections[side][bit] = each[:, best.direction]
            thresholds[side][bit] = best.thresholds[side]
    return projections, thresholds, correlations


def _candidate_directions(
    moments: Sequence[FloatArray], couples: Sequence[tuple[int, int]], n_directions: int
) -> list[FloatArray]:
    """Directions of each modality to try for a bit, as columns; the same column of all belongs together."""
    if len(moments) == 1:
        left, right = leading_directions(moments[0], n_directions, one_view=couples[0] == (0, 0))
        return [left] if couples[0] == (0, 0) else [left, right]
    sizes: dict[int, int] = {}
    for moment, (u, v) in zip(moments, couples, strict=True):
        sizes[u], sizes[v] = moment.shape
    # The weights of the pairs contain the weights of the couples. The correlation is to be large.
    blocks = {
        (u, v): -(moment + moment.T) / 2 if u == v else -moment
        for moment, (u, v) in zip(moments, couples, strict=True)
    }
    matrix = BlockMatrix(tuple(sizes[u] for u in range(len(sizes))), blocks)
    return [part.T for part in block_directions(matrix, n_directions, exact=False).parts]


@dataclass(frozen=True)
class _Bit:
    """A direction, the thresholds of each modality, and whether the two sides of each pair agree."""

    direction: int
    thresholds: list[float]
    agrees: BoolArray


def _best_bit(
    values: Sequence[FloatArray],
    couples: Sequence[tuple[int, int]],
    indices: Sequence[PairIndex],
    signed_weights: Sequence[FloatArray],
    *,
    min_share: float,
    n_bins: int,
) -> _Bit:
    """The direction and the thresholds with the largest weighted correlation.

    Parameters
    ----------
    values : list of arrays of shape (n, n_directions)
        For each modality, projections along each candidate direction.
    couples : list of (u, v)
    indices : list of (i, j)
        For each couple, row numbers of its pairs.
    signed_weights : list of arrays of shape (n_pairs,)
        For each couple, w s of each pair.
    min_share, n_bins
        See :func:`~diffhash.learning.thresholds.search_grid`.
    """

    def loss(number: int, bins_u: IntArray, bins_v: IntArray, n: int) -> FloatArray:
        """Minus the weighted correlation of a couple at every threshold pair of the grid."""
        weights = signed_weights[number]
        counts = joint_counts(bins_x=bins_u, bins_y=bins_v, index=indices[number], n_bins=n, weights=weights)
        return np.asarray(weights.sum() - 2 * agreement(counts))

    if len(couples) == 1:
        y = None if couples[0] == (0, 0) else values[1]

        def only(bins_x: IntArray, bins_y: IntArray) -> FloatArray:
            return loss(0, bins_x, bins_y, n_bins)

        a, b, lowest = search_grid(values[0], y, only, min_share=min_share, n_bins=n_bins)
        thresholds = [a] if y is None else [a, b]
    else:
        thresholds, lowest = search_couples(values, couples, loss, min_share=min_share, n_bins=n_bins)
    best = int(lowest.argmin())
    bits = [each[:, best] + a[best] >= 0 for each, a in zip(values, thresholds, strict=True)]
    agrees = [bits[u].take(i) == bits[v].take(j) for (u, v), (i, j) in zip(couples, indices, strict=True)]
    return _Bit(best, [float(a[best]) for a in thresholds], np.concatenate(agrees))


class _PairSum:
    """The weighted sum of products over the pairs of a couple; the weights change from bit to bit."""

    def __init__(self, x: MappedView, y: MappedView, index: PairIndex) -> None:
        self._x, self._y = x, y
        self._order = np.lexsort((index[1], index[0]))
        sorted_index = index[0][self._order], index[1][self._order]
        self._matrix = incidence(sorted_index, x.n_rows, y.n_rows, y.dtype)

    def product(self, values: FloatArray) -> FloatArray:
        """Sum of ``value * x y^T`` over the pairs, of shape (n_features, n_features')."""
        matrix = self._matrix
        matrix.data[:] = values[self._order]
        sums = matrix @ self._y.whole()
        moment = augmented_product(self._x.whole(), sums, np.asarray(matrix.sum(axis=1)).reshape(-1))
        return shifted(moment, self._x.offset, self._y.offset)[:-1, :-1]
