r"""The squared loss over pairs of relaxed codes, and its gradient, without a loop over pairs.

Codes are relaxed to real numbers: :math:`h_i` for the rows of the first view and :math:`g_j` for the
rows of the second, both of length m. The loss is

.. math:: \frac{w}{|P|} \sum_{(i, j) \in P} \left(\tfrac1m h_i^T g_j - 1\right)^2
          + \frac{1}{|N|} \sum_{(i, j) \in N} \left(\tfrac1m h_i^T g_j - t\right)^2

Each set is divided by its size, so the weight of a set does not depend on how many pairs it has. With
labels, positives may instead have *weights per query*: a pair has the weight
:math:`\frac1{2n} \frac1{a_i} + \frac1{2n'} \frac1{b_j}`, where :math:`a_i` and :math:`b_j` count the positives
of its two objects. Every object then has the same weight as a query. Otherwise an object of a large
class would have a larger weight. Listed pairs may have weights of their own, which are divided by their sum.

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
from ..types import FloatArray, IntArray, PairIndex

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
    per_query : bool
        Whether positives have weights per query. This needs positives that are implied by labels.

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
        self,
        pairs: ResolvedPairs,
        n_bits: int,
        negative_target: float,
        positive_weight: float = 1.0,
        *,
        per_query: bool = False,
    ) -> None:
        m = n_bits
        v = 1.0 / max(pairs.n_negative, 1)
        # Coefficients of a positive pair of weight 1, and of a negative pair without a weight.
        positive = positive_weight * np.array([1.0 / m**2, -2.0 / m])
        negative = np.array([v / m**2, -2 * v * negative_target / m])
        self.constant = positive_weight + negative_target**2
        self._all_pairs = np.zeros(2)
        self._aligned_rows = np.zeros(2)
        self._listed: list[tuple[PairIndex, FloatArray]] = []
        # Of a pair of similar groups g, h: the sum of entry g of the first table and h of the second.
        self._similar_groups: list[FloatArray] = []
        self._groups = _GroupSums(pairs.groups) if pairs.groups is not None else None
        if pairs.negative is not None:
            self._listed.append((pairs.negative, _by_pair(negative, pairs.negative_weights)))
        else:
            self._all_pairs += negative / (2 if pairs.one_view else 1)
        self._add_positives(pairs, positive, negative, per_query=per_query)
        self._one_view = pairs.one_view
        self._matrices = [
            scipy.sparse.csr_array((np.ones(len(i)), (i, j)), shape=(pairs.n_x, pairs.n_y))
            for (i, j), _ in self._listed
        ]

    def _add_positives(
        self, pairs: ResolvedPairs, positive: FloatArray, negative: FloatArray, *, per_query: bool
    ) -> None:
        # Implied negatives are all pairs except the positives, so positives also subtract `negative`.
        implied = np.zeros(2) if pairs.negative is not None else negative
        uniform = _by_pair(positive / max(pairs.n_positive, 1), pairs.positive_weights)
        if pairs.groups is not None and (pairs.positive is None or pairs.labelled):
            # Negatives are all pairs without a common label, whichever positives were drawn.
            weights: list[FloatArray] = [np.zeros(pairs.groups.n_groups)] * 2
            if pairs.positive is None:
                weights = _positive_weights(pairs, per_query=per_query)
            # Sums over the groups of one view have every pair twice.
            share = 0.25 if pairs.one_view else 0.5
            self._similar_groups = [np.outer(w, positive) - share * implied for w in weights]
            if pairs.positive is not None:
                self._listed.append((pairs.positive, uniform))
        elif pairs.aligned:
            self._aligned_rows += uniform - implied
        else:
            assert pairs.positive is not None, "without labels the positives are always listed"
            self._listed.append((pairs.positive, uniform - implied))

    def __call__(self, H: FloatArray, G: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """The loss, and its gradients with respect to the codes of both sides, in the dtype of the codes."""
        loss = self.constant
        if self._all_pairs.any():
            value, dH, dG = _sum_over_all_pairs(H, G, self._all_pairs)
            loss += value
        else:
            dH, dG = np.zeros_like(H), np.zeros_like(G)
        if self._similar_groups:
            assert self._groups is not None
            loss += self._groups.add(H, G, dH, dG, *self._similar_groups)
        if self._aligned_rows.any():
            loss += _add_rows(H, G, dH, dG, slice(None), *self._aligned_rows)
        if self._one_view:
            loss += self._subtract_self_pairs(H, G, dH, dG)
        for (index, coefficients), matrix in zip(self._listed, self._matrices, strict=True):
            loss += _add_listed(H, G, dH, dG, index, matrix, coefficients)
        return float(loss), dH, dG

    def _subtract_self_pairs(self, H: FloatArray, G: FloatArray, dH: FloatArray, dG: FloatArray) -> float:
        """Take the pair of each row with itself out of the sums over one view; return the change of the loss."""
        loss = 0.0
        if self._all_pairs.any():
            loss += _add_rows(H, G, dH, dG, slice(None), *(-self._all_pairs))
        if self._similar_groups:
            assert self._groups is not None
            of_group = -(self._similar_groups[0] + self._similar_groups[1])
            rows = np.flatnonzero(self._groups.self_related)
            loss += _add_rows(H, G, dH, dG, rows, *of_group[self._groups.groups.x[rows]].T)
        return loss


def _by_pair(uniform: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Coefficients of pairs without weights, of shape (2,), or with weights, of shape (n_pairs, 2)."""
    if weights is None or not len(weights):
        return uniform
    return np.outer(weights / weights.mean(), uniform)


