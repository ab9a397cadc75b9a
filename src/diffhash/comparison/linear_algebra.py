"""Linear algebra of the baselines: canonical correlations, principal axes and iterative quantisation."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ..types import FloatArray

__all__ = ["canonical_directions", "itq", "principal_axes", "random_rotation", "unit_rows"]

#: Coordinates with less than this share of the largest variance are rounding.
_NO_VARIANCE = 1e-10


def canonical_directions(
    Cxx: FloatArray, Cyy: FloatArray, Cxy: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find ``A, B, ρ`` that maximise ``tr(Aᵀ Cxy B)`` with ``Aᵀ Cxx A = I`` and ``Bᵀ Cyy B = I``.

    With Cholesky factors ``Cxx = F Fᵀ`` and ``Cyy = G Gᵀ``, the singular vectors of
    ``F⁻¹ Cxy G⁻ᵀ`` are ``Fᵀ A`` and ``Gᵀ B``, its singular values ``ρ`` (largest first).
    """
    F, G = cholesky(Cxx, lower=True), cholesky(Cyy, lower=True)
    whitened = solve_triangular(G, solve_triangular(F, Cxy, lower=True).T, lower=True).T
    U, correlations, Vt = np.linalg.svd(whitened, full_matrices=False)
    A = solve_triangular(F, U, lower=True, trans="T")
    B = solve_triangular(G, Vt.T, lower=True, trans="T")
    return A, B, correlations


def principal_axes(F: FloatArray, n_coordinates: int) -> tuple[FloatArray, FloatArray]:
    """Axes (d, k) of the largest variances of centred rows, and those variances.

    With more features than rows the eigenproblem is that of the rows' products.
    """
    n, d = F.shape
    wide = d > n
    variances, vectors = np.linalg.eigh((F @ F.T if wide else F.T @ F) / n)
    kept = np.flatnonzero(variances > _NO_VARIANCE * max(variances[-1], np.finfo(float).tiny))
    kept = kept[::-1][:n_coordinates]
    if not len(kept):  # constant features: one coordinate that is always zero
        return np.zeros((d, 1)), np.zeros(1)
    axes = vectors[:, kept]
    return (F.T @ axes / np.sqrt(n * variances[kept]) if wide else axes), variances[kept]


def random_rotation(size: int, rng: np.random.Generator) -> FloatArray:
    """Uniformly distributed orthogonal matrix (the signs of R's diagonal make it so)."""
    Q, R = np.linalg.qr(rng.standard_normal((size, size)))
    return np.asarray(Q * np.sign(np.diag(R)))


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


def unit_rows(X: FloatArray) -> FloatArray:
    """Rows of unit length; a row of zeros stays."""
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(np.divide(X, length, out=np.zeros_like(X), where=length > 0))
