"""Every method of the benchmark. To add one of ours, add a line to :data:`OURS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import diffhash as dh
from diffhash.types import CodeArray, FloatArray, Views

from ..datasets import Dataset
from ..peers import (
    CCAITQ,
    CMFH,
    CVH,
    IMH,
    CCASigns,
    KernelRidgeCodes,
    OnKernelFeatures,
    RawFloats,
    RawSigns,
    RealCCA,
    RotatedSigns,
    SCMOrth,
    SCMSeq,
)
from ..peers.base import Grid, Labels

#: Landmarks of every method on kernel features but kernel ridge, which has up to 2,500.
N_LANDMARKS = 1000
BITS = (16, 32, 64, 128)
#: Real values per item of the references without hashing: 8 to 512 bytes.
WIDTHS = (2, 4, 8, 16, 32, 64, 128)


@dataclass
class HasherPeer:
    """A hasher of the package behind the interface of the peers."""

    hasher: Any
    name: str
    n_bits: int
    binary: bool = True

    def fit(self, views: Views, labels: Labels = None) -> Self:
        n = next(iter(views.values())).shape[0]
        pairs = dh.Pairs.aligned(n) if labels is None else dh.Pairs.from_labels(labels, labels)
        self.hasher.fit(views, pairs)
        return self

    def project(self, X: Any, modality: str) -> FloatArray:
        return self.hasher.project(X, modality=modality)

    def encode(self, X: Any, modality: str) -> CodeArray:
        return self.hasher.encode(X, modality=modality)


@dataclass(frozen=True)
class Ours:
    """Makes a hasher of the package; stands where the class of a peer would."""

    name: str
    make: Callable[..., Any]
    grid: Grid
    seeded: bool = True

    def __call__(self, n_bits: int, *, random_state: int = 0, **setting: Any) -> HasherPeer:
        seed = {"random_state": random_state} if self.seeded else {}
        return HasherPeer(self.make(n_bits=n_bits, **seed, **setting), self.name, n_bits)


@dataclass(frozen=True)
class Method:
    """A factory of peers, and how the benchmark treats it.

    Attributes
    ----------
    family : {"ours", "peer", "reference", "aligned"}
    kernel : bool
        Whether it bends: drawn in the panel of kernel methods.
    seeded : bool
        Whether its result depends on a seed when the data do not.
    labels : {"needed", "used", "no"}
    same_without_labels : str
        Name of the method that this one is when there are no labels.
    """

    factory: Any
    family: str
    kernel: bool = False
    seeded: bool = False
    labels: str = "no"
    same_without_labels: str = ""

    @property
    def name(self) -> str:
        return str(self.factory.name)

    @property
    def widths(self) -> tuple[int, ...]:
        return BITS if self.binary else WIDTHS

    @property
    def binary(self) -> bool:
        return self.factory not in (RealCCA, RawFloats, KERNEL_CCA)

    def learns_from(self, dataset: Dataset) -> str:
        if self.family == "aligned":
            return "–"
        return "labels" if dataset.labelled and self.labels != "no" else "pairs"

    def missing(self, dataset: Dataset) -> str:
        """Why the method has no place in a dataset, or nothing."""
        if self.family == "aligned" and not dataset.one_space:
            return "needs views in one space"
        if not dataset.labelled and self.labels == "needed":
            return "needs labels"
        if not dataset.labelled and self.same_without_labels:
            return f"{self.same_without_labels} without labels"
        return ""


def ours(
    name: str, make: Callable[..., Any], grid: Grid, *, kernel: bool = False, seeded: bool = True
) -> Method:
    """One of our methods, learning from labels if there are any, with the grid of its settings."""
    return Method(Ours(name, make, grid, seeded), "ours", kernel, seeded, "used")


def kernel_diff_hash(**parameters: Any) -> dh.KernelDiffHash:
    return dh.KernelDiffHash(n_landmarks=N_LANDMARKS, **parameters)


def rotated_diff_hash(**parameters: Any) -> dh.DiffHash:
    return dh.DiffHash(whiten=True, rotate=True, **parameters)


def rotated_kernel_diff_hash(**parameters: Any) -> dh.KernelDiffHash:
    return dh.KernelDiffHash(n_landmarks=N_LANDMARKS, whiten=True, rotate=True, **parameters)


def boosted(n_directions: int) -> Callable[..., dh.BoostedHash]:
    return lambda **parameters: dh.BoostedHash(n_directions=n_directions, shrinkage=0.1, **parameters)


# Whitening with a shrinkage of 1 only rescales each view: the plain method is among the settings.
_WHITENED: Grid = {"shrinkage": [0.01, 0.1, 1.0], "thresholds": ["joint", "zero"], "whiten": [True]}
_KERNELS: Grid = {"metric": ["euclidean", "diagonal", "mahalanobis"], "bandwidth": ["balanced", "median"]}
_BOOSTED: Grid = {"min_share": [0.01, 0.05, 0.2], "whiten": [False, True]}
_ROTATED: Grid = {"shrinkage": [0.01, 0.1, 1.0], "thresholds": ["joint", "zero"]}
_ROTATED_KERNELS: Grid = {
    "metric": ["euclidean", "diagonal"],
    "bandwidth": ["balanced", "median"],
    "shrinkage": [0.01, 0.1],
}
OURS = (
    # Its settings are its own affair: "auto" chooses them within fit, and that time counts.
    ours("RefinedHash", dh.RefinedHash, {}, kernel=True),
    ours("DiffHash, rotated", rotated_diff_hash, _ROTATED, seeded=False),
    ours("KernelDiffHash, rotated", rotated_kernel_diff_hash, _ROTATED_KERNELS, kernel=True),
    ours("DiffHash", dh.DiffHash, _WHITENED, seeded=False),
    ours("KernelDiffHash", kernel_diff_hash, _KERNELS, kernel=True),
    ours("BoostedHash, 1 direction", boosted(1), _BOOSTED),
    ours("BoostedHash, 5 directions", boosted(5), _BOOSTED),
)


def on_kernel(peer: Any) -> OnKernelFeatures:
    return OnKernelFeatures(peer, N_LANDMARKS)


KERNEL_CCA = on_kernel(RealCCA)
LINEAR_PEERS = (
    Method(CCASigns, "peer"),
    Method(CCAITQ, "peer", seeded=True),
    Method(CVH, "peer", labels="used", same_without_labels="CCA signs"),
    Method(SCMOrth, "peer", labels="used", same_without_labels="CCA signs"),
    Method(SCMSeq, "peer", labels="needed"),
    Method(IMH, "peer", seeded=True),
    Method(CMFH, "peer", seeded=True),
)
KERNEL_PEERS = (
    Method(on_kernel(CCASigns), "peer", kernel=True, seeded=True),
    Method(on_kernel(CCAITQ), "peer", kernel=True, seeded=True),
    Method(on_kernel(CVH), "peer", True, True, "used", "CCA signs, kernel"),
    Method(on_kernel(SCMOrth), "peer", True, True, "used", "CCA signs, kernel"),
    Method(on_kernel(SCMSeq), "peer", True, True, "needed"),
    Method(on_kernel(IMH), "peer", kernel=True, seeded=True),
    Method(on_kernel(CMFH), "peer", kernel=True, seeded=True),
    Method(KernelRidgeCodes, "peer", True, True, "needed"),
)
REFERENCES = (
    Method(RealCCA, "reference"),
    Method(KERNEL_CCA, "reference", kernel=True, seeded=True),
)
ALIGNED = (
    Method(RawSigns, "aligned"),
    Method(RotatedSigns, "aligned", seeded=True),
    Method(RawFloats, "aligned"),
)
METHODS = {m.name: m for m in (*OURS, *LINEAR_PEERS, *KERNEL_PEERS, *ALIGNED, *REFERENCES)}
