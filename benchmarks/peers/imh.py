"""Inter-media hashing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.neighbors import kneighbors_graph

from diffhash.types import FloatArray

from .base import Grid, Labels, LinearPeer


@dataclass
class IMH(LinearPeer):
    """Inter-media hashing, from pairs alone.

    Song, Yang, Yang, Huang & Shen, "Inter-media hashing for large-scale retrieval from
    heterogeneous data sources", SIGMOD 2013.
    Codes ``F`` of one view and ``G`` of the other minimise, subject to ``FᵀF = I``::

        tr(Fᵀ L_x F) + tr(Gᵀ L_y G) + inter · |F - G|²
            + min_A (|X A - F|² + ridge |A|²) + min_B (|Y B - G|² + ridge |B|²)

    with ``L`` the Laplacian of each view's graph of nearest neighbours, and ``X``, ``Y`` centred.
    The inner problems are ridge regressions, which also encode new objects. ``G`` is linear in
    ``F``, so ``F`` holds the eigenvectors of the smallest eigenvalues of one symmetric matrix
    (:func:`imh_matrix`), the constant vector left out. Bits are cut at the median.

    That matrix is n × n: at most ``n_rows`` training rows are used, drawn at random. The graph's
    weights are divided by the number of neighbours, and ``ridge`` counts in units of the mean
    eigenvalue of ``XᵀX``; both only rescale the parameters. At most ``n - 1`` bits; beyond the
    number of features they are no longer linearly independent.
    """

    inter: float = 1.0
    ridge: float = 1e-1
    n_neighbors: int = 10
    n_rows: int = 1000

    name: ClassVar[str] = "IMH"
    grid: ClassVar[Grid] = {"inter": [0.01, 0.1, 1.0], "ridge": [1e-2, 1.0]}

    def _directions(
        self,
        X: FloatArray,
        Y: FloatArray,
        labels: Labels,  # noqa: ARG002 - pairs alone
    ) -> tuple[FloatArray, FloatArray]:
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.permutation(len(X))[: self.n_rows])
        X, Y = X[rows] - X[rows].mean(axis=0), Y[rows] - Y[rows].mean(axis=0)
        n = len(rows)
        self._at_most(n - 1, f"graphs of {n} rows")
        neighbors = min(self.n_neighbors, n - 1)
        own = [laplacian(Z, neighbors) + regression_loss(Z, self.ridge) for Z in (X, Y)]
        M, to_g = imh_matrix(own[0], own[1], self.inter)
        # The constant vector has eigenvalue 0 and says nothing: move it behind all others.
        M += np.trace(M) / n
        _, F = eigh(M, subset_by_index=(0, self.n_bits - 1))
        # Unit columns of n entries are tiny; this scale makes the projections of the order of 1.
        F *= np.sqrt(n)
        return ridge_solution(X, F, self.ridge), ridge_solution(Y, to_g @ F, self.ridge)

    def _threshold(self, projected: FloatArray) -> FloatArray:
        return np.median(projected, axis=0)


def imh_matrix(own_x: FloatArray, own_y: FloatArray, inter: float) -> tuple[FloatArray, FloatArray]:
    """Eliminate ``G``: the matrix ``M`` of ``tr(Fᵀ M F)``, and ``T`` of the best ``G = T F``.

    The derivative by ``G`` vanishes at ``(own_y + inter I) G = inter F``; put back,
    ``M = own_x + inter I - inter² (own_y + inter I)⁻¹``.
    """
    n = len(own_x)
    T = inter * cho_solve(cho_factor(own_y + inter * np.eye(n)), np.eye(n))
    M = own_x + inter * np.eye(n) - inter * T
    return (M + M.T) / 2, T


def laplacian(X: FloatArray, n_neighbors: int) -> FloatArray:
    """Degrees minus weights; two rows are joined if one is among the other's nearest."""
    near = kneighbors_graph(X, n_neighbors).toarray()
    weights = np.maximum(near, near.T) / n_neighbors
    return np.diag(weights.sum(axis=0)) - weights


def _ridge(X: FloatArray, ridge: float) -> FloatArray:
    gram = X.T @ X
    gram[np.diag_indices_from(gram)] += ridge * np.trace(gram) / len(gram) + np.finfo(float).tiny
    return gram


def ridge_solution(X: FloatArray, F: FloatArray, ridge: float) -> FloatArray:
    """``(XᵀX + ridge)⁻¹ Xᵀ F``."""
    return cho_solve(cho_factor(_ridge(X, ridge)), X.T @ F)


def regression_loss(X: FloatArray, ridge: float) -> FloatArray:
    """Matrix ``B`` with ``tr(Fᵀ B F) = min_A |X A + 1 bᵀ - F|² + ridge |A|²`` for centred ``X``."""
    n = len(X)
    centring = np.eye(n) - 1 / n
    return centring - X @ ridge_solution(X, np.eye(n), ridge)
