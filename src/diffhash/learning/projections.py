"""From the covariance difference to projection matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ..types import FloatArray

__all__ = ["covariance_difference", "eigen_projections", "numerical_rank", "singular_projections"]


def covariance_difference(positive: FloatArray, negative: FloatArray, gamma: float) -> FloatArray:
    r"""The paper's :math:`\Sigma^D = \Sigma^N - \gamma \Sigma^P`; for infinite gamma :math:`-\Sigma^P`.

    Examples
    --------
    >>> covariance_difference(np.eye(2), np.ones((2, 2)), gamma=10.0)
    array([[-9.,  1.],
           [ 1., -9.]])
    """
    return -positive if np.isinf(gamma) else negative - gamma * positive


def singular_projections(difference: FloatArray, n_bits: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Projections of two views that minimise :math:`\mathrm{tr}(P \Sigma^D Q^T)`.

    Parameters
    ----------
    difference : array of shape (n_features, n_features')
    n_bits : int, at most the smaller of the two

    Returns
    -------
    P, Q : arrays of shape (n_bits, n_features), (n_bits, n_features')
        With orthonormal rows.
    singular_values : array of shape (min(n_features, n_features'),)
        All of them, the largest first.

    Notes
    -----
    With :math:`\Sigma^D = U S V^T` and orthonormal rows, the trace is at least minus the sum of
    the m largest singular values, and :math:`P = U_m^T, Q = -V_m^T` reach it. (The paper prints
    "smallest"; those make the trace almost zero.) The decomposition is LAPACK's full one, so that
    fewer bits are the first ones of more bits, and the entry of largest magnitude in each row of
    P is positive, so that signs do not depend on the machine.
    """
    u, values, vt = scipy.linalg.svd(difference, full_matrices=False)
    P = u[:, :n_bits].T
    signs = _row_signs(P)
    return P * signs, -vt[:n_bits] * signs, values


def eigen_projections(difference: FloatArray, n_bits: int) -> tuple[FloatArray, FloatArray]:
    r"""Projection of one view that minimises :math:`\mathrm{tr}(P \Sigma^D P^T)`.

    Parameters
    ----------
    difference : array of shape (n_features, n_features)
        Only its symmetric part matters.
    n_bits : int, at most n_features

    Returns
    -------
    P : array of shape (n_bits, n_features)
        With orthonormal rows: eigenvectors of the most negative eigenvalues.
    eigenvalues : array of shape (n_features,)
        All of them, in increasing order.
    """
    values, vectors = scipy.linalg.eigh((difference + difference.T) / 2)
    P = vectors[:, :n_bits].T
    return P * _row_signs(P), values


def numerical_rank(magnitudes: FloatArray, n_features: int, dtype: np.dtype[np.floating]) -> int:
    """How many singular values are more than rounding of features of ``dtype``.

    Examples
    --------
    >>> numerical_rank(np.array([2.0, 1.0, 1e-17]), 3, np.dtype(np.float64))
    2
    """
    # Products of features carry the rounding of their type; the decomposition is in float64.
    relative = max(np.finfo(dtype).eps, n_features * np.finfo(np.float64).eps)
    tolerance = magnitudes.max(initial=0.0) * relative
    return int((magnitudes > tolerance).sum())


def _row_signs(P: FloatArray) -> FloatArray:
    largest = np.abs(P).argmax(axis=1)
    return np.where(P[np.arange(len(P)), largest] < 0, -1.0, 1.0)[:, None]
