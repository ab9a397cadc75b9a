"""Few decorrelated coordinates of a view's features, in which learning is fast and penalties are fair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from ..types import FloatArray
from .base import MappedView
from .linear import inverse_root

__all__ = ["Components", "principal_components", "whitening_matrix"]

#: Above this many features their covariance matrix is never formed.
_WIDE = 2048
#: Rounds of subspace iteration for wide features, and directions beyond those asked for.
_ROUNDS, _SPARE = 4, 32


@dataclass(frozen=True)
class Components:
    """Principal components of a view's features, the largest variance first.

    Attributes
    ----------
    directions : float64 array of shape (n_features, rank)
        Orthonormal columns.
    variances : float64 array of shape (rank,)
        Of the features along them, all above zero.
    """

    directions: FloatArray
    variances: FloatArray

    def scales(self, ridge: float) -> FloatArray:
        r"""What to multiply each component by so that their variances become nearly equal.

        A component of variance v is divided by :math:`\sqrt{v + \mathrm{ridge} \cdot v_1}`: those
        that are small beside the largest stay small.
        """
        return np.asarray(1.0 / np.sqrt(self.variances + ridge * self.variances[0]))


def principal_components(view: MappedView, max_rank: int, rng: np.random.Generator) -> Components:
    """Principal components of the features of a view.

    Parameters
    ----------
    view : MappedView
        Its features must be centred (sparse rows: up to :attr:`MappedView.offset`).
    max_rank : int
        At most this many are kept; fewer where the features have no more.
    rng : Generator
        Starts the iteration for more than 2,048 features, where the components are approximate.

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
    if d > _WIDE:
        directions, variances = _iterated(view, rank, rng)
    else:
        variances, directions = _leading_eigenvectors(_times_covariance(view, None), rank)
    kept = variances > max(1e-7 * variances[0], np.finfo(np.float64).tiny)
    kept[0] = True
    return Components(np.ascontiguousarray(directions[:, kept]), variances[kept])


def whitening_matrix(view: MappedView, shrinkage: float) -> FloatArray:
    """Symmetric inverse root of the covariance of a view's features, see :func:`inverse_root`.

    The features need not be centred.
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
    else:  # divide and conquer, for all, is faster than LAPACK's other methods for a good part
        values, vectors = np.linalg.eigh(matrix)
    return values[: -rank - 1 : -1], vectors[:, : -rank - 1 : -1]


def _times_covariance(view: MappedView, V: FloatArray | None, mean: FloatArray | None = None) -> FloatArray:
    """Covariance of the features, times V if there is one; one pass over the rows."""
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


def _iterated(view: MappedView, rank: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Leading eigenvectors of the covariance by subspace iteration, without forming it."""
    width = min(rank + _SPARE, view.n_features, view.n_rows)
    V = np.linalg.qr(rng.standard_normal((view.n_features, width)))[0]
    for _ in range(_ROUNDS):
        V = np.linalg.qr(_times_covariance(view, V))[0]
    small = V.T @ _times_covariance(view, V)
    variances, turns = np.linalg.eigh((small + small.T) / 2)
    return (V @ turns)[:, ::-1][:, :rank], variances[::-1][:rank]
