"""The useful subspace: directions along which pairs agree more than shuffled pairs, and bits inside it.

The covariance difference of shuffled objects shows how strong a direction is by chance. Directions
that are stronger span the useful subspace. A fitted rotation then turns it into bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from ..maps import MappedView
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray
from .cross_fit import CrossFit, determined
from .projections import Subspace, decompose_difference, leading_directions
from .rotation import bits_in_subspace
from .view_difference import DifferenceSettings, view_difference

__all__ = [
    "direction_weights",
    "largest_strength",
    "rotated_directions",
    "shuffled_differences",
    "useful_rank",
    "useful_subspace",
]

#: Number of shuffles in the permutation test.
N_PERMUTATIONS = 5
#: Largest number of directions of an approximate decomposition.
_MAX_DIRECTIONS = 256
#: Up to this size a full eigenvalue decomposition is as fast as Lanczos' method.
_MAX_FULL_DECOMPOSITION = 256


def _approximate_directions(matrix: FloatArray) -> Subspace:
    """The leading 256 directions of a large matrix, several times faster than a full decomposition.

    They are eigenvectors of the matrix times its transpose. Only the vectors of small singular values
    lose precision by this.
    """
    if min(matrix.shape) <= _MAX_DIRECTIONS:
        return decompose_difference(matrix, min(matrix.shape), one_view=False)
    n = len(matrix)
    _, vectors = scipy.linalg.eigh(matrix @ matrix.T, subset_by_index=[n - _MAX_DIRECTIONS, n - 1])
    P = vectors[:, ::-1].T
    Q = -(P @ matrix)
    strengths = np.linalg.norm(Q, axis=1)
    kept = strengths > 1e-6 * strengths[0]
    return Subspace(P[kept], Q[kept] / strengths[kept, None], strengths[kept])


def shuffled_differences(
    x: MappedView,
    y: MappedView,
    pairs: ResolvedPairs,
    settings: DifferenceSettings,
    rng: np.random.Generator,
) -> Iterator[FloatArray]:
    """Covariance differences after the objects of one view were shuffled, so that pairs are random."""
    for _ in range(N_PERMUTATIONS):
        shuffled = y.shuffled(rng)
        yield view_difference(shuffled if pairs.one_view else x, shuffled, pairs, settings)


def useful_subspace(
    matrix: FloatArray,
    shuffled: Iterable[FloatArray],
    rng: np.random.Generator,
    *,
    one_view: bool,
    approximate: bool = False,
) -> Subspace:
    """The directions that are stronger than every direction of the shuffled differences.

    Parameters
    ----------
    matrix : array of shape (d, d')
        Covariance difference of the pairs.
    shuffled : arrays of the same shape
        See :func:`shuffled_differences`.
    rng : Generator
        Gives the start of Lanczos' method for large matrices.
    one_view : bool
        Whether both sides are the same view. If so, the directions are eigenvectors.
    approximate : bool
        Compute only the leading 256 directions of a large matrix, which is faster.
    """
    if approximate and not one_view:
        found = _approximate_directions(matrix)
    else:
        found = decompose_difference(matrix, min(matrix.shape), one_view=one_view)
    null = [largest_strength(each, rng, one_view=one_view) for each in shuffled]
    return found.first(useful_rank(found.strengths, np.array(null)))


def useful_rank(strengths: FloatArray, null: FloatArray) -> int:
    """Number of directions that are stronger than chance; at least 1.

    Parameters
    ----------
    strengths : array of shape (k,), decreasing
        Singular values of the covariance difference.
    null : array of shape (n_permutations,)
        The largest singular value of each shuffled difference.

    Notes
    -----
    This is a permutation test at the level 1 / (n_permutations + 1).

    Examples
    --------
    >>> useful_rank(np.array([5.0, 3.0, 1.0]), np.array([1.2, 0.9]))
    2
    """
    return max(1, int((strengths > null.max(initial=0.0)).sum()))


def largest_strength(matrix: FloatArray, rng: np.random.Generator, *, one_view: bool) -> float:
    """The largest singular value; with one view, the magnitude of the most negative eigenvalue."""
    if one_view:
        return max(0.0, -float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0]))
    if min(matrix.shape) <= _MAX_FULL_DECOMPOSITION:
        gram = matrix @ matrix.T if len(matrix) <= matrix.shape[1] else matrix.T @ matrix
        return float(np.sqrt(max(0.0, np.linalg.eigvalsh(gram)[-1])))
    v0 = rng.standard_normal(min(matrix.shape))
    return float(scipy.sparse.linalg.svds(matrix, k=1, v0=v0, return_singular_vectors=False)[0])


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
