"""The spectral solution in whitened coordinates, as bits: where refinement starts from."""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg

from .maps import LinearMap, MappedView
from .pair_sets import ResolvedPairs
from .projections import covariance_difference, eigen_projections, singular_projections
from .refinement import Affine
from .rotation import rotated_frame, useful_rank
from .types import FloatArray
from .view_moments import pair_moments

__all__ = ["N_PERMUTATIONS", "paired_directions", "spectral_start"]

#: Shuffles of the permutation test for the useful rank.
N_PERMUTATIONS = 5
#: Up to here a full decomposition is as fast as Lanczos' method.
_SMALL = 64


def paired_directions(
    x: FloatArray, y: FloatArray | None, pairs: ResolvedPairs, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Directions along which similar objects agree more than shuffled ones would.

    Parameters
    ----------
    x, y : arrays of shape (n, d), (n', d')
        Coordinates of the two views; ``y`` None for one view.
    pairs : ResolvedPairs
    rng : Generator

    Returns
    -------
    A, B : arrays of shape (d, rank), (d', rank), with orthonormal columns
    strengths : array of shape (rank,)
        Singular values, the largest first.
    """

    def difference(second: FloatArray) -> FloatArray:
        view_x, view_y = (MappedView(v, LinearMap(np.zeros(v.shape[1]))) for v in (x, second))
        positive, negative = pair_moments(view_x, view_y, pairs).covariances()
        return covariance_difference(positive, negative, 1.0)

    if y is None:
        matrix = difference(x)
        P, values = eigen_projections(matrix, len(matrix))
        Q, strengths = P, np.maximum(-values, 0.0)
    else:
        matrix = difference(y)
        P, Q, strengths = singular_projections(matrix, min(matrix.shape))
    null = []
    for _ in range(N_PERMUTATIONS):
        # Shuffled objects keep everything but what belongs together.
        if y is None:
            shuffled = x[rng.permutation(len(x))]
            view = MappedView(shuffled, LinearMap(np.zeros(x.shape[1])))
            positive, negative = pair_moments(view, view, pairs).covariances()
            null.append(-np.linalg.eigvalsh(covariance_difference(positive, negative, 1.0))[0])
        else:
            null.append(_largest_singular_value(difference(y[rng.permutation(len(y))]), rng))
    rank = useful_rank(strengths, np.array(null))
    return P[:rank].T, Q[:rank].T, strengths[:rank]


def _largest_singular_value(matrix: FloatArray, rng: np.random.Generator) -> float:
    if min(matrix.shape) < _SMALL:
        return float(np.linalg.norm(matrix, 2))
    v0 = rng.standard_normal(min(matrix.shape))
    return float(scipy.sparse.linalg.svds(matrix, k=1, v0=v0, return_singular_vectors=False)[0])


def spectral_start(
    x: FloatArray, y: FloatArray | None, pairs: ResolvedPairs, n_bits: int, rng: np.random.Generator
) -> Affine:
    """Bits inside the useful subspace: paired directions, weighed by their strength and rotated.

    Parameters
    ----------
    x, y : arrays of shape (n, d), (n', d')
        Whitened coordinates; ``y`` None for one view.
    pairs : ResolvedPairs
    n_bits : int
        May be more than there are directions.
    rng : Generator
    """
    A, B, strengths = paired_directions(x, y, pairs, rng)
    # Without any strength (similar objects are opposites) all directions are as good.
    strengths = strengths / strengths[0] if strengths[0] > 0 else np.ones_like(strengths)
    weights = [A * strengths]
    if y is not None:
        weights.append(B * strengths)
    values = [side @ w for side, w in zip((x, y), weights, strict=False)]
    # Rotations quantise best when values are about as large as signs.
    weights = [w / v.std() for w, v in zip(weights, values, strict=True)]
    stacked = np.concatenate([_some(v / v.std(), rng) for v in values]).astype(np.float64)
    frame = rotated_frame(stacked, n_bits, rng)
    turned = [np.asarray(w @ frame, dtype=np.float64) for w in weights]
    zero = np.zeros(n_bits)
    return Affine((turned[0], turned[-1]), (zero, zero))


def _some(values: FloatArray, rng: np.random.Generator, limit: int = 5000) -> FloatArray:
    """A rotation is well determined by some thousand objects."""
    return values if len(values) <= limit else values[rng.choice(len(values), limit, replace=False)]
