"""Every method of the benchmark. To add one of ours, add a line to :data:`OURS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import diffhash as dh
from diffhash.types import CodeArray, FloatArray, Views

from ..datasets import Dataset
from ..peers import (
    BATCH,
    CCAITQ,
    CMFH,
    CVH,
    IMH,
    PCAITQ,
    SCRATCH,
    SRLCH,
    AlignedITQ,
    CCASigns,
    LogisticCodes,
    Posteriors,
    RawFloats,
    RawSigns,
    RealCCA,
    RidgeCodes,
    RotatedSigns,
    SCMOrth,
    SCMSeq,
)
from ..peers.base import Grid, Labels

#: Landmarks of our kernel methods, as many as the peers' kernel features have.
N_LANDMARKS = 1000
BITS = (8, 16, 32, 64, 128)
FROM_16 = BITS[1:]
#: Widths of methods that take long.
FEW = (32, 128)
#: Training rows from which on other seeds than the first measure 32 bits only, except of RefinedHash.
LARGE = 5000
#: Real values per item of the references without hashing: 8 to 512 bytes.
WIDTHS = (2, 8, 32, 128)
#: Width of a reference that has as many values as there are classes.
PER_CLASS = 0


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
        if self.hasher.get_params().get("n_landmarks") == N_LANDMARKS > n:
            self.hasher.set_params(n_landmarks=n)
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
    binary: bool = True

    def __call__(self, n_bits: int, *, random_state: int = 0, **setting: Any) -> HasherPeer:
        seed = {"random_state": random_state} if self.seeded else {}
        return HasherPeer(self.make(n_bits=n_bits, **seed, **setting), self.name, n_bits)


@dataclass(frozen=True)
class Method:
    """A factory of peers, and how the benchmark treats it.

    Attributes
    ----------
    family : {"ours", "peer", "reference", "aligned"}
    widths : numbers of bits, or of real values
    seeded : bool
        Whether its result depends on a seed when the data do not.
    labels : {"needed", "used", "no"}
    same_without_labels : str
        Name of the method that this one is when there are no labels.
    """

    factory: Any
    family: str
    widths: tuple[int, ...] = FROM_16
    seeded: bool = False
    labels: str = "no"
    same_without_labels: str = ""

    @property
    def name(self) -> str:
        return str(self.factory.name)

    @property
    def binary(self) -> bool:
        return bool(self.factory.binary)

    @property
    def on_features(self) -> bool:
        """Whether it is given the chosen representation of the views. Otherwise it sees the views themselves."""
        return self.family in ("peer", "reference")

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

    def runs(self, dataset: Dataset, seed: int) -> tuple[int, ...]:
        """Widths that are measured with a seed: none if the seed changes nothing, fewer on large data."""
        if self.missing(dataset) or (seed and not (dataset.redrawn or self.seeded)):
            return ()
        if seed and dataset.size >= LARGE and self.name != "RefinedHash":
            return tuple(width for width in self.widths if width in (32, PER_CLASS))
        return self.widths


def ours(
    name: str,
    make: Callable[..., Any],
    grid: Grid,
    widths: tuple[int, ...] = FROM_16,
    *,
    seeded: bool = True,
) -> Method:
    """One of our methods, learning from labels if there are any, with the grid of its settings."""
    return Method(Ours(name, make, grid, seeded), "ours", widths, seeded, "used")


def kernel_diff_hash(**parameters: Any) -> dh.KernelDiffHash:
    return dh.KernelDiffHash(n_landmarks=N_LANDMARKS, **parameters)


def rotated_diff_hash(**parameters: Any) -> dh.DiffHash:
    return dh.DiffHash(whiten=True, rotate=True, **parameters)


def rotated_kernel_diff_hash(**parameters: Any) -> dh.KernelDiffHash:
    return dh.KernelDiffHash(n_landmarks=N_LANDMARKS, whiten=True, rotate=True, **parameters)


def boosted_hash(**parameters: Any) -> dh.BoostedHash:
    return dh.BoostedHash(n_directions=5, shrinkage=0.1, **parameters)


# Whitening with a shrinkage of 1 only rescales each view: the plain method is among the settings.
_WHITENED: Grid = {"shrinkage": [0.01, 0.1, 1.0], "whiten": [True]}
_KERNELS: Grid = {"metric": ["euclidean", "diagonal"], "bandwidth": ["balanced", "median"]}
_ROTATED: Grid = {"shrinkage": [0.01, 0.1, 1.0]}
_ROTATED_KERNELS: Grid = {"metric": ["euclidean", "diagonal"], "shrinkage": [0.01, 0.1]}
OURS = (
    # Its settings are its own affair: it chooses them within fit, and that time counts.
    ours("RefinedHash", dh.RefinedHash, {}, BITS),
    ours("DiffHash, rotated", rotated_diff_hash, _ROTATED, seeded=False),
    ours("KernelDiffHash, rotated", rotated_kernel_diff_hash, _ROTATED_KERNELS),
    ours("DiffHash", dh.DiffHash, _WHITENED, seeded=False),
    ours("KernelDiffHash", kernel_diff_hash, _KERNELS, FEW),
    ours("BoostedHash, 5 directions", boosted_hash, {"whiten": [False, True]}, (32,)),
)
PEERS = (
    Method(CCASigns, "peer"),
    Method(CCAITQ, "peer", seeded=True),
    Method(PCAITQ, "peer", seeded=True),
    Method(CVH, "peer", labels="used", same_without_labels="CCA signs"),
    Method(SCMOrth, "peer", labels="used", same_without_labels="CCA signs"),
    Method(SCMSeq, "peer", labels="needed"),
    Method(IMH, "peer", FEW, seeded=True),
    Method(CMFH, "peer", (32,), seeded=True),
    Method(SCRATCH, "peer", seeded=True, labels="needed"),
    Method(BATCH, "peer", seeded=True, labels="needed"),
    Method(SRLCH, "peer", seeded=True, labels="needed"),
    Method(RidgeCodes, "peer", seeded=True, labels="needed"),
    Method(LogisticCodes, "peer", seeded=True, labels="needed"),
)
REFERENCES = (
    Method(RealCCA, "reference", WIDTHS),
    Method(Posteriors, "reference", (PER_CLASS,), labels="needed"),
)
ALIGNED = (
    Method(RawSigns, "aligned"),
    Method(RotatedSigns, "aligned", seeded=True),
    Method(AlignedITQ, "aligned", seeded=True),
    Method(RawFloats, "aligned", WIDTHS),
)
METHODS = {m.name: m for m in (*OURS, *PEERS, *ALIGNED, *REFERENCES)}
