r"""Each object must find its partner among other objects: a softmax loss over the pairs of all couples.

With relaxed codes h and h' of the two sides of the pairs 1, 2, ..., of a couple and similarities
:math:`s_{ab} = \beta \langle h_a, h'_b \rangle / \sqrt{m}` of codes of m bits, the loss of the couple is the mean over
its pairs of

.. math:: \log \sum_b e^{s_{ab} - s_{aa}} + \log \sum_b e^{s_{ba} - s_{aa}}.

The squared loss (:mod:`.pair_loss`) treats all dissimilar pairs alike. This one is mostly about those that are
nearer than the partner, which are the ones that a search returns before it.

Pairs are compared within blocks of a bounded number, so that the cost is linear in their number. The sums leave out
similarities of other rows that are a positive pair, too, such as two pictures and two captions of one object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..pairs.couples import ResolvedCouple, ResolvedCouples
from ..types import FloatArray, IntArray, PairIndex

__all__ = ["ContrastiveLoss", "can_be_contrasted"]

#: Pairs that are compared with each other.
_BLOCK = 512


def can_be_contrasted(couples: ResolvedCouples) -> bool:
    """Whether all couples have listed positive pairs, and all other pairs are negative."""
    return all(
        couple.pairs.positive is not None and couple.pairs.negative is None and couple.pairs.groups is None
        for couple in couples
    )


@dataclass(frozen=True)
class _Block:
    """Pairs of one couple: their rows, their weights, and which similarities are left out."""

    sides: tuple[int, int]
    index: PairIndex
    weights: FloatArray
    left_out: tuple[IntArray, IntArray] | None


class ContrastiveLoss:
    r"""The weighted softmax loss of all couples, and its gradient.

    Parameters
    ----------
    couples : ResolvedCouples
        See :func:`can_be_contrasted`.
    n_bits : int
    contrast : float
        The number :math:`\beta`.
    random_state : int or None
        Pairs are assigned to blocks at random.

    Examples
    --------
    >>> from diffhash import Pairs
    >>> pairs = Pairs.aligned(2).resolve(2, 2)
    >>> loss = ContrastiveLoss(ResolvedCouples.of_pairs(pairs), n_bits=1, contrast=1.0, random_state=0)
    >>> value, _ = loss([np.array([[1.0], [-1.0]])] * 2)
    >>> round(value, 4), round(2 * np.log(1 + np.exp(-2)), 4)
    (0.2539, np.float64(0.2539))
    """

    def __init__(
        self, couples: ResolvedCouples, n_bits: int, contrast: float, random_state: int | None
    ) -> None:
        rng = np.random.default_rng(random_state)
        self._scale = contrast / np.sqrt(n_bits)
        mean = sum(couple.weight for couple in couples) / len(couples)
        self._blocks = [
            block for couple in couples for block in _blocks_of(couple, couple.weight / mean, rng)
        ]

    def __call__(self, codes: Sequence[FloatArray]) -> tuple[float, list[FloatArray]]:
        """The loss, and its gradient with respect to the codes of each modality, in the dtype of the codes.

        Parameters
        ----------
        codes : list of arrays of shape (n, n_bits)
            Relaxed codes of the rows of each modality.
        """
        total, gradients = 0.0, [np.zeros_like(each) for each in codes]
        for block in self._blocks:
            (u, v), (i, j) = block.sides, block.index
            x, y = codes[u][i], codes[v][j]
            similarities = (x @ y.T) * x.dtype.type(self._scale)
            own = np.diagonal(similarities).copy()
            if block.left_out is not None:
                similarities[block.left_out] = -np.inf
            weights = block.weights.astype(x.dtype)
            pull = np.zeros_like(similarities)
            for axis in (1, 0):
                largest = similarities.max(axis=axis, keepdims=True)
                share = np.exp(similarities - largest)
                sums = share.sum(axis=axis, keepdims=True)
                logs = (np.log(sums) + largest).reshape(-1) - own
                total += float(block.weights @ logs)
                share *= np.expand_dims(weights, axis) / sums
                pull += share
            pull[np.diag_indices_from(pull)] -= 2 * weights
            pull *= x.dtype.type(self._scale)
            for side, rows, gradient in ((u, i, pull @ y), (v, j, pull.T @ x)):
                if block.left_out is None:
                    # Every row occurs once.
                    gradients[side][rows] += gradient
                else:
                    np.add.at(gradients[side], rows, gradient)
        return total, gradients


def _blocks_of(couple: ResolvedCouple, weight: float, rng: np.random.Generator) -> list[_Block]:
    """The pairs of a couple in blocks of nearly equal size; the weights of all pairs sum to that of the couple."""
    positive = couple.pairs.positive
    assert positive is not None, "the positives must be listed"
    n = len(positive[0])
    of_pairs = couple.pairs.positive_weights
    weights = np.ones(n) if of_pairs is None else np.asarray(of_pairs, dtype=np.float64)
    weights = weight * weights / weights.sum()
    known = _keys(couple, positive)
    if couple.within:
        known = np.concatenate([known, _keys(couple, positive[::-1])])
    known.sort()
    found = []
    for rows in np.array_split(rng.permutation(n), max(1, -(-n // _BLOCK))):
        i, j = positive[0][rows], positive[1][rows]
        same = (i[:, None] == i) | (j[:, None] == j)
        if couple.within:
            same |= (i[:, None] == j) | (j[:, None] == i)
        of_block = _keys(couple, (i[:, None], j))
        same |= known[np.minimum(np.searchsorted(known, of_block), len(known) - 1)] == of_block
        np.fill_diagonal(same, val=False)
        first, second = np.nonzero(same)
        left_out = (first, second) if len(first) else None
        found.append(_Block(couple.sides, (i, j), weights[rows], left_out))
    return found


def _keys(couple: ResolvedCouple, pairs: PairIndex) -> IntArray:
    """One number for each pair of rows."""
    return np.asarray(pairs[0] * np.int64(couple.pairs.n_y) + pairs[1])
