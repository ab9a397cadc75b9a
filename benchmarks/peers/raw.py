"""Signs of embeddings that are already aligned: no learning but the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from diffhash.comparison.linear_algebra import random_rotation
from diffhash.errors import InputError
from diffhash.types import CodeArray, FloatArray

from .base import Grid, Labels, LinearPeer


def check_one_space(name: str, X: FloatArray, Y: FloatArray) -> None:
    if X.shape[1] != Y.shape[1]:
        raise InputError(
            f"{name}: needs views of one embedding space, got {X.shape[1]} and {Y.shape[1]} features."
        )


@dataclass
class RawSigns(LinearPeer):
    """Sign of the first ``n_bits`` coordinates of embeddings of one model (CLIP and its kin).

    Both views must have the same number of features ``d``, with the same meaning; at most ``d``
    bits. ``centre`` is ``"view"`` (each view minus its own mean, which takes out the offset
    between the modalities) or ``"none"``; there is nothing else to tune.
    """

    centre: str = "view"

    name: ClassVar[str] = "raw signs"
    grid: ClassVar[Grid] = {"centre": ["view", "none"]}

    def _directions(
        self,
        X: FloatArray,
        Y: FloatArray,
        labels: Labels,  # noqa: ARG002 - no learning
    ) -> tuple[FloatArray, FloatArray]:
        check_one_space(self.name, X, Y)
        if self.centre not in ("view", "none"):
            raise InputError(f"{self.name}: centre must be 'view' or 'none', got {self.centre!r}.")
        if self.centre == "none":
            self.means_ = {modality: np.zeros_like(mean) for modality, mean in self.means_.items()}
        directions = self._basis(X.shape[1])
        return directions, directions

    def _basis(self, d: int) -> FloatArray:
        self._at_most(d, f"embeddings of {d} features")
        return np.eye(d)[:, : self.n_bits]


@dataclass
class RotatedSigns(RawSigns):
    """Sign after a random rotation: spreads the variance over all bits.

    The first ``n_bits`` columns of one rotation; beyond ``d`` bits, those of further independent
    rotations are added (random hyperplanes: Charikar, "Similarity estimation techniques from
    rounding algorithms", STOC 2002, orthogonal within each ``d``).
    """

    name: ClassVar[str] = "randomly rotated signs"

    def _basis(self, d: int) -> FloatArray:
        rng = np.random.default_rng(self.random_state)
        rotations = [random_rotation(d, rng) for _ in range(-(-self.n_bits // d))]
        return np.hstack(rotations)[:, : self.n_bits]


@dataclass
class RawFloats(RawSigns):
    """Reference without hashing: the first ``n_bits`` real coordinates, compared by their cosine."""

    name: ClassVar[str] = "raw floats"
    binary: ClassVar[bool] = False

    def encode(self, X: Any, modality: str) -> CodeArray:  # noqa: ARG002 - the interface's
        raise InputError(f"{self.name}: has no codes. Compare the vectors of project() by their cosine.")
