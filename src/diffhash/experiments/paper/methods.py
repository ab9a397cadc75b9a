"""The methods that are compared, with their names in the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...hashers import BoostedHash, DiffHash, KernelDiffHash
from ...hashers.base import BaseHasher
from .settings import Settings

__all__ = ["EUCLIDEAN", "METHODS", "Method"]

#: Key for retrieval by Euclidean distance within each modality, without hashing.
EUCLIDEAN = "euclidean"
#: Number of features of the smaller modality; a linear hash cannot have more bits.
_MOST_LINEAR_BITS = 64


@dataclass(frozen=True)
class Method:
    """One method, which is one line in every figure.

    Attributes
    ----------
    key : str
        Name in the results file.
    label, short : str
        Name in figures and tables, and name within sentences.
    make : callable
        ``make(n_bits, gamma, settings, seed)`` returns an unfitted hasher.
    uses_gamma : bool
    ours : bool
        True for the methods that the paper proposes ("our methods"), False for the baseline.
    paper_seconds : float or None
        Training time at m = 50 in section 6 of the paper.
    seconds_per_bit, seconds : float
        Rough fitting time at the sizes of the paper; used only to estimate the remaining time.
    """

    key: str
    label: str
    short: str
    make: Callable[[int, float, Settings, int], BaseHasher]
    uses_gamma: bool
    ours: bool
    paper_seconds: float | None = None
    seconds_per_bit: float = 0.0
    seconds: float = 0.0

    def longest(self, settings: Settings) -> int:
        """Largest number of bits that the method can have on the data of the paper."""
        if self.key == "cm-dif":
            return _MOST_LINEAR_BITS
        if self.ours:
            return settings.n_landmarks
        return max(*settings.bits, *settings.roc_bits, settings.sweep_bits)

    def lengths(self, settings: Settings, n_classes: int) -> tuple[int, ...]:
        """Hash lengths of the main experiment: those of the curves and the one of the ROC."""
        longest = self.longest(settings)
        wanted = {*settings.bits, settings.roc_length(n_classes)}
        if n_classes == settings.sweep_classes:
            wanted.add(settings.sweep_bits)
        return tuple(sorted({min(m, longest) for m in wanted}))


def _linear(n_bits: int, gamma: float, _settings: Settings, _seed: int) -> BaseHasher:
    return DiffHash(n_bits, gamma, standardize=False)


def _kernel(bandwidth: str) -> Callable[[int, float, Settings, int], BaseHasher]:
    def make(n_bits: int, gamma: float, settings: Settings, seed: int) -> BaseHasher:
        return KernelDiffHash(
            n_bits, gamma, n_landmarks=settings.n_landmarks, bandwidth=bandwidth, random_state=seed
        )

    return make


def _boosted(n_directions: int) -> Callable[[int, float, Settings, int], BaseHasher]:
    return lambda n_bits, _gamma, _settings, seed: BoostedHash(
        n_bits, n_directions, standardize=True, random_state=seed
    )


METHODS: dict[str, Method] = {
    method.key: method
    for method in (
        Method(
            "cm-ssh",
            "CM-SSH",
            "CM-SSH",
            _boosted(1),
            False,
            False,
            paper_seconds=162.0,
            seconds_per_bit=0.016,
        ),
        Method(
            "cm-ssh-5",
            "CM-SSH, best of 5 directions",
            "CM-SSH (best of 5)",
            _boosted(5),
            False,
            False,
            seconds_per_bit=0.023,
        ),
        Method("cm-dif", "CM-DIF", "CM-DIF", _linear, True, True, paper_seconds=0.62, seconds=0.2),
        Method(
            "mm-kdif-median",
            "MM-kDIF, median bandwidth",
            "MM-kDIF (median)",
            _kernel("median"),
            True,
            True,
            paper_seconds=28.0,
            seconds=1.7,
        ),
        Method(
            "mm-kdif-balanced",
            "MM-kDIF, balanced bandwidth",
            "MM-kDIF (balanced)",
            _kernel("balanced"),
            True,
            True,
            paper_seconds=28.0,
            seconds=1.7,
        ),
    )
}
