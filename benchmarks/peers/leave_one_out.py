"""Ridge regression to class indicators with exact leave-one-out predictions, in closed form.

With principal coordinates ``Z`` (n, k) of variances ``s``, indicators ``T`` (n, classes) of mean ``T̄``, and
``λ`` in units of the largest variance ``s₁``::

    W = (diag s + λ s₁)⁻¹ Zᵀ (T - T̄) / n,    F = Z W
    h_i = 1/n + Σ_k z_ik² / (n (s_k + λ s₁))
    L_i = F_i - (T_i - T̄ - F_i) h_i / (1 - h_i)

``T̄ + L_i`` is what a fit to all rows but ``i`` predicts for row ``i`` (the penalty kept as it is).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffhash.types import BoolArray, FloatArray, IntArray

#: λ from 10⁻⁷ to 10 in half decades, and the steepness of the softmax.
RIDGES = tuple(float(ridge) for ridge in 10.0 ** np.arange(-7, 1.25, 0.5))
STEEPNESS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


@dataclass(frozen=True)
class RidgeChoice:
    """The best ridge by leave-one-out log loss of ``softmax(steepness · (T̄ + L))``."""

    ridge: float
    steepness: float
    loss: float


def indicators(labels: IntArray | BoolArray) -> FloatArray:
    """One column per class; several labels of an object share its row, which sums to 1."""
    if labels.ndim == 1:
        classes, index = np.unique(labels, return_inverse=True)
        return np.eye(len(classes))[index]
    counts = labels.sum(axis=1, keepdims=True)
    return np.divide(labels.astype(float), counts, out=np.zeros(labels.shape), where=counts > 0)


def ridge_weights(Z: FloatArray, targets: FloatArray, ridge: float) -> FloatArray:
    """Weights (k, m) from principal coordinates to centred targets."""
    variances = np.mean(Z**2, axis=0)
    return Z.T @ targets / len(Z) / (variances + ridge * _largest(variances))[:, None]


def leave_one_out(Z: FloatArray, targets: FloatArray, ridge: float) -> FloatArray:
    """Predictions ``L`` of centred targets, each by a fit to the other rows."""
    n = len(Z)
    variances = np.mean(Z**2, axis=0)
    fitted = Z @ ridge_weights(Z, targets, ridge)
    leverage = 1 / n + Z**2 @ (1 / (n * (variances + ridge * _largest(variances))))
    # A row that determines its own prediction (leverage 1) has no leave-one-out one: keep it finite.
    leverage = np.minimum(leverage, 1 - 1e-9)[:, None]
    return fitted - (targets - fitted) * leverage / (1 - leverage)


def choose_ridge(Z: FloatArray, labels: IntArray | BoolArray) -> RidgeChoice:
    """Try all ridges and steepnesses on the rows themselves."""
    T = indicators(labels)
    mean = T.mean(axis=0)
    best = RidgeChoice(RIDGES[-1], STEEPNESS[0], np.inf)
    for ridge in RIDGES:
        losses = log_losses(mean + leave_one_out(Z, T - mean, ridge), T)
        for steepness, loss in zip(STEEPNESS, losses, strict=True):
            if loss < best.loss:
                best = RidgeChoice(ridge, steepness, loss)
    return best


def log_losses(scores: FloatArray, T: FloatArray) -> list[float]:
    """Mean cross entropy of ``softmax(steepness · scores)`` against indicators, for every steepness.

    Each steepness is twice the one before, so that its exponentials are squares.
    """
    below = scores - scores.max(axis=1, keepdims=True)
    share, reached = T.sum(axis=1), np.sum(T * below, axis=1)
    powers = np.exp(below)
    losses = []
    for steepness in STEEPNESS:
        losses.append(float(np.mean(share * np.log(powers.sum(axis=1)) - steepness * reached)))
        powers *= powers
    return losses


def _largest(variances: FloatArray) -> float:
    return max(float(variances.max()), np.finfo(float).tiny)
