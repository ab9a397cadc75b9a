r"""Boosting: learn one bit after another, as CM-SSH does.

Every pair has a weight w and a sign s, which is +1 for positives and -1 for negatives. A bit with values
:math:`\xi, \eta \in \{\pm 1\}` on the two sides has the weighted correlation
:math:`r = \sum w s \xi \eta`. It is *maximised* (the paper prints "min"). Pairs that the bit
classifies wrongly get a larger weight for the next bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from ..maps import MappedView
from ..native import joint_counts
from ..pairs.resolved import ResolvedPairs
from ..types import BoolArray, FloatArray, IntArray, PairIndex
from .moments import augmented_product, incidence, shifted
from .thresholds import agreement, search_grid

__all__ = ["PairWeights", "boost", "leading_directions"]

#: Correlations are clipped here: a correlation of 1 would give an infinite alpha.
_LARGEST_CORRELATION = 1 - 1e-9

#: For matrices of at least this size, a few leading directions are found by Lanczos' method.
_MIN_LANCZOS_SIZE = 256


class PairWeights:
    """AdaBoost weights of listed pairs. At the start the weights of each set have the sum 1/2.

    Attributes
    ----------
    index : (i, j), positives before negatives
    signs : float array of shape (n_pairs,), +1 and -1
    weights : float array of shape (n_pairs,), with sum 1
    """

    def __init__(self, positive: PairIndex, negative: PairIndex) -> None:
        n_positive, n_negative = len(positive[0]), len(negative[0])
        self.index: PairIndex = (
            np.concatenate([positive[0], negative[0]]),
            np.concatenate([positive[1], negative[1]]),
        )
        self.signs = np.repeat([1.0, -1.0], [n_positive, n_negative])
        self.weights = np.repeat([0.5 / n_positive, 0.5 / n_negative], [n_positive, n_negative])

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
    x: MappedView,
    y: MappedView,
    pairs: ResolvedPairs,
    *,
    n_bits: int,
    n_directions: int,
    min_share: float,
    n_bins: int,
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray], FloatArray]:
    """Learn bits one by one on listed pairs.

    Parameters
    ----------
    x, y : MappedView
        The same object with one view.
    pairs : ResolvedPairs, both sets listed
    n_bits, n_directions : int
    min_share, n_bins
        See :func:`~diffhash.learning.thresholds.search_grid`.

    Returns
    -------
    projections : arrays of shape (n_bits, n_features), (n_bits, n_features')
    thresholds : arrays of shape (n_bits,), (n_bits,)
    correlations : array of shape (n_bits,)
    """
    assert pairs.positive is not None, "boosting works on listed pairs"
    assert pairs.negative is not None, "boosting works on listed pairs"
    features_x, features_y = x.whole(), y.whole()
    boosted = PairWeights(pairs.positive, pairs.negative)
    partners = _PairMatrix(boosted.index, pairs.n_x, pairs.n_y, features_y.dtype)

    projections = (np.empty((n_bits, features_x.shape[1])), np.empty((n_bits, features_y.shape[1])))
    thresholds = (np.empty(n_bits), np.empty(n_bits))
    correlations = np.empty(n_bits)
    for bit in range(n_bits):
        signed_weights = boosted.weights * boosted.signs
        matrix = partners.matrix(signed_weights)
        moment = augmented_product(
            features_x, matrix @ features_y, np.asarray(matrix.sum(axis=1)).reshape(-1)
        )
        p, q = leading_directions(
            shifted(moment, x.offset, y.offset)[:-1, :-1], n_directions, one_view=pairs.one_view
        )
        values_x = x.project(p.T)
        values_y = None if pairs.one_view else y.project(q.T)
        best = _best_bit(
            values_x, values_y, boosted.index, signed_weights, min_share=min_share, n_bins=n_bins
        )
        correlations[bit] = boosted.update(best.agrees)
        projections[0][bit], projections[1][bit] = p[:, best.direction], q[:, best.direction]
        thresholds[0][bit], thresholds[1][bit] = best.a, best.b
    return projections, thresholds, correlations


@dataclass(frozen=True)
class _Bit:
    """A direction, the thresholds of the two sides, and whether the two sides of each pair agree."""

    direction: int
    a: float
    b: float
    agrees: BoolArray


def _best_bit(
    values_x: FloatArray,
    values_y: FloatArray | None,
    index: PairIndex,
    signed_weights: FloatArray,
    *,
    min_share: float,
    n_bins: int,
) -> _Bit:
    """The direction and the thresholds with the largest weighted correlation.

    Parameters
    ----------
    values_x, values_y : arrays of shape (n, n_directions), (n', n_directions)
        Projections along each candidate direction; ``values_y`` is None for one view.
    index : (i, j)
    signed_weights : array of shape (n_pairs,)
        w s of each pair.
    min_share, n_bins
        See :func:`~diffhash.learning.thresholds.search_grid`.
    """
    i, j = index

    def loss(bins_x: IntArray, bins_y: IntArray) -> FloatArray:
        """Minus the weighted correlation at every threshold pair of the grid."""
        counts = joint_counts(
            bins_x=bins_x, bins_y=bins_y, index=index, n_bins=n_bins, weights=signed_weights
        )
        return np.asarray(signed_weights.sum() - 2 * agreement(counts))

    a, b, lowest = search_grid(values_x, values_y, loss, min_share=min_share, n_bins=n_bins)
    best = int(lowest.argmin())
    bits_x = values_x[:, best] + a[best] >= 0
    bits_y = bits_x if values_y is None else values_y[:, best] + b[best] >= 0
    return _Bit(best, a[best], b[best], bits_x.take(i) == bits_y.take(j))


class _PairMatrix:
    """Sparse matrix with one entry per pair. The values change from bit to bit, the positions do not."""

    def __init__(self, index: PairIndex, n_x: int, n_y: int, dtype: Any) -> None:
        self._order = np.lexsort((index[1], index[0]))
        self._matrix = incidence((index[0][self._order], index[1][self._order]), n_x, n_y, dtype)

    def matrix(self, values: FloatArray) -> Any:
        """The matrix with these values, in the order of the pairs. The next call overwrites it."""
        self._matrix.data[:] = values[self._order]
        return self._matrix
