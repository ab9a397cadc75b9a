"""SCRATCH: discrete matrix factorisation hashing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import solve

from diffhash.comparison.linear_algebra import principal_axes, random_rotation
from diffhash.types import FloatArray

from .base import Grid, Labels, LinearPeer, label_vectors
from .ridge import Ridge, view_ridge


@dataclass
class SCRATCH(LinearPeer):
    """Scalable discrete matrix factorisation hashing.

    Li, Chen, Zhang, Luo, Nie, Zhang & Xu, "SCRATCH: a scalable discrete matrix factorization hashing
    for cross-modal retrieval", ACM MM 2018. Objects have latent rows ``V``, from which both views and the
    labels ``L`` are rebuilt, which both views predict, and whose rotation is close to the codes ``B``::

        weight |X - V S|² + (1 - weight) |Y - V T|² + label_weight |L - V G|² + |B - V R|²
            + coupling (|V - X P|² + |V - Y Q|² + n ridge (s_x |P|² + s_y |Q|²))
            + penalty (|S|² + |T|² + |G|² + |V|²),    RᵀR = I, B = ±1

    Each factor in turn takes its best value, in closed form, so that no step raises the objective. The
    code of a new object is the sign of ``x P R`` or ``y Q R``.

    Each view is divided by the root of its mean squared row length. ``s`` is a view's largest variance;
    the paper has one penalty for all factors.
    """

    ridge: Ridge = "loo"
    label_weight: float = 1000.0
    weight: float = 0.5
    coupling: float = 10.0
    penalty: float = 1e-2
    n_iterations: int = 20
    trace: bool = False

    name: ClassVar[str] = "SCRATCH"
    grid: ClassVar[Grid] = {"ridge": ["loo", 1e-4, 1e-2], "label_weight": [1e3, 1e4]}
    uses_labels: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True

    def _directions(self, X: FloatArray, Y: FloatArray, labels: Labels) -> tuple[FloatArray, FloatArray]:
        assert labels is not None  # fit has checked it
        L = label_vectors(labels)
        n = len(X)
        own = [_Regression(Z, view_ridge(Z, labels, self.ridge)) for Z in (X, Y)]
        X, Y = own[0].X, own[1].X
        w = self.weight
        rng = np.random.default_rng(self.random_state)
        eye = np.eye(self.n_bits)
        V = rng.standard_normal((n, self.n_bits))
        R = random_rotation(self.n_bits, rng)
        self.objective_: list[float] = []
        for _ in range(self.n_iterations):
            B = np.where(V @ R >= 0, 1.0, -1.0)
            S, T, G = (
                solve(a * (V.T @ V) + self.penalty * eye, a * (V.T @ target), assume_a="pos")
                for a, target in ((w, X), (1 - w, Y), (self.label_weight, L))
            )
            P, Q = (regression.solve(V) for regression in own)
            left = w * (S @ S.T) + (1 - w) * (T @ T.T) + self.label_weight * (G @ G.T)
            left += (1 + 2 * self.coupling + self.penalty) * eye
            right = w * (X @ S.T) + (1 - w) * (Y @ T.T) + self.label_weight * (L @ G.T)
            right += self.coupling * (X @ P + Y @ Q) + B @ R.T
            V = solve(left, right.T, assume_a="pos").T
            U, _, Wt = np.linalg.svd(V.T @ B)
            R = U @ Wt
            if self.trace:
                self.objective_.append(
                    w * _square(X - V @ S)
                    + (1 - w) * _square(Y - V @ T)
                    + self.label_weight * _square(L - V @ G)
                    + _square(B - V @ R)
                    + self.coupling * (own[0].loss(V, P) + own[1].loss(V, Q))
                    + self.penalty * (_square(S) + _square(T) + _square(G) + _square(V))
                )
        P, Q = (regression.solve(V) for regression in own)
        return P @ R / own[0].scale, Q @ R / own[1].scale


class _Regression:
    """``|V - X P|² + n ridge s |P|²`` of a scaled view, solved for many ``V``."""

    def __init__(self, X: FloatArray, ridge: float) -> None:
        self.scale = float(np.sqrt(np.sum(X**2) / len(X))) or 1.0
        self.X = X / self.scale
        self.axes, variances = principal_axes(self.X, X.shape[1])
        self.penalty = len(X) * ridge * float(variances[0])
        self.inverse = 1 / (len(X) * variances + self.penalty + np.finfo(float).tiny)

    def solve(self, V: FloatArray) -> FloatArray:
        return self.axes @ (self.inverse[:, None] * (self.axes.T @ (self.X.T @ V)))

    def loss(self, V: FloatArray, P: FloatArray) -> float:
        return _square(V - self.X @ P) + self.penalty * _square(P)


def _square(A: FloatArray) -> float:
    return float(np.sum(A**2))
