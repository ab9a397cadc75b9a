"""Bits inside the useful subspace: how many directions carry something, and how to turn them into bits."""

from __future__ import annotations

import numpy as np

from ..types import FloatArray

__all__ = ["rotated_frame", "useful_rank"]


def useful_rank(singular_values: FloatArray, null_values: FloatArray) -> int:
    """How many directions are more than chance: at least 1.

    Parameters
    ----------
    singular_values : array of shape (k,), decreasing
        Of the covariance difference.
    null_values : array of shape (n_permutations,)
        The largest singular value when objects of one side are shuffled, so that pairs mean nothing.

    Notes
    -----
    A permutation test at the level 1 / (n_permutations + 1): a direction counts while its singular
    value is above all of those that shuffled pairs gave.

    Examples
    --------
    >>> useful_rank(np.array([5.0, 3.0, 1.0]), np.array([1.2, 0.9]))
    2
    """
    return max(1, int((singular_values > null_values.max(initial=0.0)).sum()))


def rotated_frame(values: FloatArray, n_bits: int, rng: np.random.Generator, n_iter: int = 30) -> FloatArray:
    r"""Directions whose signs keep most of some values, more of them than dimensions if need be.

    Parameters
    ----------
    values : array of shape (n, d)
        Coordinates in the useful subspace, of all modalities one below the other.
    n_bits : int
    rng : Generator
    n_iter : int
        Steps of each rotation's fit.

    Returns
    -------
    array of shape (d, n_bits)
        One orthogonal matrix after another, each from another random start and each fitted to
        :math:`\min_R \|\mathrm{sign}(V R) - V R\|^2` (iterative quantisation); the last one may be cut.

    Notes
    -----
    A random Gaussian frame is not good enough: its directions are not spread evenly, and its bits
    cut through clusters. Each fitted rotation avoids that, and different starts find different ones.
    """
    d = values.shape[1]
    count = -(-n_bits // d)
    rotations = np.stack([np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(count)])
    last = np.empty((0, 0))
    for _ in range(n_iter):
        # All rotations side by side: (n, count * d).
        signs = np.copysign(1.0, values @ rotations.transpose(1, 0, 2).reshape(d, -1))
        if np.array_equal(signs, last):
            break
        last = signs
        u, _, vt = np.linalg.svd((signs.T @ values).reshape(count, d, d), full_matrices=False)
        rotations = (u @ vt).transpose(0, 2, 1)
    return np.concatenate(list(rotations), axis=1)[:, :n_bits]