def _positive_weights(pairs: ResolvedPairs, *, per_query: bool) -> list[FloatArray]:
    """For each view and group, its part of the weight of a positive pair; see :class:`PairLoss`."""
    groups = pairs.groups
    assert groups is not None
    if not per_query:
        share = (0.25 if pairs.one_view else 0.5) / max(pairs.n_positive, 1)
        return [np.full(groups.n_groups, share)] * 2
    sizes = [np.bincount(side, minlength=groups.n_groups).astype(np.float64) for side in (groups.x, groups.y)]
    weights: list[FloatArray] = []
    for own, other in (sizes, sizes[::-1]):
        n_positives = groups.related(other[:, None])[:, 0] - groups.self_related() * pairs.one_view
        n_queries = own @ (n_positives > 0)
        weights.append(0.5 * (n_positives > 0) / np.maximum(n_queries * n_positives, 1))
    return weights


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


def _add_rows(H: Any, G: Any, dH: Any, dG: Any, rows: Any, q: Any, c: Any) -> float:
    """Add the gradients of pairs (row r of H, row r of G) in place; return the loss.

    The coefficients are numbers, or one for each pair.
    """
    products = np.einsum("ij,ij->i", H[rows], G[rows]).astype(np.float64)
    slope = (2 * q * products + c).astype(H.dtype)[:, None]
    dH[rows] += slope * G[rows]
    dG[rows] += slope * H[rows]
    return float(np.sum(q * products**2 + c * products))


def _add_listed(
    H: Any, G: Any, dH: Any, dG: Any, index: PairIndex, matrix: Any, coefficients: FloatArray
) -> float:
    """Add the gradients of listed pairs in place; return the loss. ``matrix`` has an entry per pair.

    The coefficients are (q, c), or one such row for each pair.
    """
    q, c = coefficients.T
    products = np.einsum("ij,ij->i", H[index[0]], G[index[1]])
    # The pairs of a resolved list are sorted by row, in the order of the values of a CSR matrix.
    matrix.data = (2 * q * products + c).astype(H.dtype)
    dH += matrix @ G
    dG += matrix.T @ H
    if coefficients.ndim == 1:
        return float(q * float(np.vdot(products, products)) + c * float(products.sum(dtype=np.float64)))
    return float(np.sum(q * np.square(products, dtype=np.float64) + c * products))


class _GroupSums:
    """Sums over the pairs of rows whose groups are similar."""

    def __init__(self, groups: LabelGroups) -> None:
        self.groups = groups
        self._x, self._y = _RowsByGroup(groups.x, groups.n_groups), _RowsByGroup(groups.y, groups.n_groups)
        self.self_related = groups.self_related()[groups.x]

    def add(
        self, H: FloatArray, G: FloatArray, dH: FloatArray, dG: FloatArray, x: FloatArray, y: FloatArray
    ) -> float:
        """Add the gradients in place; return the loss.

        The coefficients of a pair of similar groups g, h are ``x[g] + y[h]``; both arrays have the shape
        (n_groups, 2).
        """
        H, G = self._x.ordered(H), self._y.ordered(G)
        of_h, of_g = self._x.grams(H), self._y.grams(G)
        loss = 0.0
        for_h, for_g = [], []
        for k, (table_h, table_g) in enumerate(zip(of_h, of_g, strict=True)):
            partners_of_h = self._weighted(table_g, x[:, k], y[:, k])
            for_h.append(partners_of_h)
            for_g.append(self._weighted(table_h, y[:, k], x[:, k]))
            loss += float(np.vdot(table_h, partners_of_h))
        self._x.add_products(H, dH, 2 * for_h[0], for_h[1])
        self._y.add_products(G, dG, 2 * for_g[0], for_g[1])
        return loss

    def _weighted(self, table: FloatArray, own: FloatArray, other: FloatArray) -> FloatArray:
        """For each group: the sum of ``(own[g] + other[h]) * table[h]`` over the similar groups h."""
        flat = table.reshape(len(table), -1)
        own, other = (w.astype(table.dtype)[:, None] for w in (own, other))
        if self.groups.sets is None:
            return np.asarray((own + other) * flat).reshape(table.shape)
        return np.asarray(own * self.groups.related(flat) + self.groups.related(other * flat)).reshape(
            table.shape
        )


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
