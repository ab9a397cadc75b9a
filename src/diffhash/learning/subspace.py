"""Bits inside the useful subspace: the directions along which held-out pairs agree, turned by a fitted rotation."""

from __future__ import annotations

import numpy as np

from ..maps import MappedView
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray
from .cross_fit import CrossFit, determined
from .projections import leading_directions
from .rotation import bits_in_subspace
from .view_difference import DifferenceSettings, view_difference

__all__ = ["direction_weights", "rotated_directions"]


def rotated_directions(
    x: MappedView,
    y: MappedView,
    pairs: ResolvedPairs,
    settings: DifferenceSettings,
    useful: CrossFit | None,
    n_bits: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Projections inside the useful subspace, rotated so that signs lose as little as possible.

    Parameters
    ----------
    x, y : MappedView
        The same object with one view.
    pairs : ResolvedPairs
    settings : DifferenceSettings
    useful : CrossFit or None
        How strong the directions are on held-out pairs. None if there are too few objects to know; then
        every direction is used, weighted by its strength on the training pairs.
    n_bits : int
        With fewer bits than useful directions, only the ``n_bits`` strongest are used.
    rng : Generator
        Gives the starts of the rotations.

    Returns
    -------
    P, Q : arrays of shape (n_bits, d), (n_bits, d')
        Projections of the whitened features.
    strengths : array of shape (rank,)
        Strength of each useful direction on the training pairs.
    """
    matrix = view_difference(x, y, pairs, settings)
    limit = n_bits if useful is None else min(useful.limit or n_bits, n_bits)
    found = determined(leading_directions(matrix, limit, one_view=pairs.one_view))
    rank = len(found.strengths)
    weights = found.strengths if useful is None else direction_weights(useful.first(rank), pairs)
    sides = ((x, found.P),) if pairs.one_view else ((x, found.P), (y, found.Q))
    coordinates = [view.project(view.folded(directions)) for view, directions in sides]
    mixes = bits_in_subspace(coordinates, weights, n_bits, rng)
    return mixes[0].T @ found.P, mixes[-1].T @ found.Q, found.strengths


def direction_weights(strengths: FloatArray, pairs: ResolvedPairs) -> FloatArray:
    """Weights of directions from their strengths on held-out pairs; decreasing, the first is 1.

    If objects have several partners (labels), the weight is the square root of the strength: the product
    of two coordinates then counts as much as the direction is strong. If objects have one partner, the
    strong directions must count more to tell it from all other objects; the weight is the strength.

    Examples
    --------
    >>> import diffhash as dh
    >>> pairs = dh.Pairs.aligned(8).resolve(8, 8, caller="example")
    >>> direction_weights(np.array([0.8, 0.3, 0.5, 0.2]), pairs)
    array([1.  , 0.5 , 0.5 , 0.25])
    """
    smooth = _decreasing(strengths)
    if smooth[0] <= 0:
        return np.ones(len(strengths))
    n_partners = pairs.n_positive / max(pairs.n_x, pairs.n_y) * (2 if pairs.one_view else 1)
    # With a weight of 0 a bit could be constant.
    return np.asarray(np.maximum(smooth / smooth[0], 1e-6) ** (0.5 if n_partners >= 2 else 1.0))


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
