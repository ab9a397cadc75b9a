"""Settings of the experiment: those of the paper, and smaller ones."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from ...errors import ParameterError
from ...validation import check_count

__all__ = ["Settings"]

#: Sweeps and timings use at most this many seeds, because they take as long as the main experiment.
_SWEEP_SEEDS = 3


@dataclass(frozen=True)
class Settings:
    """All settings of the experiment. The defaults are those of the paper, as far as it states them.

    Attributes
    ----------
    name : str
        Shown in the report.
    seeds : tuple of int
        For each seed, centres, objects and pairs are drawn again.
    classes : tuple of int
        SeedStatistics of classes K.
    roc_bits : tuple of int
        Hash length of the ROC curves, one for each number in ``classes``.
    bits : tuple of int
        Hash lengths m of the curves against m.
    n_train, n_test : int
        Number of objects, each with both modalities.
    n_positive, n_negative : int
        Number of training pairs.
    n_landmarks : int
        Basis size l of the kernel method.
    gamma, center_scale : float
        Values of the main experiment. The paper does not state the scale of its centres.
    scales, gammas : tuple of float
        Values of the two sweeps.
    sweep_classes, sweep_bits : int
        K and m for the sweeps and the training times.

    Examples
    --------
    >>> Settings.full().classes, Settings.full(n_seeds=2).seeds
    ((25, 50, 100), (0, 1))
    """

    name: str = "full"
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    classes: tuple[int, ...] = (25, 50, 100)
    roc_bits: tuple[int, ...] = (25, 50, 100)
    bits: tuple[int, ...] = (8, 16, 24, 32, 48, 64, 96, 128)
    n_train: int = 10_000
    n_test: int = 5_000
    n_positive: int = 10_000
    n_negative: int = 100_000
    n_landmarks: int = 1_000
    gamma: float = 10.0
    center_scale: float = 5.0
    scales: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
    gammas: tuple[float, ...] = (0.0, 1.0, 10.0, 1000.0, math.inf)
    sweep_classes: int = 50
    sweep_bits: int = 50

    def __post_init__(self) -> None:
        if len(self.classes) != len(self.roc_bits):
            raise ParameterError(
                f"Settings: roc_bits must have one length for each of the {len(self.classes)} numbers of classes, "
                f"got {len(self.roc_bits)}."
            )
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, tuple) and not value:
                raise ParameterError(f"Settings: {field.name} is empty.")

    @classmethod
    def full(cls, n_seeds: int | None = None) -> Self:
        """The sizes of the paper, with five seeds by default."""
        return cls(seeds=_seeds(n_seeds, 5))

    @classmethod
    def quick(cls, n_seeds: int | None = None) -> Self:
        """Fewer objects, pairs, landmarks and lengths: takes less than a minute, but is less accurate."""
        return cls(
            name="quick",
            seeds=_seeds(n_seeds, 1),
            bits=(8, 16, 32, 64, 128),
            n_train=4_000,
            n_test=1_000,
            n_positive=5_000,
            n_negative=20_000,
            n_landmarks=400,
            scales=(1.0, 2.5, 5.0, 10.0),
        )

    @property
    def sweep_seeds(self) -> tuple[int, ...]:
        """Seeds of the sweeps and of the training times."""
        return self.seeds[:_SWEEP_SEEDS]

    def roc_length(self, n_classes: int) -> int:
        """Hash length of the ROC curves for this number of classes."""
        return self.roc_bits[self.classes.index(n_classes)]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; gammas become strings, as JSON has no infinity."""
        values = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}
        values["gammas"] = [f"{gamma:g}" for gamma in self.gammas]
        return values


def _seeds(n: int | None, default: int) -> tuple[int, ...]:
    return tuple(range(check_count(default if n is None else n, "seeds", caller="reproduce")))
