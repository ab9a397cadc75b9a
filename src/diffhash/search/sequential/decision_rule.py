"""Wald's sequential test on bits, as pure functions: ratios, order of the bits, boundaries.

:class:`~diffhash.search.sequential.estimator.SequentialTest` wires them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...types import BoolArray, FloatArray, IntArray

__all__ = [
    "Bounds",
    "Decisions",
    "SequentialReport",
    "calibrated_bounds",
    "information_order",
    "likelihood_ratios",
    "stopping",
    "summarise",
    "wald_bounds",
]

_N_LEVELS = 40
_N_CELLS = 24
_N_GREEDY = 64
# Where the error rates cannot be reached, codes cut short may be this much worse than whole ones.
_SLACK = 1.05


@dataclass(frozen=True)
class Bounds:
    """A sum of at least ``upper`` means similar, of at most ``lower`` dissimilar.

    A sum that stays between the two through all bits is compared with ``cut`` at the end.
    """

    lower: float
    upper: float
    cut: float = 0.0


class Decisions(NamedTuple):
    """What a sequential test says of some pairs, each of shape (n,).

    ``similar`` bool; ``n_bits_used`` int64; ``decided`` bool, False where all bits did not lead to
    a boundary, and the sum was compared with ``cut_``.
    """

    similar: BoolArray
    n_bits_used: NDArray[np.int64]
    decided: BoolArray


@dataclass(frozen=True)
class SequentialReport:
    """How a sequential test did on pairs that are known to be similar or not.

    Attributes
    ----------
    code_length : int
        Bits of a whole code.
    bits_positive, bits_negative : float
        Mean number of bits used on similar and on dissimilar pairs.
    n_positive, n_negative : int
        Number of pairs.
    false_rejects, false_accepts : int
        Similar pairs called dissimilar, and dissimilar pairs called similar.
    undecided_positive, undecided_negative : int
        Pairs on which all bits did not lead to a boundary.
    """

    code_length: int
    bits_positive: float
    bits_negative: float
    n_positive: int
    n_negative: int
    false_rejects: int
    false_accepts: int
    undecided_positive: int
    undecided_negative: int

    @property
    def false_accept_rate(self) -> float:
        """Share of dissimilar pairs called similar, to be held against alpha."""
        return self.false_accepts / self.n_negative

    @property
    def false_reject_rate(self) -> float:
        """Share of similar pairs called dissimilar, to be held against beta."""
        return self.false_rejects / self.n_positive


def wald_bounds(alpha: float, beta: float) -> Bounds:
    """Wald's boundaries for independent bits, ``log(beta / (1 - alpha))`` and ``log((1 - beta) / alpha)``."""
    return Bounds(float(np.log(beta / (1 - alpha))), float(np.log((1 - beta) / alpha)))


