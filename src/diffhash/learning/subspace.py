"""The useful subspace: directions along which pairs agree more than shuffled pairs, and bits inside it.

The covariance difference of shuffled objects shows how strong a direction is by chance. Directions
that are stronger span the useful subspace. A fitted rotation then turns it into bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from ..maps import MappedView
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray
from .projections import eigen_projections, singular_projections
from .rotation import bits_in_subspace
from .view_difference import DifferenceSettings, view_difference

__all__ = [
    "Subspace",
    "decompose_difference",
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


@dataclass(frozen=True)
class Subspace:
    """Paired directions of two views, the strongest first; with one view both sides are the same.

    Attributes
    ----------
    P, Q : arrays of shape (rank, d), (rank, d')
        Rows are orthonormal.
    strengths : array of shape (rank,)
        Singular values; with one view, magnitudes of the negative eigenvalues.
    """

    P: FloatArray
    Q: FloatArray
    strengths: FloatArray

    def first(self, rank: int) -> Subspace:
        """The strongest directions only."""
        return Subspace(self.P[:rank], self.Q[:rank], self.strengths[:rank])


def decompose_difference(matrix: FloatArray, n_directions: int, *, one_view: bool) -> Subspace:
    """The directions that minimise the paper's trace: singular vectors, or eigenvectors with one view.

    ``strengths`` has an entry for every direction, also for those after the first ``n_directions``.
    """
    if one_view:
        P, values = eigen_projections(matrix, n_directions)
        # Only directions with negative eigenvalues lower the loss.
        return Subspace(P, P, np.maximum(-values, 0.0))
    return Subspace(*singular_projections(matrix, n_directions))


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
    n_bits : int
        May be more than the number of useful directions.
    rng : Generator
        Shuffles the objects and gives the starts of the rotations.

    Returns
    -------
    P, Q : arrays of shape (n_bits, d), (n_bits, d')
    strengths : array of shape (rank,)
        Strength of each useful direction.
    """
    matrix = view_difference(x, y, pairs, settings)
    shuffled = shuffled_differences(x, y, pairs, settings, rng)
    found = useful_subspace(matrix, shuffled, rng, one_view=pairs.one_view)
    coordinates = [x.project(found.P)] if pairs.one_view else [x.project(found.P), y.project(found.Q)]
    mixes = bits_in_subspace(coordinates, found.strengths, n_bits, rng)
    return mixes[0].T @ found.P, mixes[-1].T @ found.Q, found.strengths
