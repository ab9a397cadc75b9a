r"""From distance counts to promises: the chance that a hit is right, and the radius with few wrong hits.

Let p(d) and q(d) be the shares of similar and dissimilar pairs at distance d, and Q(d) the share of the dissimilar
pairs at distance d or less. With n items of which about r belong to a query, a hit at distance d is right with
chance :math:`r p(d) / (r p(d) + (n - r) q(d))`, and a query finds on average at most n Q(r) wrong items within
radius r.

The counts are of objects that the model which encoded them did not see. That model is a second one, fitted with the
same settings to four fifths of the objects: an honest stand-in for the model that was fitted to all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri, stdtrit

from ..errors import CalibrationError
from ..model.calibration import CoupleCalibration
from ..types import FloatArray

__all__ = [
    "CONFIDENCE",
    "FEWEST_COUNTS",
    "FalseMatchLimit",
    "calibration_error",
    "chance_at",
    "false_match_limit",
    "upper_rates",
]

#: A promise holds with this confidence over the choice of the held-out objects.
CONFIDENCE = 0.95
#: The share of dissimilar pairs within a radius is promised only if so many of them were seen, after pairs that share
#: objects were counted for less.
FEWEST_COUNTS = 3
#: Fewer groups of objects say too little about how far the counts may be off.
_FEWEST_GROUPS = 8
#: Added to the counts of a block of distances, so that few counts do not make a hit certain.
_PRIOR_COUNT = 0.5


@dataclass(frozen=True)
class FalseMatchLimit:
    """The largest radius that keeps a promise of few wrong hits.

    Attributes
    ----------
    radius : int
        -1 if even items with the same code as the query are wrong too often: nothing is found then.
    false_matches : float
        Upper bound of the mean number of wrong hits of a query within the radius. With radius -1, that
        within distance 0.
    """

    radius: int
    false_matches: float


def upper_rates(counts: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    r"""Upper confidence bounds of the share of dissimilar pairs within each radius.

    Parameters
    ----------
    counts : int array of shape (1 + n_groups, n_bits + 1)
        All dissimilar pairs at each distance, and those that involve each group of objects.

    Returns
    -------
    bounds : float array of shape (n_bits + 1,)
        With confidence 95 %. The bound within a smaller radius is never larger. 1 if nothing can be said.
    effective : float array of shape (n_bits + 1,)
        Number of independent pairs within the radius that would say as much as the counted ones.

    Notes
    -----
    Pairs that share an object are not independent. The variance v of the share :math:`\hat Q` is estimated by
    leaving out one group of objects after another (jackknife), which on average overestimates it. Then
    :math:`x = \hat Q^2 / v`, at most the number of pairs that were counted, is the effective number of pairs, and the
    bound is that of a Poisson count: :math:`\hat Q\, G^{-1}(0.95; x + 1) / x` with the Gamma distribution G.

    Examples
    --------
    >>> counts = np.array([[0, 30, 70]] + [[0, 6, 14]] * 10)
    >>> bounds, effective = upper_rates(counts)
    >>> bounds.round(3), effective.round(3)
    (array([0.407, 0.407, 1.   ]), array([  0.,  30., 100.]))
    """
    within = np.cumsum(counts, axis=1).astype(np.float64)
    total, involved = within[0], within[1:]
    n_pairs = total[-1]
    groups = involved[involved[:, -1] > 0]
    bounds, effective = np.ones(len(total)), np.zeros(len(total))
    left = n_pairs - groups[:, -1:]
    if len(groups) < _FEWEST_GROUPS or not (left > 0).all():
        return bounds, effective
    rates, without = total / n_pairs, (total - groups) / left
    n_groups = len(groups)
    variance = (n_groups - 1) / n_groups * ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    # Few groups: the variance itself is uncertain, as in Student's t.
    variance *= (stdtrit(n_groups - 1, CONFIDENCE) / ndtri(CONFIDENCE)) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(total > 0, np.minimum(rates**2 / variance, total), 0.0)
    known = effective >= FEWEST_COUNTS
    x = effective[known]
    bounds[known] = np.minimum(rates[known] * gammaincinv(x + 1, CONFIDENCE) / x, 1.0)
    # Fewer pairs are within a smaller radius.
    return np.minimum.accumulate(bounds[::-1])[::-1], effective


def false_match_limit(
    couple: CoupleCalibration, n_items: int, max_false_matches: float, *, caller: str
) -> FalseMatchLimit:
    """The largest radius within which a query finds on average at most so many wrong items.

    Parameters
    ----------
    couple : CoupleCalibration
    n_items : int
        Number of items that are searched.
    max_false_matches : float
        Above 0.
    caller : str

    Raises
    ------
    CalibrationError
        If the counts are too few to say anything about so rare events.

    Examples
    --------
    >>> counts = np.array([[[0, 300, 99_700]] + [[0, 60, 19_940]] * 10, [[50, 50, 0]] + [[10, 10, 0]] * 10])
    >>> couple = CoupleCalibration(counts, False, 1.0, None, None)
    >>> false_match_limit(couple, n_items=1000, max_false_matches=5.0, caller="example")
    FalseMatchLimit(radius=1, false_matches=3.3009...)
    """
    bounds, effective = _known_bounds(couple)
    expected = n_items * bounds
    allowed = np.flatnonzero(expected <= max_false_matches)
    if len(allowed):
        return FalseMatchLimit(int(allowed[-1]), float(expected[allowed[-1]]))
    if effective[0] >= FEWEST_COUNTS:
        return FalseMatchLimit(-1, float(expected[0]))
    # A number that is printed; a tiny promise would need more than a float can hold.
    smallest = max(max_false_matches, 1e-200)
    needed = gammaincinv(FEWEST_COUNTS + 1, CONFIDENCE) * n_items / smallest
    if bounds[0] < 1:
        # So much more is needed if the counts grow as they are, with pairs that share objects among them.
        needed = max(needed, couple.n_dissimilar * expected[0] / smallest)
    raise CalibrationError(
        f"{caller}: the calibration cannot promise at most {max_false_matches:g} wrong hits among {n_items:,} items. "
        f"That needs about {int(np.ceil(min(needed, 1e18))):,} or more held-out dissimilar pairs; the model has "
        f"{couple.n_dissimilar:,}, from which it can promise {expected[0]:.3g} or more. "
        "Calibrate with more objects, or allow more wrong hits."
    )


def chance_at(
    couple: CoupleCalibration, n_items: int, expected_matches: float | None = None
) -> FloatArray | None:
    r"""Chance that an item at each distance belongs to the query.

    Parameters
    ----------
    couple : CoupleCalibration
    n_items : int
        Number of items that are searched.
    expected_matches : float, optional
        How many of them belong to a query. By default what the calibration says.

    Returns
    -------
    float array of shape (n_bits + 1,), or None if no similar pair is known
        Never larger at a larger distance.

    Notes
    -----
    The ratio p(d) / q(d) is made monotone by pooling adjacent distances (isotonic regression of the share of similar
    pairs, where similar and dissimilar pairs weigh the same in total), and half a pair is added to the counts of
    each block.

    Examples
    --------
    >>> counts = np.array([[[0, 90, 910]] + [[0, 18, 182]] * 10, [[40, 50, 10]] + [[8, 10, 2]] * 10])
    >>> couple = CoupleCalibration(counts, False, 1.0, None, None)
    >>> chance_at(couple, n_items=100).round(2)
    array([0.89, 0.05, 0.  ])
    """
    matches = couple.expected_matches(n_items) if expected_matches is None else min(expected_matches, n_items)
    if matches is None or not couple.n_similar or not couple.n_dissimilar:
        return None
    ratio = _known_ratio(couple)
    right = matches * ratio
    return np.asarray(right / (right + (n_items - matches))) if matches < n_items else np.ones(len(ratio))


def calibration_error(table: NDArray[Any], chances: FloatArray, k: int = 10) -> float:
    """How far chances are off: the expected calibration error of the first ``k`` hits of every query.

    Hits are put into ten intervals of their chance. The error is the mean over all hits of the difference between
    the mean chance and the share of right hits in the interval.

    Parameters
    ----------
    table : int array of shape (q, n_bits + 1, 2)
        Wrong and right items of each query at each distance. Of items at the same distance that do not all belong to
        the first k, each counts in part.
    chances : float array of shape (n_bits + 1,)
    k : int

    Examples
    --------
    Two hits at distance 0, one of them right, and their chance is 0.75:

    >>> calibration_error(np.array([[[1, 1], [8, 0]]]), np.array([0.75, 0.1]), k=2)
    0.25
    """
    tied = table.sum(axis=2)
    before = np.cumsum(tied, axis=1) - tied
    part = np.clip(k - before, 0, tied) / np.maximum(tied, 1)
    shown, right = (part * tied).sum(axis=0), (part * table[:, :, 1]).sum(axis=0)
    bins = np.minimum((10 * chances).astype(int), 9)
    off = np.abs(np.bincount(bins, shown * chances - right, minlength=10)).sum()
    return float(off / max(shown.sum(), 1e-300))


# A search needs these again and again, and a couple does not change.
@lru_cache(maxsize=256)
def _known_bounds(couple: CoupleCalibration) -> tuple[FloatArray, FloatArray]:
    return upper_rates(couple.counts[0])


@lru_cache(maxsize=256)
def _known_ratio(couple: CoupleCalibration) -> FloatArray:
    return _monotone_ratio(couple.counts[1, 0], couple.counts[0, 0])


def _monotone_ratio(similar: NDArray[Any], dissimilar: NDArray[Any]) -> FloatArray:
    """p(d) / q(d) after pooling, non-increasing; pool-adjacent-violators over the few distances."""
    n_similar, n_dissimilar = float(similar.sum()), float(dissimilar.sum())
    # Whole numbers, so that equal shares are equal.
    blocks: list[tuple[int, int, int]] = []
    for s, d in zip(similar.tolist(), dissimilar.tolist(), strict=True):
        block = (s, d, 1)
        # The share of a block must be below that of the block before it; empty blocks join any other.
        while blocks and blocks[-1][0] * block[1] <= block[0] * blocks[-1][1]:
            last = blocks.pop()
            block = (last[0] + block[0], last[1] + block[1], last[2] + block[2])
        blocks.append(block)
    p, q, sizes = (np.array(column) for column in zip(*blocks, strict=True))
    ratio = ((p + _PRIOR_COUNT) / n_similar) / ((q + _PRIOR_COUNT) / n_dissimilar)
    return np.asarray(np.repeat(np.minimum.accumulate(ratio), sizes))
