r"""The squared loss over pairs of relaxed codes, and its gradient, without a loop over pairs.

Codes are relaxed to real numbers: :math:`h_i` for the rows of the first view and :math:`g_j` for the
rows of the second, both of length m. The loss is

.. math:: \frac{w}{|P|} \sum_{(i, j) \in P} \left(\tfrac1m h_i^T g_j - 1\right)^2
          + \frac{1}{|N|} \sum_{(i, j) \in N} \left(\tfrac1m h_i^T g_j - t\right)^2

Each set is divided by its size, so the weight of a set does not depend on how many pairs it has.
Expanding the squares leaves sums of :math:`(h_i^T g_j)^2` and of :math:`h_i^T g_j`. Over all pairs these
are :math:`\langle H^T H, G^T G \rangle` and :math:`(\sum h)^T (\sum g)`. Over the pairs that labels make
similar they are the same, group by group. The cost is linear in the number of objects, and implied pairs
are neither listed nor sampled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from ..pairs.labels import LabelGroups
from ..pairs.resolved import ResolvedPairs
from ..types import BoolArray, FloatArray, IntArray, PairIndex

__all__ = ["PairLoss"]


class PairLoss:
    """The squared loss over pairs of relaxed codes, and its gradient.

    Parameters
    ----------
    pairs : ResolvedPairs
    n_bits : int
    negative_target : float
        t: the desired value of the normalised product of dissimilar codes, -1 to 1.
    positive_weight : float
        w: weight of the positive term; the negative term has weight 1.

    Examples
    --------
    Two objects whose codes are equal to the partner's code and opposite to the other code:

    >>> from diffhash import Pairs
    >>> codes = np.array([[1.0, 1.0], [-1.0, -1.0]])
    >>> PairLoss(Pairs.aligned(2).resolve(2, 2), 2, -1.0)(codes, codes)[0]
    0.0
    """

    # A pair of coefficients (q, c) stands for the sum of q (h^T g)^2 + c h^T g over a set of pairs.

    def __init__(
        self, pairs: ResolvedPairs, n_bits: int, negative_target: float, positive_weight: float = 1.0
    ) -> None:
        m = n_bits
        w = positive_weight / max(pairs.n_positive, 1)
        v = 1.0 / max(pairs.n_negative, 1)
        positive = np.array([w / m**2, -2 * w / m])
        negative = np.array([v / m**2, -2 * v * negative_target / m])
        self.constant = positive_weight + negative_target**2
        self._all_pairs = np.zeros(2)
        self._similar_pairs = np.zeros(2)
        self._aligned_rows = np.zeros(2)
        self._self_pairs: list[tuple[BoolArray | slice, FloatArray]] = []
        self._listed: list[tuple[PairIndex, FloatArray]] = []
        self._groups = _GroupSums(pairs.groups) if pairs.groups is not None else None
        self._add_negatives(pairs, negative)
        self._add_positives(pairs, positive, negative)
        if pairs.one_view:
            self._count_unordered_pairs()
        self._matrices = [
            scipy.sparse.csr_array((np.ones(len(i)), (i, j)), shape=(pairs.n_x, pairs.n_y))
            for (i, j), _ in self._listed
        ]

    def _add_negatives(self, pairs: ResolvedPairs, negative: FloatArray) -> None:
        if pairs.negative is not None:
            self._listed.append((pairs.negative, negative))
        else:
            self._all_pairs += negative

    def _add_positives(self, pairs: ResolvedPairs, positive: FloatArray, negative: FloatArray) -> None:
        # Implied negatives are all pairs except the positives, so positives also subtract `negative`.
        corrected = positive if pairs.negative is not None else positive - negative
        if pairs.positive is None:
            self._similar_pairs += corrected
        elif pairs.labelled:
            # Negatives are all pairs without a common label, whichever positives were drawn.
            self._similar_pairs -= negative
            self._listed.append((pairs.positive, positive))
        elif pairs.aligned:
            self._aligned_rows += corrected
        else:
            self._listed.append((pairs.positive, corrected))

    def _count_unordered_pairs(self) -> None:
        """Halve the sums over ordered pairs and leave out the pair of each row with itself."""
        self._all_pairs /= 2
        self._similar_pairs /= 2
        if self._all_pairs.any():
            self._self_pairs.append((slice(None), -self._all_pairs))
        if self._similar_pairs.any():
            assert self._groups is not None
            self._self_pairs.append((self._groups.self_related, -self._similar_pairs))

    def __call__(self, H: FloatArray, G: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """The loss, and its gradients with respect to the codes of both sides, in the dtype of the codes."""
        loss = self.constant
        if self._all_pairs.any():
            value, dH, dG = _sum_over_all_pairs(H, G, self._all_pairs)
            loss += value
        else:
            dH, dG = np.zeros_like(H), np.zeros_like(G)
        if self._similar_pairs.any():
            assert self._groups is not None
            loss += self._groups.add(H, G, dH, dG, *self._similar_pairs.tolist())
        if self._aligned_rows.any():
            loss += _add_rows(H, G, dH, dG, slice(None), self._aligned_rows)
        for rows, coefficients in self._self_pairs:
            loss += _add_rows(H, G, dH, dG, rows, coefficients)
        for (index, coefficients), matrix in zip(self._listed, self._matrices, strict=True):
            loss += _add_listed(H, G, dH, dG, index, matrix, coefficients)
        return float(loss), dH, dG


def _sum_over_all_pairs(
    H: FloatArray, G: FloatArray, coefficients: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Loss and new gradient arrays of all pairs of rows."""
    # Plain floats: NumPy scalars would turn float32 arrays into float64.
    q, c = coefficients.tolist()
    gram_h, gram_g = H.T @ H, G.T @ G
    sum_h, sum_g = H.sum(axis=0, dtype=np.float64), G.sum(axis=0, dtype=np.float64)
    loss = q * float(np.vdot(gram_h, gram_g)) + c * float(sum_h @ sum_g)
    dH, dG = H @ (2 * q * gram_g), G @ (2 * q * gram_h)
    dH += (c * sum_g).astype(H.dtype)
    dG += (c * sum_h).astype(G.dtype)
    return loss, dH, dG


