"""Projection matrices from the covariance difference."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ..types import FloatArray

__all__ = ["covariance_difference", "eigen_projections", "numerical_rank", "singular_projections"]


def covariance_difference(positive: FloatArray, negative: FloatArray, gamma: float) -> FloatArray:
    r"""The paper's :math:`\Sigma^D = \Sigma^N - \gamma \Sigma^P`; with infinite gamma :math:`-\Sigma^P`.

    Examples
    --------
    >>> covariance_difference(np.eye(2), np.ones((2, 2)), gamma=10.0)
    array([[-9.,  1.],
           [ 1., -9.]])
    """
    return -positive if np.isinf(gamma) else negative - gamma * positive


def singular_projections(difference: FloatArray, n_bits: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""The projections of two views that minimise :math:`\mathrm{tr}(P \Sigma^D Q^T)`.

    Parameters
    ----------
    difference : array of shape (n_features, n_features')
    n_bits : int, at most min(n_features, n_features')

    Returns
    -------
    P, Q : arrays of shape (n_bits, n_features), (n_bits, n_features')
        With orthonormal rows.
    singular_values : array of shape (min(n_features, n_features'),)
        All singular values, the largest first.

    Notes
    -----
    With :math:`\Sigma^D = U S V^T` and orthonormal rows, the trace is at least minus the sum of
    the m largest singular values, and :math:`P = U_m^T, Q = -V_m^T` reach this bound. (The paper prints
    "smallest"; those make the trace almost zero.) The full decomposition of LAPACK is used, so the
    bits of a short code are the first bits of a long one. In each row of P the entry of largest
    magnitude is made positive, so signs do not depend on the machine.
    """
    u, values, vt = scipy.linalg.svd(difference, full_matrices=False)
    P = u[:, :n_bits].T
    signs = _row_signs(P)
    return P * signs, -vt[:n_bits] * signs, values


def eigen_projections(difference: FloatArray, n_bits: int) -> tuple[FloatArray, FloatArray]:
    r"""The projection of one view that minimises :math:`\mathrm{tr}(P \Sigma^D P^T)`.

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
        All eigenvalues, in increasing order.
    """
    values, vectors = scipy.linalg.eigh((difference + difference.T) / 2)
    P = vectors[:, :n_bits].T
    return P * _row_signs(P), values


def numerical_rank(magnitudes: FloatArray, n_features: int, dtype: np.dtype[np.floating]) -> int:
    """Number of singular values above the rounding error of features of ``dtype``.

    Examples
    --------
    >>> numerical_rank(np.array([2.0, 1.0, 1e-17]), 3, np.dtype(np.float64))
    2
    """
    # Products of features have the rounding error of their dtype; the decomposition is in float64.
    relative = max(np.finfo(dtype).eps, n_features * np.finfo(np.float64).eps)
    tolerance = magnitudes.max(initial=0.0) * relative
    return int((magnitudes > tolerance).sum())


def _row_signs(P: FloatArray) -> FloatArray:
    """Signs (n_bits, 1) that make the entry of largest magnitude in each row positive."""
    largest = np.abs(P).argmax(axis=1)
    return np.where(P[np.arange(len(P)), largest] < 0, -1.0, 1.0)[:, None]
