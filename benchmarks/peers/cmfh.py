"""Collective matrix factorisation hashing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve

from diffhash.types import FloatArray

from .base import Grid, Labels, LinearPeer


@dataclass
class CMFH(LinearPeer):
    """Collective matrix factorisation hashing (Ding, Guo & Zhou, CVPR 2014), from pairs alone.

    Both views of an object share one vector, a row ``v`` of ``V``; linear functions ``P`` and
    ``Q`` predict it from either view. Minimised by closed-form steps in turn, none of which can
    raise it::

        weight |X - V S|² + (1 - weight) |Y - V T|²
            + coupling (|V - X P|² + |V - Y Q|²)
            + penalty (|S|² + |T|² + |V|² + |P|² + |Q|²)

    Each view is divided by the root of its mean square entry, so that one ``weight`` suits views
    of any scale. Any number of bits: beyond the ``d + d'`` features together ``V`` cannot have
    full rank, and further bits are mixtures of the others.
    """

    weight: float = 0.5
    coupling: float = 100.0
    penalty: float = 1e-2
    n_iterations: int = 30
    #: Keep the objective after every step in ``objective_``, which takes as long as the steps.
    trace: bool = False

    name: ClassVar[str] = "CMFH"
    grid: ClassVar[Grid] = {"weight": [0.2, 0.5, 0.8], "coupling": [1.0, 100.0]}

    def _directions(
        self,
        X: FloatArray,
        Y: FloatArray,
        labels: Labels,  # noqa: ARG002 - pairs alone
    ) -> tuple[FloatArray, FloatArray]:
        scale_x, scale_y = _root_mean_square(X), _root_mean_square(Y)
        X, Y = X / scale_x, Y / scale_y
        w, mu, gamma = self.weight, self.coupling, self.penalty
        eye = np.eye(self.n_bits)
        # These do not change from step to step, and are the largest systems.
        own = [cho_factor(mu * (Z.T @ Z) + gamma * np.eye(Z.shape[1])) for Z in (X, Y)]
        V = np.random.default_rng(self.random_state).standard_normal((len(X), self.n_bits))
        self.objective_: list[float] = []
        for _ in range(self.n_iterations):
            VV = V.T @ V
            S = solve(w * VV + gamma * eye, w * (V.T @ X), assume_a="pos")
            T = solve((1 - w) * VV + gamma * eye, (1 - w) * (V.T @ Y), assume_a="pos")
            P, Q = (cho_solve(factor, mu * (Z.T @ V)) for factor, Z in zip(own, (X, Y), strict=True))
            left = w * (S @ S.T) + (1 - w) * (T @ T.T) + (2 * mu + gamma) * eye
            right = w * (X @ S.T) + (1 - w) * (Y @ T.T) + mu * (X @ P + Y @ Q)
            V = solve(left, right.T, assume_a="pos").T
            if self.trace:
                self.objective_.append(self._objective(X, Y, V, S, T, P, Q))
        return P / scale_x, Q / scale_y

    def _objective(
        self,
        X: FloatArray,
        Y: FloatArray,
        V: FloatArray,
        S: FloatArray,
        T: FloatArray,
        P: FloatArray,
        Q: FloatArray,
    ) -> float:
        factors = self.weight * _square(X - V @ S) + (1 - self.weight) * _square(Y - V @ T)
        functions = self.coupling * (_square(V - X @ P) + _square(V - Y @ Q))
        return factors + functions + self.penalty * sum(map(_square, (S, T, V, P, Q)))


def _square(A: FloatArray) -> float:
    return float(np.sum(A**2))


def _root_mean_square(X: FloatArray) -> float:
    return float(np.sqrt(np.mean(X**2))) or 1.0
