"""Bits inside the useful subspace: the directions along which held-out pairs agree, turned by a fitted rotation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..maps import MappedView
from ..pairs.couples import ResolvedCouples
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray
from .block_difference import BlockMatrix, block_directions
from .cross_fit import CrossFit, determined
from .rotation import bits_in_subspace

__all__ = ["direction_weights", "mean_partners", "rotated_directions"]


def rotated_directions(
    matrix: BlockMatrix,
    views: Sequence[MappedView],
    n_partners: float,
    useful: CrossFit | None,
    n_bits: int,
    rng: np.random.Generator,
) -> tuple[list[FloatArray], FloatArray]:
    """Projections inside the useful subspace, rotated so that signs lose as little as possible.

    Parameters
    ----------
    matrix : BlockMatrix
        The covariance differences of all couples.
    views : list of MappedView
        For each modality, rows to which the rotation is fitted.
    n_partners : float
        See :func:`mean_partners`.
    useful : CrossFit or None
        How strong the directions are on held-out pairs. None if there are too few objects to know; then
        every direction is used, weighted by its strength on the training pairs.
    n_bits : int
        With fewer bits than useful directions, only the ``n_bits`` strongest are used.
    rng : Generator
        Gives the starts of the rotations.

    Returns
    -------
    projections : list of arrays of shape (n_bits, d)
        For each modality, projections of the whitened features.
    strengths : array of shape (rank,)
        Strength of each useful direction on the training pairs.
    """
    limit = n_bits if useful is None else min(useful.limit or n_bits, n_bits)
    limit = min(limit, matrix.offsets[-1])
    found = determined(block_directions(matrix, limit, exact=False))
    rank = len(found.strengths)
    weights = found.strengths if useful is None else direction_weights(useful.first(rank), n_partners)
    coordinates = [view.project(view.folded(part)) for view, part in zip(views, found.parts, strict=True)]
    mixes = bits_in_subspace(coordinates, weights, n_bits, rng)
    return [mix.T @ part for mix, part in zip(mixes, found.parts, strict=True)], found.strengths


def direction_weights(strengths: FloatArray, n_partners: float) -> FloatArray:
    """Weights of directions from their strengths on held-out pairs; decreasing, the first is 1.

    If objects have several partners (labels), the weight is the square root of the strength: the product
    of two coordinates then counts as much as the direction is strong. If objects have one partner, the
    strong directions must count more to tell it from all other objects; the weight is the strength.

    Examples
    --------
    >>> direction_weights(np.array([0.8, 0.3, 0.5, 0.2]), n_partners=1)
    array([1.  , 0.5 , 0.5 , 0.25])
    """
    smooth = _decreasing(strengths)
    if smooth[0] <= 0:
        return np.ones(len(strengths))
    # With a weight of 0 a bit could be constant.
    return np.asarray(np.maximum(smooth / smooth[0], 1e-6) ** (0.5 if n_partners >= 2 else 1.0))


def mean_partners(couples: ResolvedCouples) -> float:
    """Mean number of partners of the rows of the larger view of each couple, averaged over the couples."""

    def of_pairs(pairs: ResolvedPairs) -> float:
        return pairs.n_positive / max(pairs.n_x, pairs.n_y) * (2 if pairs.one_view else 1)

    return float(np.average([of_pairs(c.pairs) for c in couples], weights=[c.weight for c in couples]))


def _decreasing(values: FloatArray) -> FloatArray:
    """The decreasing sequence that is nearest to the values (isotonic regression).

    Its entry k is the smallest over a <= k of the largest over b >= k of the mean of the values a to b.
    """
    n = len(values)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    lengths = np.arange(1, n + 1) - np.arange(n)[:, None]
    means = np.where(lengths > 0, (sums[1:] - sums[:-1, None]) / np.maximum(lengths, 1), -np.inf)
    largest = np.maximum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.diagonal(np.minimum.accumulate(largest, axis=0)))
