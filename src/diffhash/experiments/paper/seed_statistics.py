"""Mean and range of results over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .cells import Cell
from .measures import DIRECTIONS, WITHIN
from .methods import EUCLIDEAN, METHODS
from .results import Results

__all__ = ["SeedStatistics", "Spread", "spread_of"]


@dataclass(frozen=True)
class Spread:
    """Mean, lowest and highest value over seeds."""

    mean: float
    low: float
    high: float

    def text(self, digits: int = 3) -> str:
        """Return the mean, with the range in brackets, for tables.

        Examples
        --------
        >>> Spread(0.5, 0.25, 0.75).text(2)
        '0.50 (0.25–0.75)'
        """
        if self.low == self.high:
            return f"{self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f} ({self.low:.{digits}f}–{self.high:.{digits}f})"


def spread_of(values: Sequence[float]) -> Spread:
    """Mean and range of one number per seed.

    Examples
    --------
    >>> spread_of([1.0, 3.0])
    Spread(mean=2.0, low=1.0, high=3.0)
    """
    return Spread(float(np.mean(values)), float(np.min(values)), float(np.max(values)))


@dataclass(frozen=True)
class SeedStatistics:
    """Mean and range over the seeds of the settings, looked up in the finished cells.

    ``measure`` is "eer" or "map". ``direction`` is a key of ``DIRECTIONS`` (or of ``WITHIN``, which also have the
    measure "rho"), or None for the mean of both directions across modalities.
    """

    results: Results

    def accuracy(
        self, method: str, n_classes: int, length: int, measure: str, direction: str | None = None
    ) -> Spread:
        """Accuracy in the main experiment."""
        settings = self.results.settings
        return spread_of(
            [
                self._value(
                    Cell(method, n_classes, seed, settings.center_scale, settings.gamma),
                    length,
                    measure,
                    direction,
                )
                for seed in settings.seeds
            ]
        )

    def within(self, method: str, n_classes: int, length: int, measure: str) -> Spread:
        """Mean of both modalities in the main experiment, queries and database from the same modality."""
        settings = self.results.settings
        values = []
        for seed in settings.seeds:
            cell = Cell(method, n_classes, seed, settings.center_scale, settings.gamma)
            values.append(float(np.mean([self._value(cell, length, measure, name) for name in WITHIN])))
        return spread_of(values)

    def euclidean(self, modality: str, n_classes: int, measure: str, scale: float | None = None) -> Spread:
        """Accuracy of retrieval within one modality without hashing; with ``scale``, over the seeds of the sweeps."""
        settings = self.results.settings
        seeds = settings.seeds if scale is None else settings.sweep_seeds
        scale = settings.center_scale if scale is None else scale
        return spread_of(
            [self._cell(Cell(EUCLIDEAN, n_classes, seed, scale))[modality][measure] for seed in seeds]
        )

    def sweep(
        self, method: str, measure: str, *, scale: float | None = None, gamma: float | None = None
    ) -> Spread:
        """Accuracy at another scale of the centres or another gamma."""
        settings = self.results.settings
        scale = settings.center_scale if scale is None else scale
        gamma = settings.gamma if gamma is None else gamma
        length = min(settings.sweep_bits, METHODS[method].longest(settings))
        return spread_of(
            [
                self._value(Cell(method, settings.sweep_classes, seed, scale, gamma), length, measure, None)
                for seed in settings.sweep_seeds
            ]
        )

    def training_seconds(self, method: str) -> Spread:
        """Time of one fit at the hash length of the sweeps."""
        return spread_of([cell["fit_seconds"] for cell in self._timed(method)])

    def training_threads(self, method: str) -> int:
        """Largest number of threads that linear algebra could use while training was timed."""
        return max(int(cell["threads"]) for cell in self._timed(method))

    def roc(self, method: str, n_classes: int) -> list[list[float]]:
        """True positive rates, one row per seed; mean of both directions."""
        settings = self.results.settings
        rows = []
        for seed in settings.seeds:
            curves = self._cell(Cell(method, n_classes, seed, settings.center_scale, settings.gamma))["roc"]
            rows.append(np.mean([curves[d] for d in DIRECTIONS], axis=0).tolist())
        return rows

    def euclidean_roc(self, modality: str, n_classes: int) -> list[list[float]]:
        """True positive rates, one row per seed."""
        settings = self.results.settings
        cells = (Cell(EUCLIDEAN, n_classes, seed, settings.center_scale) for seed in settings.seeds)
        return [self._cell(cell)[modality]["roc"] for cell in cells]

    def _timed(self, method: str) -> list[dict[str, Any]]:
        settings = self.results.settings
        where = (settings.center_scale, settings.gamma)
        return [
            self._cell(Cell(method, settings.sweep_classes, seed, *where, timed=True))
            for seed in settings.sweep_seeds
        ]

    def _cell(self, cell: Cell) -> dict[str, Any]:
        return self.results.cells[cell.key]

    def _value(self, cell: Cell, length: int, measure: str, direction: str | None) -> float:
        row = self._cell(cell)["lengths"][str(length)]
        names = DIRECTIONS if direction is None else (direction,)
        return float(np.mean([row[name][measure] for name in names]))
