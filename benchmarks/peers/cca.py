"""Canonical correlation analysis: real-valued, with signs, and with a fitted rotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from diffhash.comparison.linear_algebra import canonical_directions, itq
from diffhash.errors import InputError
from diffhash.types import CodeArray, FloatArray

from .base import Grid, Labels, LinearPeer, second_moment


@dataclass
class CCASigns(LinearPeer):
    """Signs of the leading canonical variables (Hotelling 1936), from pairs alone.

    There are at most ``min(d, d')`` canonical variables, so at most that many bits.
    """

    ridge: float = 1e-2
    power: float = 0.0

    name: ClassVar[str] = "CCA signs"
    # The power does not change signs: six values of the ridge are its six settings.
    grid: ClassVar[Grid] = {"ridge": [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0]}

    def _directions(
        self,
        X: FloatArray,
        Y: FloatArray,
        labels: Labels,  # noqa: ARG002 - pairs alone
    ) -> tuple[FloatArray, FloatArray]:
        self._at_most(min(X.shape[1], Y.shape[1]), f"views of {X.shape[1]} and {Y.shape[1]} features")
        A, B, correlations = canonical_directions(
            second_moment(X, self.ridge), second_moment(Y, self.ridge), X.T @ Y / len(X)
        )
        self.correlations_ = correlations
        scale = correlations[: self.n_bits] ** self.power
        return A[:, : self.n_bits] * scale, B[:, : self.n_bits] * scale


@dataclass
class CCAITQ(CCASigns):
    """Canonical variables, scaled by a power of their correlation, then rotated for small loss.

    The rotation is fitted to both views' training rows together (Gong & Lazebnik 2011; the
    power after Gong, Ke, Isard & Lazebnik, "A multi-view embedding space for modeling internet
    images, tags, and their semantics", IJCV 2014).
    """

    power: float = 1.0
    n_iterations: int = 50

    name: ClassVar[str] = "CCA + ITQ"
    grid: ClassVar[Grid] = {"ridge": [3e-2, 3e-1, 3.0], "power": [1.0, 3.0]}

    def _directions(self, X: FloatArray, Y: FloatArray, labels: Labels) -> tuple[FloatArray, FloatArray]:
        A, B = super()._directions(X, Y, labels)
        rng = np.random.default_rng(self.random_state)
        R, self.losses_ = itq(np.vstack([X @ A, Y @ B]), self.n_iterations, rng)
        return A @ R, B @ R


@dataclass
class RealCCA(CCASigns):
    """Reference without hashing: canonical variables themselves, compared by their cosine.

    ``n_bits`` is the number of real values that an object takes.
    """

    power: float = 1.0

    name: ClassVar[str] = "CCA, real-valued"
    binary: ClassVar[bool] = False
    grid: ClassVar[Grid] = {"ridge": [3e-2, 3e-1, 3.0], "power": [1.0, 3.0]}

    def encode(self, X: Any, modality: str) -> CodeArray:  # noqa: ARG002 - the interface's
        raise InputError(f"{self.name}: has no codes. Compare the vectors of project() by their cosine.")
