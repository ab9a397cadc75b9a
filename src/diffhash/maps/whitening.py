"""Principal components and whitening of the features of a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from ..types import FloatArray
from .linear import inverse_root
from .mapped_view import MappedView

__all__ = ["Components", "principal_components", "whitening_matrix"]

#: With more features than this, their covariance matrix is not computed.
_MAX_COVARIANCE_FEATURES = 2048
#: Steps of the subspace iteration, and number of directions in addition to the requested ones.
_N_ITERATIONS, _N_EXTRA_DIRECTIONS = 4, 32


@dataclass(frozen=True)
class Components:
    """Principal components of the features of a view, in decreasing order of variance.

    Attributes
    ----------
    directions : float64 array of shape (n_features, rank)
        Orthonormal columns.
    variances : float64 array of shape (rank,)
        Variances of the features along the directions, all above zero.
    """

    directions: FloatArray
    variances: FloatArray

    def scales(self, ridge: float) -> FloatArray:
        r"""Factors of the components that make their variances nearly equal.

        A component with variance v is divided by :math:`\sqrt{v + \mathrm{ridge} \cdot v_1}`. If v is
        small compared to :math:`\mathrm{ridge} \cdot v_1`, the component stays small.
        """
        return np.asarray(1.0 / np.sqrt(self.variances + ridge * self.variances[0]))


def principal_components(view: MappedView, max_rank: int, rng: np.random.Generator) -> Components:
    """Principal components of the features of a view.

    Parameters
    ----------
    view : MappedView
        Its features must be centred, except for :attr:`MappedView.offset` of sparse rows.
    max_rank : int
        Largest number of components. Components without variance are left out.
    rng : Generator
        Gives the start of an iteration. It is used only with more than 2,048 features; the components
        are then approximate.

    Examples
    --------
    >>> from diffhash.maps import LinearMap
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.1], [0.0, -0.1]])
    >>> view = MappedView(X, LinearMap(np.zeros(2)))
    >>> principal_components(view, 2, np.random.default_rng(0)).variances
    array([0.5  , 0.005])
    """
    d = view.n_features
    rank = min(max_rank, d)
    if d > _MAX_COVARIANCE_FEATURES:
        directions, variances = _subspace_iteration(view, rank, rng)
    else:
        variances, directions = _leading_eigenvectors(_times_covariance(view, None), rank)
    kept = variances > max(1e-7 * variances[0], np.finfo(np.float64).tiny)
    kept[0] = True
    return Components(np.ascontiguousarray(directions[:, kept]), variances[kept])


def whitening_matrix(view: MappedView, shrinkage: float) -> FloatArray:
    """Symmetric inverse root of the covariance of the features of a view, see :func:`inverse_root`.

    The features do not have to be centred.
    """
    mean = np.zeros(view.n_features)
    for _, block in view.blocks():
        mean += np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
    mean = mean / view.n_rows
    return inverse_root(_times_covariance(view, None, mean), shrinkage)


def _leading_eigenvectors(matrix: FloatArray, rank: int) -> tuple[FloatArray, FloatArray]:
    """The largest eigenvalues of a symmetric matrix, decreasing, and their eigenvectors."""
    n = len(matrix)
    if 4 * rank < n:
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[n - rank, n - 1])
    else:
        # Computing all of them by divide and conquer is faster than a large subset by another LAPACK method.
        values, vectors = np.linalg.eigh(matrix)
    return values[: -rank - 1 : -1], vectors[:, : -rank - 1 : -1]


def _times_covariance(view: MappedView, V: FloatArray | None, mean: FloatArray | None = None) -> FloatArray:
    """Covariance of the features, times V if V is given; one pass over the rows."""
    total: Any = 0.0
    offset = view.offset if mean is None else mean
    for _, block in view.blocks():
        if V is None:
            product = block.T @ block
        else:
            values = block @ V.astype(block.dtype) - (offset @ V).astype(block.dtype)
            product = block.T @ values - np.outer(offset, values.sum(axis=0))
        total = total + (product.toarray() if scipy.sparse.issparse(product) else product)
    total = np.asarray(total, dtype=np.float64)
    if V is None:
        total -= view.n_rows * np.outer(offset, offset)
    return np.asarray(total / view.n_rows)


def _subspace_iteration(
    view: MappedView, rank: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Leading eigenvectors and eigenvalues of the covariance, without computing the covariance."""
    width = min(rank + _N_EXTRA_DIRECTIONS, view.n_features, view.n_rows)
    V = np.linalg.qr(rng.standard_normal((view.n_features, width)))[0]
    for _ in range(_N_ITERATIONS):
        V = np.linalg.qr(_times_covariance(view, V))[0]
    projected = V.T @ _times_covariance(view, V)
    variances, rotation = np.linalg.eigh((projected + projected.T) / 2)
    return (V @ rotation)[:, ::-1][:, :rank], variances[::-1][:rank]
