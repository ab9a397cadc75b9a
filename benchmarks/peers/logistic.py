"""Logistic regression to codes of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from diffhash.comparison.linear_algebra import principal_axes
from diffhash.types import FloatArray

from .base import Grid, Labels, LinearPeer
from .ridge import class_targets


@dataclass
class LogisticCodes(LinearPeer):
    """Logistic regression of each view to each bit of the codes of the classes.

    Two-step hashing (Lin, Shen, Suter & van den Hengel, "A general two-step approach to
    learning-based hashing", ICCV 2013) with fixed codes that are far apart. For targets ``t`` of ±1
    each bit minimises ``mean log(1 + exp(-t (x·w + b))) + ridge s₁ |w|² / 2``, where ``s₁`` is the largest
    variance of the view. On kernel features this is kernel logistic regression. With several labels the
    target is the sign of the sum of their codes. Any number of bits.
    """

    ridge: float = 1e-3
    n_iterations: int = 60

    name: ClassVar[str] = "logistic to class codes"
    grid: ClassVar[Grid] = {"ridge": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]}
    uses_labels: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True

    def _directions(self, X: FloatArray, Y: FloatArray, labels: Labels) -> tuple[FloatArray, FloatArray]:
        targets = np.where(class_targets(labels, self.n_bits, self.random_state) >= 0, 1.0, -1.0)
        fitted = [fit_logistic(Z, targets, self.ridge, self.n_iterations) for Z in (X, Y)]
        self._biases = iter([bias for _, bias in fitted])
        return fitted[0][0], fitted[1][0]

    def _threshold(self, projected: FloatArray) -> FloatArray:  # noqa: ARG002 - the bias of the view
        return -next(self._biases)


def fit_logistic(
    X: FloatArray, targets: FloatArray, ridge: float, n_iterations: int
) -> tuple[FloatArray, FloatArray]:
    """Weights (d, n_bits) and biases of all bits together, by L-BFGS from zero.

    The problem is solved in principal coordinates that are scaled by the root of a bound of the second
    derivative, ``variance / 4 + ridge s₁``, in which a few dozen steps are enough.
    """
    n, bits = targets.shape
    axes, variances = principal_axes(X, X.shape[1])
    penalty = ridge * max(float(variances[0]), np.finfo(float).tiny)
    scale = 1 / np.sqrt(variances / 4 + penalty)
    Z = np.hstack([X @ axes * scale, np.full((n, 1), 2.0)])
    # |w|² in the new coordinates; the bias, in the last one, is not penalised.
    weights = np.append(penalty * scale**2, 0.0)[:, None]

    def value(flat: FloatArray) -> tuple[float, FloatArray]:
        W = flat.reshape(-1, bits)
        margins = targets * (Z @ W)
        loss = np.sum(np.logaddexp(0, -margins)) / n + np.sum(weights * W**2) / 2
        slope = Z.T @ (-targets * expit(-margins)) / n + weights * W
        return float(loss), slope.ravel()

    found = minimize(
        value,
        np.zeros(Z.shape[1] * bits),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": n_iterations, "maxcor": 10, "ftol": 1e-9},
    ).x.reshape(-1, bits)
    return axes @ (scale[:, None] * found[:-1]), 2.0 * found[-1]
