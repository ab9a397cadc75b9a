r"""Minimising the pairwise loss itself, through a smooth sign.

With codes relaxed to :math:`h_i = \tanh(P z_i + a)` and :math:`g_j = \tanh(Q z'_j + b)`, the loss is

.. math:: \frac{w}{|P|} \sum_{(i, j) \in P} \left(\tfrac1m h_i^T g_j - 1\right)^2
          + \frac{1}{|N|} \sum_{(i, j) \in N} \left(\tfrac1m h_i^T g_j - t\right)^2

so that either set has its mass whatever its size. Expanding the squares leaves sums of
:math:`(h_i^T g_j)^2` and of :math:`h_i^T g_j`. Over all pairs these are
:math:`\langle H^T H, G^T G \rangle` and :math:`(\sum h)^T (\sum g)`, over pairs that labels make similar the
same group by group: linear in the number of objects, with no pair enumerated or sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse

from ..pairs.labels import LabelGroups
from ..pairs.resolved import ResolvedPairs
from ..types import BoolArray, FloatArray, IntArray, PairIndex

__all__ = ["Affine", "PairLoss", "Progress", "refine"]

#: Between two iterations, of a loss that hardly falls.
_HARDLY = 1e-3

#: Called after every iteration with its number and the loss.
Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class Affine:
    """Weights (n_features, n_bits) and offsets (n_bits,) of each side; one side's twice with one view."""

    weights: tuple[FloatArray, FloatArray]
    offsets: tuple[FloatArray, FloatArray]


