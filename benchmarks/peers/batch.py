"""BATCH: asymmetric discrete cross-modal hashing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from diffhash.types import FloatArray

from .base import Grid, Labels, LinearPeer, label_vectors
from .ridge import Ridge, ridge_map, view_ridge


@dataclass
class BATCH(LinearPeer):
    """Asymmetric discrete cross-modal hashing.

    Wang, Luo, Nie, Song, Zhang & Xu, "BATCH: a scalable asymmetric discrete cross-modal hashing", IEEE
    TKDE 2020. Codes ``B`` and real rows ``V`` of ``c`` bits shall have products like the similarity
    ``S = L Lᵀ`` of the labels, and ``V`` shall rebuild both views and the labels::

        |c S - V Bᵀ|² + closeness |B - V|²
            + view_weight (|X - V U|² + |Y - V W|²) + label_weight |L - V G|²
            + penalty (view_weight (|U|² + |W|²) + label_weight |G|²),
        VᵀV = n I, Vᵀ1 = 0, B = ±1

    Each factor in turn takes its best value, in closed form, so that no step raises the objective. ``S``
    is never formed. Then each view learns the codes by ridge regression.

    Each view is divided by the root of its mean squared row length. At most ``n - 1`` bits.
    """

    ridge: Ridge = "loo"
    view_weight: float = 0.05
    label_weight: float = 0.9
    closeness: float = 0.01
    penalty: float = 1e-3
    n_iterations: int = 5
    trace: bool = False

    name: ClassVar[str] = "BATCH"
    grid: ClassVar[Grid] = {"ridge": ["loo", 1e-4, 1e-2], "view_weight": [0.05, 1e4]}
    uses_labels: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True

    def _directions(self, X: FloatArray, Y: FloatArray, labels: Labels) -> tuple[FloatArray, FloatArray]:
        assert labels is not None  # fit has checked it
        n, bits = len(X), self.n_bits
        self._at_most(n - 1, f"{n} rows")
        L = label_vectors(labels)
        rebuilt = [(self.view_weight, _unit_mean(Z)) for Z in (X, Y)] + [(self.label_weight, L)]
        rng = np.random.default_rng(self.random_state)
        B = np.where(rng.standard_normal((n, bits)) >= 0, 1.0, -1.0)
        V = nearest_orthogonal(rng.standard_normal((n, bits)), rng)
        self.objective_: list[float] = []
        for _ in range(self.n_iterations):
            # VᵀV = n I makes the ridge regressions from V divisions.
            factors = [V.T @ target / (n + self.penalty) for _, target in rebuilt]
            Z = bits * (L @ (L.T @ B)) + self.closeness * B
            Z += sum(a * (target @ F.T) for (a, target), F in zip(rebuilt, factors, strict=True))
            V = nearest_orthogonal(Z, rng)
            B = np.where(bits * (L @ (L.T @ V)) + self.closeness * V >= 0, 1.0, -1.0)
            if self.trace:
                self.objective_.append(self._objective(L, B, V, rebuilt, factors))
        self.codes_ = B
        self.offset_ = B.mean(axis=0)
        first, second = (ridge_map(Z, B - self.offset_, view_ridge(Z, labels, self.ridge)) for Z in (X, Y))
        return first, second

    def _threshold(self, projected: FloatArray) -> FloatArray:  # noqa: ARG002 - the mean of the codes
        return -self.offset_

    def _objective(
        self,
        L: FloatArray,
        B: FloatArray,
        V: FloatArray,
        rebuilt: list[tuple[float, FloatArray]],
        factors: list[FloatArray],
    ) -> float:
        value = float(
            np.sum((self.n_bits * (L @ L.T) - V @ B.T) ** 2) + self.closeness * np.sum((B - V) ** 2)
        )
        for (weight, target), F in zip(rebuilt, factors, strict=True):
            value += weight * float(np.sum((target - V @ F) ** 2) + self.penalty * np.sum(F**2))
        return value


def nearest_orthogonal(Z: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The ``V`` with ``VᵀV = n I`` and ``Vᵀ1 = 0`` that maximises ``tr(VᵀZ)``.

    With the centred ``Z = P Σ Qᵀ`` this is ``√n P Qᵀ``. Where ``Σ`` is zero, ``P`` is completed by random
    directions that are orthogonal to the others and to the constant.
    """
    n, bits = Z.shape
    centred = Z - Z.mean(axis=0)
    # Not from ZᵀZ: the features' part of Z can be 10⁻⁵ of the labels', and its square is lost in rounding.
    P, values, Qt = np.linalg.svd(centred, full_matrices=False)
    Q = Qt.T
    kept = values > 1e-11 * max(values[0], np.finfo(float).tiny)
    P = P[:, kept]
    if not kept.all():
        known = np.hstack([np.full((n, 1), n**-0.5), P])
        extra = rng.standard_normal((n, bits - P.shape[1]))
        for _ in range(2):  # twice: once leaves what rounding makes of it
            extra -= known @ (known.T @ extra)
        P, Q = np.hstack([P, np.linalg.qr(extra)[0]]), np.hstack([Q[:, kept], Q[:, ~kept]])
    return np.sqrt(n) * P @ Q.T


def _unit_mean(X: FloatArray) -> FloatArray:
    """Rows whose mean squared length is 1."""
    return X / (np.sqrt(np.sum(X**2) / len(X)) or 1.0)
