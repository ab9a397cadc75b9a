"""SRLCH: subspace relation learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from diffhash.comparison.linear_algebra import principal_axes
from diffhash.types import FloatArray

from .base import Grid, Labels, LinearPeer, label_vectors
from .ridge import Ridge, view_ridge


@dataclass
class SRLCH(LinearPeer):
    """Subspace relation learning for cross-modal hashing.

    Shen, Liu, Yang, Xu, Huang, Shen & Hong, "Exploiting subspace relation in semantic labels for
    cross-modal hashing", IEEE TKDE 2020. Codes ``B`` are linear in the labels ``L`` and in both views::

        |B - L W|² + label_ridge |W|²
            + view_weight (|B - X P|² + |B - Y Q|² + n ridge (s_x |P|² + s_y |Q|²)),    B = ±1

    The linear maps, then the codes, take their best values in turn, in closed form, so that no step
    raises the objective. The code of a new object is the sign of ``x P`` or ``y Q``. ``s`` is a view's
    largest variance. Any number of bits.
    """

    ridge: Ridge = "loo"
    view_weight: float = 0.1
    label_ridge: float = 1e-2
    n_iterations: int = 20
    trace: bool = False

    name: ClassVar[str] = "SRLCH"
    grid: ClassVar[Grid] = {"ridge": ["loo", 1e-4, 1e-2], "view_weight": [0.01, 1.0]}
    uses_labels: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True

    def _directions(self, X: FloatArray, Y: FloatArray, labels: Labels) -> tuple[FloatArray, FloatArray]:
        assert labels is not None  # fit has checked it
        L = label_vectors(labels)
        n = len(X)
        label_gram = L.T @ L + self.label_ridge * np.eye(L.shape[1])
        axes, variances, penalties = [], [], []
        for Z in (X, Y):
            one, variance = principal_axes(Z, Z.shape[1])
            axes.append(one)
            variances.append(variance)
            penalties.append(n * view_ridge(Z, labels, self.ridge) * float(variance[0]))
        coordinates = [Z @ one for Z, one in zip((X, Y), axes, strict=True)]
        B = np.where(
            np.random.default_rng(self.random_state).standard_normal((n, self.n_bits)) >= 0, 1.0, -1.0
        )
        self.objective_: list[float] = []
        for _ in range(self.n_iterations):
            W = np.linalg.solve(label_gram, L.T @ B)
            maps = [
                (Z.T @ B) / (n * variance + penalty + np.finfo(float).tiny)[:, None]
                for Z, variance, penalty in zip(coordinates, variances, penalties, strict=True)
            ]
            before = B
            B = L @ W + self.view_weight * sum(Z @ P for Z, P in zip(coordinates, maps, strict=True))
            B = np.where(B >= 0, 1.0, -1.0)
            if self.trace:
                value = np.sum((B - L @ W) ** 2) + self.label_ridge * np.sum(W**2)
                for Z, P, penalty in zip(coordinates, maps, penalties, strict=True):
                    value += self.view_weight * (np.sum((B - Z @ P) ** 2) + penalty * np.sum(P**2))
                self.objective_.append(float(value))
            elif np.array_equal(B, before):
                break
        self.codes_ = B
        first, second = (one @ P for one, P in zip(axes, maps, strict=True))
        return first, second