class PairLoss:
    """The squared pairwise loss of relaxed codes, and its gradient.

    Parameters
    ----------
    pairs : ResolvedPairs
    n_bits : int
    negative_target : float
        t: what the normalised product of dissimilar codes should be, -1 to 1.
    positive_weight : float
        w: mass of the positives when the negatives have 1.

    Examples
    --------
    Two objects whose codes agree with their partners and differ from the other's:

    >>> from diffhash import Pairs
    >>> codes = np.array([[1.0, 1.0], [-1.0, -1.0]])
    >>> PairLoss(Pairs.aligned(2).resolve(2, 2), 2, -1.0)(codes, codes)[0]
    0.0
    """

    def __init__(
        self, pairs: ResolvedPairs, n_bits: int, negative_target: float, positive_weight: float = 1.0
    ) -> None:
        m = n_bits
        w = positive_weight / max(pairs.n_positive, 1)
        v = 1.0 / max(pairs.n_negative, 1)
        on_positive = np.array([w / m**2, -2 * w / m])
        on_negative = np.array([v / m**2, -2 * v * negative_target / m])
        self.constant = positive_weight + negative_target**2
        self._every = np.zeros(2)
        self._related = np.zeros(2)
        self._listed: list[tuple[PairIndex, FloatArray]] = []
        self._own: list[tuple[BoolArray | slice, FloatArray]] = []
        self._aligned = np.zeros(2)
        self._one_view = pairs.one_view
        self._groups = _Grouped(pairs.groups) if pairs.groups is not None else None
        positive_on_all = on_positive.copy()
        if pairs.negative is not None:
            self._listed.append((pairs.negative, on_negative))
        else:
            self._every += on_negative
            positive_on_all -= on_negative
        if pairs.positive is None:
            self._related += positive_on_all
        elif pairs.labelled:
            # Negatives are all pairs without a label in common, whatever positives were drawn.
            self._related -= on_negative
            self._listed.append((pairs.positive, on_positive))
        elif pairs.aligned:
            self._aligned += positive_on_all
        else:
            self._listed.append((pairs.positive, positive_on_all))
        if self._one_view:
            self._halve()
        self._matrices = [
            scipy.sparse.csr_array((np.ones(len(i)), (i, j)), shape=(pairs.n_x, pairs.n_y))
            for (i, j), _ in self._listed
        ]

    def _halve(self) -> None:
        """Unordered pairs: half of the ordered ones, without each row's pair with itself."""
        self._every /= 2
        self._related /= 2
        if self._every.any():
            self._own.append((slice(None), -self._every))
        if self._related.any():
            assert self._groups is not None
            self._own.append((self._groups.self_related, -self._related))

    def __call__(self, H: FloatArray, G: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Loss, and its gradients with respect to the codes of both sides, of the type of the codes."""
        loss = self.constant
        # Coefficients of whole arrays are plain numbers: NumPy's own would turn float32 into float64.
        if self._every.any():
            q, c = self._every.tolist()
            gram_h, gram_g = H.T @ H, G.T @ G
            sum_h, sum_g = H.sum(axis=0, dtype=np.float64), G.sum(axis=0, dtype=np.float64)
            loss += q * float(np.vdot(gram_h, gram_g)) + c * float(sum_h @ sum_g)
            dH, dG = H @ (2 * q * gram_g), G @ (2 * q * gram_h)
            dH += (c * sum_g).astype(H.dtype)
            dG += (c * sum_h).astype(G.dtype)
        else:
            dH, dG = np.zeros_like(H), np.zeros_like(G)
        if self._related.any():
            assert self._groups is not None
            loss += self._groups.add(H, G, dH, dG, *self._related.tolist())
        if self._aligned.any():
            loss += _add_rows(H, G, dH, dG, slice(None), self._aligned)
        for rows, coefficients in self._own:
            loss += _add_rows(H, G, dH, dG, rows, coefficients)
        for (index, (q, c)), matrix in zip(self._listed, self._matrices, strict=True):
            products = np.einsum("ij,ij->i", H[index[0]], G[index[1]])
            loss += q * float(np.vdot(products, products)) + c * float(products.sum(dtype=np.float64))
            # The index of a resolved list is sorted by row, as a CSR matrix wants its values.
            matrix.data = (2 * q * products + c).astype(H.dtype)
            dH += matrix @ G
            dG += matrix.T @ H
        return float(loss), dH, dG


def _add_rows(H: Any, G: Any, dH: Any, dG: Any, rows: Any, coefficients: FloatArray) -> float:
    """Pairs of each row with the same row of the other side."""
    q, c = coefficients.tolist()
    products = np.einsum("ij,ij->i", H[rows], G[rows])
    slope = (2 * q * products + c).astype(H.dtype)[:, None]
    dH[rows] += slope * G[rows]
    dG[rows] += slope * H[rows]
    return float(q * np.vdot(products, products) + c * products.sum(dtype=np.float64))


class _Grouped:
    """Sums over pairs of rows whose groups are similar."""

    def __init__(self, groups: LabelGroups) -> None:
        self.groups = groups
        self._x, self._y = _Segments(groups.x, groups.n_groups), _Segments(groups.y, groups.n_groups)
        self.self_related = groups.self_related()[groups.x]

    def add(self, H: FloatArray, G: FloatArray, dH: FloatArray, dG: FloatArray, q: float, c: float) -> float:
        """Add gradients in place and return the loss."""
        m = H.shape[1]
        H, G = self._x.ordered(H), self._y.ordered(G)
        grams_h, sums_h = self._x.grams(H)
        grams_g, sums_g = self._y.grams(G)
        near_g, near_h = (
            self.groups.related(t.reshape(len(t), -1)).reshape(-1, m, m) for t in (grams_g, grams_h)
        )
        around_g, around_h = self.groups.related(sums_g), self.groups.related(sums_h)
        self._x.add_products(H, dH, 2 * q * near_g, c * around_g)
        self._y.add_products(G, dG, 2 * q * near_h, c * around_h)
        return q * float(np.vdot(grams_h, near_g)) + c * float(np.vdot(sums_h, around_g))


class _Segments:
    """Rows in runs of one group each."""

    def __init__(self, groups: IntArray, n_groups: int) -> None:
        self._order = np.argsort(groups, kind="stable")
        ends = np.cumsum(np.bincount(groups, minlength=n_groups))
        starts = np.r_[0, ends[:-1]]
        self._n_groups = n_groups
        self._runs = [(g, slice(a, b)) for g, (a, b) in enumerate(zip(starts, ends, strict=True)) if b > a]

    def ordered(self, H: FloatArray) -> FloatArray:
        """The rows, one group after another."""
        return np.asarray(H[self._order])

    def grams(self, ordered: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gram matrix (n_groups, m, m) and sum (n_groups, m) of the rows of each group."""
        m, dtype = ordered.shape[1], ordered.dtype
        grams, sums = np.zeros((self._n_groups, m, m), dtype), np.zeros((self._n_groups, m), dtype)
        for g, run in self._runs:
            block = ordered[run]
            np.matmul(block.T, block, out=grams[g])
            block.sum(axis=0, out=sums[g])
        return grams, sums

    def add_products(
        self, ordered: FloatArray, target: FloatArray, matrices: FloatArray, vectors: FloatArray
    ) -> None:
        """Add ``h @ matrices[g] + vectors[g]`` to the rows of each group g."""
        matrices, vectors = matrices.astype(ordered.dtype), vectors.astype(ordered.dtype)
        products = np.empty_like(ordered)
        for g, run in self._runs:
            np.matmul(ordered[run], matrices[g], out=products[run])
            products[run] += vectors[g]
        target[self._order] += products


def refine(
    x: FloatArray,
    y: FloatArray | None,
    loss: PairLoss,
    start: Affine,
    *,
    penalty: float,
    scales: Sequence[FloatArray] | None = None,
    slopes: tuple[float, ...] = (1.0,),
    max_iter: int = 60,
    tolerance: float = 1e-5,
    progress: Progress | None = None,
) -> tuple[Affine, bool]:
    """Minimise the loss of ``tanh(slope * (scales * features @ weights + offsets))`` by L-BFGS.

    Parameters
    ----------
    x, y : arrays of shape (n, d), (n', d')
        Features of each view; ``y`` None for one view.
    loss : PairLoss
    start : Affine
    penalty : float
        Times the mean squared length of the bits' weights, added to the loss.
    scales : one or two arrays of shape (d,), (d',), optional
        What whitens the features, so that a penalty on the weights is fair; no scaled copy of them is made.
    slopes : increasing numbers
        The smooth sign is made steeper in as many rounds.
    max_iter : int
        Times the number of rounds; what one leaves the next may use.
    tolerance : float
        The last round ends when the loss falls by less than this (or, above 1, by less than this share of
        itself), the others already when it hardly falls, which a steeper sign may change.
    progress : function, optional

    Returns
    -------
    Affine, and whether the last round converged
    """
    sides = [x] if y is None else [x, y]
    m = start.weights[0].shape[1]
    sizes = [side.shape[1] * m for side in sides]
    per_bit = penalty / m
    dtype = x.dtype
    columns = [s[:, None] for s in scales] if scales is not None else [np.ones((1, 1))] * len(sides)

    def split(theta: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
        parts = np.split(theta, np.cumsum([*sizes, *[m] * len(sides)])[:-1])
        return [p.reshape(-1, m) for p in parts[: len(sides)]], parts[len(sides) :]

    def value_and_gradient(theta: FloatArray, slope: float) -> tuple[float, FloatArray]:
        weights, offsets = split(theta)
        codes = []
        for side, column, w, b in zip(sides, columns, weights, offsets, strict=True):
            values = side @ (slope * column * w).astype(dtype)
            values += (slope * b).astype(dtype)
            codes.append(np.tanh(values, out=values))
        value, *gradients = loss(codes[0], codes[-1])
        if y is None:
            gradients = [gradients[0] + gradients[1]]
        pieces = []
        for code, gradient in zip(codes, gradients, strict=True):
            # d tanh = 1 - tanh^2; the codes are not needed any more.
            np.multiply(code, code, out=code)
            np.subtract(1.0, code, out=code)
            gradient *= code
            gradient *= slope
        for side, column, gradient, w in zip(sides, columns, gradients, weights, strict=True):
            value += per_bit * float(np.vdot(w, w))
            pieces.append((column * (side.T @ gradient) + 2 * per_bit * w).ravel())
        pieces += [gradient.sum(axis=0, dtype=np.float64) for gradient in gradients]
        return value, np.concatenate(pieces)

    theta = np.concatenate(
        [*(w.ravel() for w in start.weights[: len(sides)]), *start.offsets[: len(sides)]]
    ).astype(np.float64)
    converged, done = True, 0

    def report(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, float(intermediate_result.fun))

    for number, slope in enumerate(slopes, 1):
        found = scipy.optimize.minimize(
            value_and_gradient,
            theta,
            args=(slope,),
            jac=True,
            method="L-BFGS-B",
            callback=report,
            options={
                "maxiter": number * max_iter - done,
                "ftol": tolerance if number == len(slopes) else max(tolerance, _HARDLY),
                "maxcor": 10,
            },
        )
        theta, converged = found.x, bool(found.success)
    weights, offsets = split(theta)
    return Affine((weights[0], weights[-1]), (offsets[0], offsets[-1])), converged
