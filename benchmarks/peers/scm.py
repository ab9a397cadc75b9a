"""Semantic correlation maximisation, both of its forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse.linalg import svds

from diffhash.comparison.linear_algebra import canonical_directions
from diffhash.types import FloatArray

from .base import Grid, Labels, LinearPeer, second_moment, weighted_moment

_RIDGES: list[float] = [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0]


def semantic_moment(X: FloatArray, Y: FloatArray, labels: Labels) -> FloatArray:
    """``Xᵀ S Y`` with ``S = 2 W - 1 1ᵀ``, ``W`` the cosine of two objects' labels.

    Without labels every pair is its own class (``W`` the identity); SCM-orth is then CCA.
    """
    return 2 * weighted_moment(X, Y, labels) - np.outer(X.sum(axis=0), Y.sum(axis=0))


@dataclass
class SCMOrth(LinearPeer):
    """SCM with orthogonal projections.

    Zhang & Li, "Large-scale supervised multimodal hashing with semantic correlation
    maximization", AAAI 2014.
    Maximises ``tr(Aᵀ Xᵀ S Y B)`` with ``Aᵀ XᵀX A = Bᵀ YᵀY B = n I``. At most ``min(d, d')`` bits.
    ``Xᵀ S Y`` has no more rank than there are classes: bits beyond it are directions of zero
    semantic correlation, as in the paper; accuracy falls with them, and they change with the
    rounding of the linear algebra (its number of threads, say).
    """

    ridge: float = 1e-2

    name: ClassVar[str] = "SCM-orth"
    grid: ClassVar[Grid] = {"ridge": _RIDGES}
    uses_labels: ClassVar[bool] = True

    def _directions(self, X: FloatArray, Y: FloatArray, labels: Labels) -> tuple[FloatArray, FloatArray]:
        self._at_most(min(X.shape[1], Y.shape[1]), f"views of {X.shape[1]} and {Y.shape[1]} features")
        A, B, self.correlations_ = canonical_directions(
            second_moment(X, self.ridge),
            second_moment(Y, self.ridge),
            semantic_moment(X, Y, labels) / len(X) ** 2,
        )
        return A[:, : self.n_bits], B[:, : self.n_bits]


@dataclass
class SCMSeq(LinearPeer):
    """SCM learned bit by bit (Zhang & Li 2014): any number of bits.

    Bit ``t`` takes the directions that correlate most through what the bits before it left,
    ``R_t = c S - Σ_{k<t} sgn(X a_k) sgn(Y b_k)ᵀ`` (``c`` bits in all). Only ``Xᵀ R_t Y`` is kept:
    each bit subtracts an outer product of two vectors from it.

    Needs labels. With every pair its own class nearly all of ``S`` is -1: the first bit already
    takes away more than there is, and the second learns to disagree (symbols, 128 bits: recall at
    chance). The same begins when there are far more classes than bits.
    """

    ridge: float = 1e-2

    name: ClassVar[str] = "SCM-seq"
    grid: ClassVar[Grid] = {"ridge": _RIDGES}
    uses_labels: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True

    def _directions(self, X: FloatArray, Y: FloatArray, labels: Labels) -> tuple[FloatArray, FloatArray]:
        F = cholesky(second_moment(X, self.ridge), lower=True)
        G = cholesky(second_moment(Y, self.ridge), lower=True)
        # In whitened coordinates the generalised eigenproblem is a plain singular pair.
        X, Y = solve_triangular(F, X.T, lower=True).T, solve_triangular(G, Y.T, lower=True).T
        left = self.n_bits * semantic_moment(X, Y, labels)
        U, V = np.empty((X.shape[1], self.n_bits)), np.empty((Y.shape[1], self.n_bits))
        for bit in range(self.n_bits):
            U[:, bit], V[:, bit] = leading_pair(left)
            h = np.where(X @ U[:, bit] >= 0, 1.0, -1.0)
            g = np.where(Y @ V[:, bit] >= 0, 1.0, -1.0)
            left -= np.outer(X.T @ h, Y.T @ g)
        return solve_triangular(F, U, lower=True, trans="T"), solve_triangular(G, V, lower=True, trans="T")


def leading_pair(M: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Singular vectors of the largest singular value."""
    if min(M.shape) < 64:
        U, _, Vt = np.linalg.svd(M, full_matrices=False)
        return U[:, 0], Vt[0]
    # One pair of a large matrix: Lanczos, from a fixed start so that it is reproducible.
    start = np.random.default_rng(0).standard_normal(min(M.shape))
    U, _, Vt = svds(M, k=1, v0=start)
    return U[:, 0], Vt[0]
