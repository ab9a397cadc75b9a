"""Rotations that turn coordinates in a subspace into bits."""

from __future__ import annotations

import numpy as np

from ..types import FloatArray

__all__ = ["bits_in_subspace", "rotated_frame", "sample_rows"]


def bits_in_subspace(
    values: list[FloatArray], strengths: FloatArray, n_bits: int, rng: np.random.Generator
) -> list[FloatArray]:
    """For each view, the matrix that maps coordinates in the subspace to bits.

    Parameters
    ----------
    values : list of arrays of shape (n, rank)
        Coordinates of each view along the paired directions.
    strengths : array of shape (rank,), decreasing
        Weights of the coordinates, up to a common factor.
    n_bits : int
        May be more than ``rank``.
    rng : Generator

    Returns
    -------
    list of arrays of shape (rank, n_bits)
    """
    # If similar objects are opposite to each other, all strengths are 0. Use equal weights then.
    weights = strengths / strengths[0] if strengths[0] > 0 else np.ones_like(strengths)
    weighted = [(v - v.mean(axis=0)) * weights.astype(v.dtype) for v in values]
    # Signs approximate the values best if the values have about the size of signs.
    spreads = [float(v.std(dtype=np.float64)) or 1.0 for v in weighted]
    stacked = [sample_rows(v / spread, rng) for v, spread in zip(weighted, spreads, strict=True)]
    frame = rotated_frame(np.concatenate(stacked).astype(np.float64), n_bits, rng)
    return [weights[:, None] * frame / spread for spread in spreads]


def rotated_frame(values: FloatArray, n_bits: int, rng: np.random.Generator, n_iter: int = 30) -> FloatArray:
    r"""Directions whose signs approximate the values well; there may be more than the dimension.

    Parameters
    ----------
    values : array of shape (n, d)
        Coordinates in the useful subspace; the rows of all modalities are stacked.
    n_bits : int
    rng : Generator
    n_iter : int
        Largest number of steps to fit each rotation.

    Returns
    -------
    array of shape (d, n_bits)
        Orthogonal matrices side by side; the last one may be cut off. Each has its own random start
        and minimises :math:`\min_R \|\mathrm{sign}(V R) - V R\|^2` (iterative quantisation).

    Notes
    -----
    A random Gaussian matrix is not good enough: its directions are spread unevenly, and its bits
    split clusters. A fitted rotation avoids this, and different starts give different rotations.
    """
    d = values.shape[1]
    count = -(-n_bits // d)
    rotations = np.stack([np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(count)])
    last = np.empty((0, 0))
    for _ in range(n_iter):
        # The product with all rotations side by side has the shape (n, count * d).
        signs = np.copysign(1.0, values @ rotations.transpose(1, 0, 2).reshape(d, -1))
        if np.array_equal(signs, last):
            break
        last = signs
        u, _, vt = np.linalg.svd((signs.T @ values).reshape(count, d, d), full_matrices=False)
        rotations = (u @ vt).transpose(0, 2, 1)
    return np.concatenate(list(rotations), axis=1)[:, :n_bits]


def sample_rows(values: FloatArray, rng: np.random.Generator, limit: int = 5000) -> FloatArray:
    """At most ``limit`` random rows, which are enough to determine a rotation."""
    return values if len(values) <= limit else values[rng.choice(len(values), limit, replace=False)]
