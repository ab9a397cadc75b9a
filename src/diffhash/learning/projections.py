"""Projection matrices from the covariance difference."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..threads import one_blas_thread
from ..types import FloatArray

__all__ = [
    "Subspace",
    "covariance_difference",
    "decompose_difference",
    "eigen_projections",
    "leading_directions",
    "leading_eigenvectors",
    "numerical_rank",
    "row_signs",
    "singular_projections",
    "smallest_eigenvectors",
]

#: Symmetric matrices of at most this size are reduced with one thread.
_ONE_THREAD = 1500
#: Matrices with fewer rows or columns are decomposed quickly in any way.
_LARGE = 256
#: Smallest singular value, relative to the largest, whose directions may come from the squared matrix.
_SMALLEST_SQUARED = 1e-3
#: Smallest difference of two singular values whose directions come from the squared matrix, relative to the largest.
_SMALLEST_GAP = 1e-6


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


def leading_directions(matrix: FloatArray, n_directions: int, *, one_view: bool) -> Subspace:
    """The strongest directions. For a large matrix this is several times faster than all directions.

    The directions of a large matrix of two views are eigenvectors of the matrix times its transpose. Only
    the vectors of small singular values lose precision by this; below 1e-6 of the largest they are left out.
    """
    n = min(matrix.shape)
    if n <= max(n_directions, 64):
        return decompose_difference(matrix, min(n, n_directions), one_view=one_view).first(n_directions)
    if one_view:
        values, vectors = smallest_eigenvectors((matrix + matrix.T) / 2, n_directions)
        P = vectors.T * row_signs(vectors.T)
        return Subspace(P, P, np.maximum(-values, 0.0))
    if matrix.shape[0] > matrix.shape[1]:
        found = leading_directions(matrix.T, n_directions, one_view=False)
        return Subspace(found.Q, found.P, found.strengths)
    vectors = smallest_eigenvectors(-(matrix @ matrix.T), n_directions)[1]
    P = vectors.T * row_signs(vectors.T)
    Q = -(P @ matrix)
    strengths = np.linalg.norm(Q, axis=1)
    kept = strengths > 1e-6 * strengths[0]
    kept[0] = True
    return Subspace(P[kept], Q[kept] / np.maximum(strengths[kept, None], 1e-300), strengths[kept])


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
    "smallest"; those make the trace almost zero.) Directions do not depend on ``n_bits``, up to rounding, so the
    bits of a short code are the first bits of a long one. In each row of P the entry of largest
    magnitude is made positive, so signs do not depend on the machine.

    The directions of a large matrix come from the eigenvectors of the matrix times its transpose, in a third of the
    time, if the smallest singular value that is used is at least 1e-3 of the largest, and values that are used differ
    by at least 1e-6 of the largest. Squaring costs digits of directions whose values are small or close to each other.
    Singular values are exact to 1e-7 of the largest one.
    """
    n = min(difference.shape)
    if n >= _LARGE and 4 * n_bits <= n:
        found = _squared_projections(difference, n_bits)
        if found is not None:
            return found
    u, values, vt = scipy.linalg.svd(difference, full_matrices=False)
    P = u[:, :n_bits].T
    signs = row_signs(P)
    return P * signs, -vt[:n_bits] * signs, values


def _squared_projections(
    difference: FloatArray, n_bits: int
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Singular projections from the square of the matrix; None if values are too small or too close for it."""
    if difference.shape[0] > difference.shape[1]:
        found = _squared_projections(difference.T, n_bits)
        if found is None:
            return None
        Q, P, values = found
        signs = row_signs(-P)
        return -P * signs, -Q * signs, values
    # The scale keeps squares from overflowing. It is a power of 2, so that nothing is rounded.
    _, exponent = np.frexp(np.abs(difference).max())
    scaled = np.ldexp(difference, -exponent)
    squares, vectors = leading_eigenvectors(scaled @ scaled.T, n_bits)
    values = np.sqrt(np.maximum(squares, 0.0))
    if not values[n_bits - 1] >= _SMALLEST_SQUARED * values[0] > 0.0:
        return None
    # Directions of equal values are arbitrary within their space, and would depend on the number of bits.
    if (values[:n_bits] - values[1 : n_bits + 1]).min() < _SMALLEST_GAP * values[0]:
        return None
    P = vectors.T * row_signs(vectors.T)
    Q = P @ scaled
    return P, -Q / np.linalg.norm(Q, axis=1, keepdims=True), np.ldexp(values, exponent)


def leading_eigenvectors(matrix: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """All eigenvalues of a symmetric matrix, decreasing, and the eigenvectors of the first ones as columns.

    Reducing the matrix to a tridiagonal one takes most of the time. Its eigenvalues, and few eigenvectors, are found
    quickly.
    """
    n = len(matrix)
    # Half of the work are products with vectors. BLAS wakes its threads for each of them, which takes longer than a
    # product if the matrix is small.
    with one_blas_thread() if n <= _ONE_THREAD else nullcontext():
        # With less memory to work in, LAPACK reduces one column at a time, which takes twice as long.
        reduced, diagonal, beside, tau, info = scipy.linalg.lapack.dsytrd(
            np.asfortranarray(matrix), lower=1, lwork=64 * n
        )
    assert info == 0, "the arguments are legal"
    values = scipy.linalg.eigvalsh_tridiagonal(diagonal, beside, lapack_driver="sterf")
    _, vectors = scipy.linalg.eigh_tridiagonal(
        diagonal, beside, select="i", select_range=(n - count, n - 1), lapack_driver="stemr"
    )
    vectors = np.asfortranarray(vectors[:, ::-1])
    # The reflections of the reduction lie below its subdiagonal, as those of a QR decomposition.
    vectors[1:] = _reflected(reduced[1:, : n - 1], tau, vectors[1:])
    return values[::-1], vectors


def _reflected(reflections: FloatArray, tau: FloatArray, vectors: FloatArray) -> FloatArray:
    found, _, info = scipy.linalg.lapack.dormqr("L", "N", reflections, tau, vectors, 64 * len(vectors))
    assert info == 0, "the arguments are legal"
    return np.asarray(found)


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
    return P * row_signs(P), values


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


def smallest_eigenvectors(matrix: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """The smallest eigenvalues of a symmetric matrix, increasing, and their eigenvectors as columns."""
    if 4 * count >= len(matrix):
        # Computing all of them by divide and conquer is faster than a large subset by another LAPACK method.
        values, vectors = np.linalg.eigh(matrix)
        return values[:count], vectors[:, :count]
    values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[0, count - 1])
    return values, vectors


def row_signs(P: FloatArray) -> FloatArray:
    """Signs (n_bits, 1) that make the entry of largest magnitude in each row positive.

    Of nearly equal ones it is the first: with features that mirror each other, rounding would decide.
    """
    magnitudes = np.abs(P)
    largest = (magnitudes >= (1 - 1e-6) * magnitudes.max(axis=1, keepdims=True)).argmax(axis=1)
    return np.where(P[np.arange(len(P)), largest] < 0, -1.0, 1.0)[:, None]
