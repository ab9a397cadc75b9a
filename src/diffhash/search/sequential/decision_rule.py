"""Wald's sequential test on bits, as pure functions: ratios, order of the bits, boundaries.

:class:`~diffhash.search.sequential.estimator.SequentialTest` combines them.
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
# If the error rates cannot be reached, those of the sequential test may exceed those of whole codes by this factor.
_SLACK = 1.05


@dataclass(frozen=True)
class Bounds:
    """Boundaries: a sum >= ``upper`` means similar, a sum <= ``lower`` means dissimilar.

    If the sum of all bits lies between the two, it is compared with ``cut``.
    """

    lower: float
    upper: float
    cut: float = 0.0


class Decisions(NamedTuple):
    """Results of a sequential test for n pairs; all arrays have shape (n,).

    ``similar`` (bool): the answer. ``n_bits_used`` (int64): bits that were compared. ``decided``
    (bool): False if no boundary was reached, so that the sum was compared with ``cut_``.
    """

    similar: BoolArray
    n_bits_used: NDArray[np.int64]
    decided: BoolArray


@dataclass(frozen=True)
class SequentialReport:
    """Number of bits and errors of a sequential test on known pairs.

    Attributes
    ----------
    code_length : int
        Number of bits of a whole code.
    bits_positive, bits_negative : float
        Mean number of bits used on similar and on dissimilar pairs.
    n_positive, n_negative : int
        Number of pairs.
    false_rejects, false_accepts : int
        Similar pairs called dissimilar, and dissimilar pairs called similar.
    undecided_positive, undecided_negative : int
        Pairs for which no boundary was reached.
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
        """Share of dissimilar pairs called similar; compare it with alpha."""
        return self.false_accepts / self.n_negative

    @property
    def false_reject_rate(self) -> float:
        """Share of similar pairs called dissimilar; compare it with beta."""
        return self.false_rejects / self.n_positive


def wald_bounds(alpha: float, beta: float) -> Bounds:
    """Wald's boundaries for independent bits, ``log(beta / (1 - alpha))`` and ``log((1 - beta) / alpha)``."""
    return Bounds(float(np.log(beta / (1 - alpha))), float(np.log((1 - beta) / alpha)))


def likelihood_ratios(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Log-likelihood ratios of each bit if it differs (row 0) and if it agrees (row 1), (2, n_bits).

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
    r"""Order the bits: the next bit is the most informative one, given the sum so far.

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
    :math:`I(\text{similar}; \text{bit agrees} \mid \text{sum so far})`. Similar and dissimilar pairs
    have equal weight, and the sum is divided into about 24 intervals. A copy of an earlier bit adds
    no information, which an order by the information of single bits would not notice. After 64 bits
    nearly every pair is decided; the remaining bits follow by their information at that point.

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
    """Mutual information of the two middle axes given the first axis, for each entry of the last axis."""

    def negentropy(p: FloatArray) -> FloatArray:
        logs = np.log(p, out=np.zeros_like(p), where=p > 0)
        return np.asarray((p * logs).reshape(-1, p.shape[-1]).sum(axis=0))

    parts = negentropy(table) + negentropy(table.sum(axis=(1, 2)))
    # Rounded, so that rounding errors do not change the order of equally good bits.
    return np.round(parts - negentropy(table.sum(axis=1)) - negentropy(table.sum(axis=2)), 9)


def stopping(sums: FloatArray, bounds: Bounds) -> Decisions:
    """Find where each running sum first reaches a boundary.

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
    """Find the boundaries that keep the error rates on given pairs with the fewest bits.

    Parameters
    ----------
    positive, negative : arrays of shape (n_pairs, n_bits)
        Cumulative sums of log-likelihood ratios on similar and on dissimilar pairs.
    alpha, beta : float
        Largest allowed shares of false accepts and of false rejects.

    Returns
    -------
    bounds : Bounds
    accepts, rejects : float
        The shares of errors of whole codes at ``bounds.cut``, counted as in the notes.

    Notes
    -----
    1. ``cut`` minimises ``max(accepts / alpha, rejects / beta)`` for whole codes. If the minimum is
       above 1, the rates cannot be reached; alpha and beta are then multiplied by it and by 1.05.
    2. Each boundary of :func:`wald_bounds` is multiplied by each of 40 factors, from 0.1 up to one
       with which nothing is decided before the last bit. Among the combinations that keep both
       rates, the one with the fewest bits is chosen. The mean number of bits gives equal weight to
       similar and dissimilar pairs.

    ``e`` errors among ``n`` pairs count as ``(e + 1) / (n + 1)``, so that a small number of pairs
    cannot show a small rate.
    """
    wald = wald_bounds(alpha, beta)
    last_positive, last_negative = np.sort(positive[:, -1]), np.sort(negative[:, -1])
    cuts = np.unique(np.concatenate([last_positive, last_negative, [0.0]]))
    cuts = np.append(cuts, np.nextafter(cuts[-1], np.inf))
    rejects = _share(np.searchsorted(last_positive, cuts), len(positive))
    accepts = _share(len(negative) - np.searchsorted(last_negative, cuts), len(negative))
    worst = np.maximum(accepts / alpha, rejects / beta)
    # Among equally good cuts, take the one nearest to 0.
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
    """Accepted pairs and mean number of bits for every combination of boundaries, (n_uppers, n_lowers)."""
    n_bits = sums.shape[1]
    highest, lowest = np.maximum.accumulate(sums, axis=1), np.minimum.accumulate(sums, axis=1)
    # Number of bits before each boundary is reached; n_bits if it never is.
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
    """Count bits and errors on similar and dissimilar pairs."""
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
