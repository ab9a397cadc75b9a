"""The spectral solution in whitened coordinates, as bits: where refinement starts from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from ..maps import LinearMap, MappedView
from ..pairs.resolved import ResolvedPairs
from ..types import FloatArray
from .projections import covariance_difference, eigen_projections, singular_projections
from .refinement import Affine
from .rotation import rotated_frame, useful_rank
from .view_moments import pair_moments

__all__ = ["N_PERMUTATIONS", "SpectralStart", "bits_in_subspace", "strongest"]

#: Shuffles of the permutation test for the useful rank.
N_PERMUTATIONS = 5
#: A start has at most so many directions when the features have more.
MAX_DIRECTIONS = 256
#: Up to here all eigenvalues take no longer than Lanczos' method.
_SMALL = 256


class SpectralStart:
    """The spectral solution of one view or two, for any scaling of their coordinates.

    The differences of covariances, of the pairs and of shuffled ones, are taken once; a scaling only
    multiplies their rows and columns.

    Parameters
    ----------
    x, y : arrays of shape (n, d), (n', d')
        Coordinates of the two views; ``y`` None for one view.
    pairs : ResolvedPairs
    rng : Generator
    """

    def __init__(
        self, x: FloatArray, y: FloatArray | None, pairs: ResolvedPairs, rng: np.random.Generator
    ) -> None:
        self._sides = [x] if y is None else [x, y]

        def difference(first: FloatArray, second: FloatArray) -> FloatArray:
            view_x, view_y = (MappedView(v, LinearMap(np.zeros(v.shape[1]))) for v in (first, second))
            positive, negative = pair_moments(view_x, view_y, pairs).covariances()
            return covariance_difference(positive, negative, 1.0)

        self._difference = difference(x, self._sides[-1])
        self._shuffled = []
        for _ in range(N_PERMUTATIONS):
            # Shuffled objects keep everything but what belongs together.
            second = self._sides[-1][rng.permutation(len(self._sides[-1]))]
            self._shuffled.append(difference(second if y is None else x, second))

    def directions(
        self, scales: Sequence[FloatArray], rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Directions along which similar objects agree more than shuffled ones would.

        Parameters
        ----------
        scales : one or two arrays of shape (d,), (d',)
            What the coordinates are multiplied by.
        rng : Generator

        Returns
        -------
        A, B : arrays of shape (d, rank), (d', rank), with orthonormal columns
        strengths : array of shape (rank,)
            Singular values, the largest first.
        """
        one_view = len(self._sides) == 1
        scale = np.outer(scales[0], scales[-1])
        matrix = scale * self._difference
        if one_view:
            P, values = eigen_projections(matrix, len(matrix))
            Q, strengths = P, np.maximum(-values, 0.0)
        else:
            P, Q, strengths = _leading(matrix)
        null = [strongest(scale * shuffled, rng, symmetric=one_view) for shuffled in self._shuffled]
        rank = useful_rank(strengths, np.array(null))
        return P[:rank].T, Q[:rank].T, strengths[:rank]

    def bits(
        self,
        scales: Sequence[FloatArray],
        n_bits: int,
        rng: np.random.Generator,
        *,
        strongest_only: bool = False,
    ) -> Affine:
        """Bits inside the useful subspace: paired directions, weighed by their strength and rotated.

        Parameters
        ----------
        scales : one or two arrays of shape (d,), (d',)
            What the coordinates are multiplied by; the weights found apply to the scaled ones.
        n_bits : int
            May be more than there are directions.
        rng : Generator
        strongest_only : bool
            Of more directions than bits only the strongest, as many as bits; otherwise each bit may mix all.
        """
        A, B, strengths = self.directions(scales, rng)
        if strongest_only:
            A, B, strengths = A[:, :n_bits], B[:, :n_bits], strengths[:n_bits]
        ways = (A,) if len(self._sides) == 1 else (A, B)
        values = [
            _some(side, rng) @ (scale[:, None] * way).astype(side.dtype)
            for side, scale, way in zip(self._sides, scales, ways, strict=True)
        ]
        mixes = bits_in_subspace(values, strengths, n_bits, rng)
        turned = [np.asarray(way @ mix, dtype=np.float64) for way, mix in zip(ways, mixes, strict=True)]
        zero = np.zeros(n_bits)
        return Affine((turned[0], turned[-1]), (zero, zero))


def _leading(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Paired directions as :func:`singular_projections` gives them, of large matrices the first only.

    A start needs no small singular vectors to the last digit: eigenvectors of the matrix times its
    transpose are several times as fast.
    """
    if min(matrix.shape) <= MAX_DIRECTIONS:
        return singular_projections(matrix, min(matrix.shape))
    n = len(matrix)
    _, vectors = scipy.linalg.eigh(matrix @ matrix.T, subset_by_index=[n - MAX_DIRECTIONS, n - 1])
    P = vectors[:, ::-1].T
    Q = -(P @ matrix)
    strengths = np.linalg.norm(Q, axis=1)
    kept = strengths > 1e-6 * strengths[0]
    return P[kept], Q[kept] / strengths[kept, None], strengths[kept]


def strongest(matrix: FloatArray, rng: np.random.Generator, *, symmetric: bool = False) -> float:
    """The largest singular value; of a symmetric matrix, the size of the most negative eigenvalue."""
    if symmetric:
        return max(0.0, -float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[0]))
    if min(matrix.shape) <= _SMALL:
        gram = matrix @ matrix.T if len(matrix) <= matrix.shape[1] else matrix.T @ matrix
        return float(np.sqrt(max(0.0, np.linalg.eigvalsh(gram)[-1])))
    v0 = rng.standard_normal(min(matrix.shape))
    return float(scipy.sparse.linalg.svds(matrix, k=1, v0=v0, return_singular_vectors=False)[0])


def bits_in_subspace(
    values: list[FloatArray], strengths: FloatArray, n_bits: int, rng: np.random.Generator
) -> list[FloatArray]:
    """How to mix coordinates into bits, for each side: scaled alike, weighed by strength and rotated.

    Parameters
    ----------
    values : one or two arrays of shape (n, rank)
        Coordinates of each side along the paired directions.
    strengths : array of shape (rank,), decreasing
    n_bits : int
        May be more than ``rank``.
    rng : Generator

    Returns
    -------
    list of arrays of shape (rank, n_bits)
    """
    # Without any strength (similar objects are opposites) all directions are as good.
    weights = strengths / strengths[0] if strengths[0] > 0 else np.ones_like(strengths)
    weighed = [(v - v.mean(axis=0)) * weights.astype(v.dtype) for v in values]
    # Rotations quantise best when values are about as large as signs.
    spreads = [float(v.std()) or 1.0 for v in weighed]
    stacked = [_some(v / spread, rng) for v, spread in zip(weighed, spreads, strict=True)]
    frame = rotated_frame(np.concatenate(stacked).astype(np.float64), n_bits, rng)
    return [weights[:, None] * frame / spread for spread in spreads]


def _some(values: FloatArray, rng: np.random.Generator, limit: int = 5000) -> FloatArray:
    """A rotation is well determined by some thousand objects."""
    return values if len(values) <= limit else values[rng.choice(len(values), limit, replace=False)]