def _add_rows(H: Any, G: Any, dH: Any, dG: Any, rows: Any, coefficients: FloatArray) -> float:
    """Add the gradients of pairs (row r of H, row r of G) in place; return the loss."""
    q, c = coefficients.tolist()
    products = np.einsum("ij,ij->i", H[rows], G[rows])
    slope = (2 * q * products + c).astype(H.dtype)[:, None]
    dH[rows] += slope * G[rows]
    dG[rows] += slope * H[rows]
    return float(q * np.vdot(products, products) + c * products.sum(dtype=np.float64))


def _add_listed(
    H: Any, G: Any, dH: Any, dG: Any, index: PairIndex, matrix: Any, coefficients: FloatArray
) -> float:
    """Add the gradients of listed pairs in place; return the loss. ``matrix`` has an entry per pair."""
    q, c = coefficients
    products = np.einsum("ij,ij->i", H[index[0]], G[index[1]])
    # The pairs of a resolved list are sorted by row, in the order of the values of a CSR matrix.
    matrix.data = (2 * q * products + c).astype(H.dtype)
    dH += matrix @ G
    dG += matrix.T @ H
    return float(q * float(np.vdot(products, products)) + c * float(products.sum(dtype=np.float64)))


class _GroupSums:
    """Sums over the pairs of rows whose groups are similar."""

    def __init__(self, groups: LabelGroups) -> None:
        self.groups = groups
        self._x, self._y = _RowsByGroup(groups.x, groups.n_groups), _RowsByGroup(groups.y, groups.n_groups)
        self.self_related = groups.self_related()[groups.x]

    def add(self, H: FloatArray, G: FloatArray, dH: FloatArray, dG: FloatArray, q: float, c: float) -> float:
        """Add the gradients in place; return the loss."""
        m = H.shape[1]
        H, G = self._x.ordered(H), self._y.ordered(G)
        grams_h, sums_h = self._x.grams(H)
        grams_g, sums_g = self._y.grams(G)
        # For each group: the sums over all rows of similar groups.
        similar_grams_g, similar_grams_h = (
            self.groups.related(t.reshape(len(t), -1)).reshape(-1, m, m) for t in (grams_g, grams_h)
        )
        similar_sums_g, similar_sums_h = self.groups.related(sums_g), self.groups.related(sums_h)
        self._x.add_products(H, dH, 2 * q * similar_grams_g, c * similar_sums_g)
        self._y.add_products(G, dG, 2 * q * similar_grams_h, c * similar_sums_h)
        return q * float(np.vdot(grams_h, similar_grams_g)) + c * float(np.vdot(sums_h, similar_sums_g))


class _RowsByGroup:
    """Rows sorted by group, so that each group is one slice."""

    def __init__(self, groups: IntArray, n_groups: int) -> None:
        self._order = np.argsort(groups, kind="stable")
        ends = np.cumsum(np.bincount(groups, minlength=n_groups))
        starts = np.r_[0, ends[:-1]]
        self._n_groups = n_groups
        self._slices = [(g, slice(a, b)) for g, (a, b) in enumerate(zip(starts, ends, strict=True)) if b > a]

    def ordered(self, H: FloatArray) -> FloatArray:
        """The rows, sorted by group."""
        return np.asarray(H[self._order])

    def grams(self, ordered: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gram matrix (n_groups, m, m) and sum (n_groups, m) of the rows of each group."""
        m, dtype = ordered.shape[1], ordered.dtype
        grams, sums = np.zeros((self._n_groups, m, m), dtype), np.zeros((self._n_groups, m), dtype)
        for g, rows in self._slices:
            block = ordered[rows]
            np.matmul(block.T, block, out=grams[g])
            block.sum(axis=0, out=sums[g])
        return grams, sums

    def add_products(
        self, ordered: FloatArray, target: FloatArray, matrices: FloatArray, vectors: FloatArray
    ) -> None:
        """Add ``h @ matrices[g] + vectors[g]`` to the rows of each group g."""
        matrices, vectors = matrices.astype(ordered.dtype), vectors.astype(ordered.dtype)
        products = np.empty_like(ordered)
        for g, rows in self._slices:
            np.matmul(ordered[rows], matrices[g], out=products[rows])
            products[rows] += vectors[g]
        target[self._order] += products
