"""Iterative quantisation: the rotation that brings points closest to the corners of a cube."""

from __future__ import annotations

import numpy as np

from diffhash.types import FloatArray


def random_rotation(size: int, rng: np.random.Generator) -> FloatArray:
    """Uniformly distributed orthogonal matrix (the signs of R's diagonal make it so)."""
    Q, R = np.linalg.qr(rng.standard_normal((size, size)))
    return Q * np.sign(np.diag(R))


def itq(Z: FloatArray, n_iterations: int, rng: np.random.Generator) -> tuple[FloatArray, list[float]]:
    """Rotation ``R`` that minimises ``|sgn(Z R) - Z R|²``, and the loss before every step.

    Notes
    -----
    Alternates ``B = sgn(Z R)`` with the orthogonal Procrustes problem: ``Zᵀ B = U Σ Vᵀ`` gives
    ``R = U Vᵀ``. Neither step can raise the loss. Gong & Lazebnik, "Iterative quantization: a
    procrustean approach to learning binary codes", CVPR 2011.
    """
    R = random_rotation(Z.shape[1], rng)
    losses = []
    for _ in range(n_iterations):
        rotated = Z @ R
        B = np.where(rotated >= 0, 1.0, -1.0)
        losses.append(float(np.sum((B - rotated) ** 2)))
        U, _, Vt = np.linalg.svd(Z.T @ B)
        R = U @ Vt
    return R, losses
