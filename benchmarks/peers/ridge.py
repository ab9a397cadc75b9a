"""Kernel ridge regression to random class codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import solve

from diffhash.codes import pack
from diffhash.errors import InputError
from diffhash.types import BoolArray, CodeArray, FloatArray, IntArray, Views

from .base import Grid, Labels, check_features, check_labels, check_views, label_vectors
from .kernel import METRICS, KernelFeatures


@dataclass
class KernelRidgeCodes:
    """Kernel ridge regression of each view to random codes of the classes.

    What supervised discrete hashing (such as DCH: Xu, Shen, Yang, Shen & Li, "Learning
    discriminative binary codes for large-scale cross-modal retrieval", IEEE TIP 2017) amounts to
    when its codes are fixed: every class gets a random code, each bit +1 for half of the classes,
    and each view learns to predict the code of its rows. With several labels, that is the sum of
    their codes over the root of their number.

    With ``K`` the kernel between rows and landmarks, ``M`` between landmarks, and ``B`` the rows'
    codes minus their mean, the weights are ``(KᵀK + ridge M)⁻¹ Kᵀ B``; when every row is a landmark
    this is kernel ridge regression itself, ``(K + ridge I)⁻¹ B``. Any number of bits.
    """

    n_bits: int
    ridge: float = 1.0
    scale: float = 1.0
    metric: str = "diagonal"
    n_landmarks: int = 2500
    random_state: int = 0

    name: ClassVar[str] = "kernel ridge to class codes"
    grid: ClassVar[Grid] = {"ridge": [0.03, 0.3, 3.0], "scale": [0.5, 2.0], "metric": METRICS}
    binary: ClassVar[bool] = True
    uses_labels: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True

    def fit(self, views: Views, labels: Labels = None) -> Self:
        arrays = check_views(self.name, views)
        labels = check_labels(self.name, labels, len(next(iter(arrays.values()))))
        if labels is None:
            raise InputError(f"{self.name}: is a supervised method and needs labels, got none.")
        targets = self._targets(labels)
        self.offset_ = targets.mean(axis=0)
        self.means_ = {modality: X.mean(axis=0) for modality, X in arrays.items()}
        self.maps_ = {
            modality: KernelFeatures(self.n_landmarks, self.scale, self.metric, self.random_state).fit(X)
            for modality, X in arrays.items()
        }
        self.weights_ = {
            modality: self._weights(self.maps_[modality], X, targets - self.offset_)
            for modality, X in arrays.items()
        }
        return self

    def project(self, X: Any, modality: str) -> FloatArray:
        X = check_features(self.name, X, modality, getattr(self, "means_", None))
        return self.maps_[modality].transform(X) @ self.weights_[modality] + self.offset_

    def encode(self, X: Any, modality: str) -> CodeArray:
        return pack(self.project(X, modality) >= 0)

    def _targets(self, labels: IntArray | BoolArray) -> FloatArray:
        vectors = label_vectors(labels)
        rng = np.random.default_rng(self.random_state)
        return vectors @ random_class_codes(vectors.shape[1], self.n_bits, rng)

    def _weights(self, kernel: KernelFeatures, X: FloatArray, targets: FloatArray) -> FloatArray:
        K = kernel.transform(X)
        if K.shape[0] == K.shape[1]:
            return solve(K + self.ridge * np.eye(len(K)), targets, assume_a="pos")
        M = kernel.of_scaled(kernel.landmarks_)
        # Landmarks that nearly coincide make M singular to rounding.
        left = K.T @ K + self.ridge * M + 1e-8 * len(X) * np.eye(len(M))
        return solve(left, K.T @ targets, assume_a="pos")


def random_class_codes(n_classes: int, n_bits: int, rng: np.random.Generator) -> FloatArray:
    """Codes of ±1, shape (n_classes, n_bits); each bit is +1 for half of the classes."""
    half = np.where(np.arange(n_classes) < (n_classes + 1) // 2, 1.0, -1.0)
    return rng.permuted(np.repeat(half[:, None], n_bits, axis=1), axis=0)
