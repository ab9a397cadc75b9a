"""Gaussian features on landmarks, and peers that work on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist, pdist

from diffhash.errors import FeatureCountError
from diffhash.types import CodeArray, FloatArray, Views

from .base import Grid, Labels, LinearPeer, Peer, check_features, check_views, dense

#: Distances that every kernel method can choose from, ours too.
METRICS = ["diagonal", "euclidean", "hellinger"]


@dataclass
class KernelFeatures:
    """``exp(-|x - l|² / h)`` for landmarks ``l``, training rows drawn at random.

    ``h`` is ``scale`` times the median squared distance between landmarks. When there are no
    more rows than ``n_landmarks``, every row is a landmark. The distance divides every feature by
    its standard deviation ("diagonal"), is plain ("euclidean"), or plain between square roots
    ("hellinger") where no feature is ever negative.
    """

    n_landmarks: int = 500
    scale: float = 1.0
    metric: str = "diagonal"
    random_state: int = 0

    def fit(self, X: Any) -> Self:
        X = dense(X)
        self.root_ = self.metric == "hellinger" and bool(X.min() >= 0)
        X = self._rooted(X)
        deviation = X.std(axis=0) if self.metric == "diagonal" else np.ones(X.shape[1])
        self.deviation_ = np.where(deviation > 0, deviation, 1.0)
        rows = np.random.default_rng(self.random_state).permutation(len(X))[: self.n_landmarks]
        self.landmarks_ = X[np.sort(rows)] / self.deviation_
        some = pdist(self.landmarks_[:: -(-len(rows) // 1000)], "sqeuclidean")
        median = float(np.median(some)) if len(some) else 0.0
        self.bandwidth_ = self.scale * median if median > 0 else 1.0
        return self

    def transform(self, X: Any) -> FloatArray:
        X = dense(X)
        if X.ndim != 2 or X.shape[1] != self.landmarks_.shape[1]:
            raise FeatureCountError(
                f"KernelFeatures: fitted on {self.landmarks_.shape[1]} features, got shape {X.shape}."
            )
        return self.of_scaled(self._rooted(X) / self.deviation_)

    def of_scaled(self, X: FloatArray) -> FloatArray:
        """Values for rows that are scaled as the landmarks are."""
        return np.exp(-cdist(X, self.landmarks_, "sqeuclidean") / self.bandwidth_)

    def _rooted(self, X: FloatArray) -> FloatArray:
        return np.sqrt(np.maximum(X, 0)) if self.root_ else X


@dataclass
class KernelPeer:
    """A peer that sees each view through :class:`KernelFeatures` (and centres them itself)."""

    peer: Peer
    n_landmarks: int = 500
    scale: float = 1.0
    metric: str = "diagonal"
    random_state: int = 0

    @property
    def name(self) -> str:
        return f"{self.peer.name}, kernel"

    @property
    def n_bits(self) -> int:
        return self.peer.n_bits

    @property
    def binary(self) -> bool:
        return self.peer.binary

    def fit(self, views: Views, labels: Labels = None) -> Self:
        arrays = check_views(self.name, views)
        self.means_ = {modality: X.mean(axis=0) for modality, X in arrays.items()}
        self.maps_ = {
            modality: KernelFeatures(self.n_landmarks, self.scale, self.metric, self.random_state).fit(X)
            for modality, X in arrays.items()
        }
        self.peer.fit({modality: self.maps_[modality].transform(X) for modality, X in arrays.items()}, labels)
        return self

    def project(self, X: Any, modality: str) -> FloatArray:
        X = check_features(self.name, X, modality, getattr(self, "means_", None))
        return self.peer.project(self.maps_[modality].transform(X), modality)

    def encode(self, X: Any, modality: str) -> CodeArray:
        X = check_features(self.name, X, modality, getattr(self, "means_", None))
        return self.peer.encode(self.maps_[modality].transform(X), modality)


@dataclass(frozen=True)
class OnKernelFeatures:
    """Makes a peer on kernel features; stands where the class of a peer would.

    Eighteen settings: three ridges for the peers that have a ridge, otherwise three values of the
    peer's first parameter, by two bandwidths and three distances.
    """

    peer: type[LinearPeer]
    n_landmarks: int = 500

    @property
    def name(self) -> str:
        return f"{self.peer.name}, kernel"

    @property
    def grid(self) -> Grid:
        first = "ridge" if "ridge" in self.peer.grid else next(iter(self.peer.grid))
        values = [1e-4, 3e-3, 1e-1] if first == "ridge" else self.peer.grid[first][:3]
        return {first: values, "scale": [0.5, 2.0], "metric": METRICS}

    def __call__(
        self,
        n_bits: int,
        *,
        scale: float = 1.0,
        metric: str = "diagonal",
        random_state: int = 0,
        **parameters: Any,
    ) -> KernelPeer:
        peer = self.peer(n_bits=n_bits, random_state=random_state, **parameters)
        return KernelPeer(peer, self.n_landmarks, scale, metric, random_state)