def likelihood_ratios(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Log-likelihood ratios of a bit that differs (row 0) and of one that agrees (row 1), (2, n_bits).

    Parameters
    ----------
    positive, negative : arrays of shape (n_bits,)
        Probability that a bit agrees on similar and on dissimilar pairs, neither 0 nor 1.

    Examples
    --------
    >>> likelihood_ratios(np.array([0.9]), np.array([0.5])).round(2)
    array([[-1.61],
           [ 0.59]])
    """
    return np.log(np.stack([(1 - positive) / (1 - negative), positive / negative]))


def information_order(positive: BoolArray, negative: BoolArray, ratios: FloatArray) -> IntArray:
    r"""Order of the bits: next is the one that tells most, given the sum so far.

    Parameters
    ----------
    positive, negative : bool arrays of shape (n_pairs, n_bits)
        Whether each bit agrees on similar and on dissimilar pairs.
    ratios : array of shape (2, n_bits)

    Returns
    -------
    int array of shape (n_bits,)

    Notes
    -----
    Greedy: the next bit has the largest conditional mutual information
    :math:`I(\text{similar}; \text{bit agrees} \mid \text{sum so far})`, both kinds of pairs weighing
    the same, the sum in about 24 cells. A copy of an earlier bit is of no use however good that one
    is; an order by the information of each bit alone does not see it. After 64 bits, when nearly
    every pair is decided, the others follow by their information at that point.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random((500, 3)) < [0.6, 0.9, 0.8]
    >>> negative = rng.random((500, 3)) < 0.5
    >>> information_order(positive, negative, likelihood_ratios(positive.mean(0), negative.mean(0)))
    array([1, 2, 0])
    """
    agrees = np.concatenate([positive, negative])
    n_bits, columns = agrees.shape[1], agrees.astype(np.float32)
    similar = np.arange(len(agrees)) < len(positive)
    sums = np.zeros(len(agrees))
    order: list[int] = []
    while len(order) < n_bits:
        edges = np.unique(np.quantile(sums, np.linspace(0, 1, _N_CELLS + 1)[1:-1], method="lower"))
        cell = np.searchsorted(edges, sums, side="right") * 2 + similar
        members = np.zeros((2 * len(edges) + 2, len(sums)), dtype=np.float32)
        members[cell, np.arange(len(sums))] = 1
        agreeing = members @ columns
        table = np.stack([agreeing, members.sum(axis=1, keepdims=True) - agreeing], axis=1)
        # Axes: cell of the sum, dissimilar or similar, agrees or differs, bit.
        table = table.astype(np.float64).reshape(-1, 2, 2, n_bits)
        table /= 2 * np.array([len(negative), len(positive)])[:, None, None]
        information = _mutual_information(table)
        information[order] = -np.inf
        best_first = np.argsort(-information, kind="stable")[: n_bits - len(order)]
        chosen = best_first[:1] if len(order) < _N_GREEDY else best_first
        order += chosen.tolist()
        sums += np.where(agrees[:, chosen[0]], ratios[1, chosen[0]], ratios[0, chosen[0]])
    return np.array(order)


def _mutual_information(table: FloatArray) -> FloatArray:
    """Of the two middle axes given the first, for each of the last: (n_bits,)."""

    def negentropy(p: FloatArray) -> FloatArray:
        logs = np.log(p, out=np.zeros_like(p), where=p > 0)
        return np.asarray((p * logs).reshape(-1, p.shape[-1]).sum(axis=0))

    parts = negentropy(table) + negentropy(table.sum(axis=(1, 2)))
    # Rounded, so that equally good bits keep their order whatever the summation's last digit is.
    return np.round(parts - negentropy(table.sum(axis=1)) - negentropy(table.sum(axis=2)), 9)


def stopping(sums: FloatArray, bounds: Bounds) -> Decisions:
    """Where each running sum first leaves the boundaries.

    Parameters
    ----------
    sums : array of shape (n_pairs, n_bits)
        Cumulative sums of log-likelihood ratios.
    bounds : Bounds

    Examples
    --------
    >>> stopping(np.array([[1.0, 3.0], [-3.0, -1.0], [0.5, 1.0]]), Bounds(-2.0, 2.0))
    Decisions(similar=array([ True, False,  True]), n_bits_used=array([2, 1, 2]),
              decided=array([ True,  True, False]))
    """
    n_bits = sums.shape[1]
    out = (sums >= bounds.upper) | (sums <= bounds.lower)
    first = out.argmax(axis=1)
    rows = np.arange(len(sums))
    decided = out[rows, first]
    similar = np.where(decided, sums[rows, first] >= bounds.upper, sums[:, -1] >= bounds.cut)
    return Decisions(similar, np.where(decided, first + 1, n_bits).astype(np.int64), decided)


def calibrated_bounds(
    positive: FloatArray, negative: FloatArray, alpha: float, beta: float
) -> tuple[Bounds, float, float]:
    """Boundaries that keep the error rates on given pairs and need the fewest bits.

    Parameters
    ----------
    positive, negative : arrays of shape (n_pairs, n_bits)
        Cumulative sums of log-likelihood ratios on similar and on dissimilar pairs.
    alpha, beta : float
        Shares of false accepts and of false rejects to keep.

    Returns
    -------
    bounds : Bounds
    accepts, rejects : float
        The shares that whole codes reach at ``bounds.cut``, as counted here.

    Notes
    -----
    1. ``cut`` is where whole codes have the smallest ``max(accepts / alpha, rejects / beta)``. If
       that is above 1 the rates cannot be reached; both are then multiplied by it, and by 1.05.
    2. Either boundary of :func:`wald_bounds` is multiplied by one of 40 factors, from 0.1 to where
       nothing is decided before the end. Of all couples that keep both rates it is the one with
       the fewest bits, averaged over both kinds of pairs with equal weight.

    ``e`` errors among ``n`` pairs count as ``(e + 1) / (n + 1)``: a rate that too few pairs were
    seen to keep is not kept.
    """
    wald = wald_bounds(alpha, beta)
    last_positive, last_negative = np.sort(positive[:, -1]), np.sort(negative[:, -1])
    cuts = np.unique(np.concatenate([last_positive, last_negative, [0.0]]))
    cuts = np.append(cuts, np.nextafter(cuts[-1], np.inf))
    rejects = _share(np.searchsorted(last_positive, cuts), len(positive))
    accepts = _share(len(negative) - np.searchsorted(last_negative, cuts), len(negative))
    worst = np.maximum(accepts / alpha, rejects / beta)
    # Of equally good cuts the one nearest to 0, where the sum has its sign.
    place = np.lexsort([np.abs(cuts), worst])[0]
    excess = worst[place]
    cut = float(cuts[place])
    relaxed = 1.0 if excess <= 1 else excess * _SLACK

    largest = 1.01 * max(np.abs(positive).max(), np.abs(negative).max())
    factors = np.geomspace(0.1, max(largest / min(wald.upper, -wald.lower), 1.0), _N_LEVELS)
    uppers, lowers = wald.upper * factors, wald.lower * factors
    false_accepts, bits_negative = _by_level(negative, uppers, lowers, cut)
    true_accepts, bits_positive = _by_level(positive, uppers, lowers, cut)
    kept = (_share(false_accepts, len(negative)) <= alpha * relaxed) & (
        _share(len(positive) - true_accepts, len(positive)) <= beta * relaxed
    )
    bits = np.where(kept, (bits_positive + bits_negative) / 2, np.inf)
    up, low = np.unravel_index(int(np.argmin(bits)), bits.shape)
    return Bounds(float(lowers[low]), float(uppers[up]), cut), float(accepts[place]), float(rejects[place])


def _share(errors: IntArray, n: int) -> FloatArray:
    return np.asarray((errors + 1) / (n + 1))


def _by_level(
    sums: FloatArray, uppers: FloatArray, lowers: FloatArray, cut: float
) -> tuple[IntArray, FloatArray]:
    """Accepted pairs and mean number of bits for every couple of boundaries, (n_uppers, n_lowers)."""
    n_bits = sums.shape[1]
    highest, lowest = np.maximum.accumulate(sums, axis=1), np.minimum.accumulate(sums, axis=1)
    # Bits before each boundary is met; n_bits where it never is.
    to_upper = np.stack([np.count_nonzero(highest < level, axis=1) for level in uppers])
    to_lower = np.stack([np.count_nonzero(lowest > level, axis=1) for level in lowers])
    at_end = sums[:, -1] >= cut
    accepted = np.empty((len(uppers), len(lowers)), dtype=np.int64)
    bits = np.empty(accepted.shape)
    for up, first in enumerate(to_upper):
        similar = (first < to_lower) | ((first == to_lower) & at_end)
        accepted[up] = np.count_nonzero(similar, axis=1)
        bits[up] = np.minimum(np.minimum(first, to_lower) + 1, n_bits).mean(axis=1)
    return accepted, bits


def summarise(positive: Decisions, negative: Decisions, n_bits: int) -> SequentialReport:
    """Count bits and errors on similar and on dissimilar pairs."""
    return SequentialReport(
        code_length=n_bits,
        bits_positive=float(positive.n_bits_used.mean()),
        bits_negative=float(negative.n_bits_used.mean()),
        n_positive=len(positive.similar),
        n_negative=len(negative.similar),
        false_rejects=int((~positive.similar).sum()),
        false_accepts=int(negative.similar.sum()),
        undecided_positive=int((~positive.decided).sum()),
        undecided_negative=int((~negative.decided).sum()),
    )
