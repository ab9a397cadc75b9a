"""The experiment as a list of small independent computations, called cells.

A cell is one method on one random data set. It has a key, does not depend on other cells, and
its result is plain JSON. A run can therefore stop after any cell and continue later.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from threadpoolctl import threadpool_info

from ...datasets import MultimodalData, make_paper_data
from ...errors import RankWarning
from ...hashers.base import BaseHasher
from ...pairs import Pairs
from ...threads import one_blas_thread
from .measures import measure_codes, measure_euclidean
from .methods import EUCLIDEAN, METHODS
from .settings import Settings

__all__ = ["Cell", "compute", "plan"]


@dataclass(frozen=True)
class Cell:
    """One method on one random data set.

    Attributes
    ----------
    method : str
        A key of ``METHODS``, or ``"euclidean"``.
    n_classes, seed, scale, gamma
        Number of classes, seed and scale of the data; gamma of the method.
    lengths : tuple of int
        Hash lengths to evaluate. All are prefixes of the longest hash.
    roc_length : int or None
        Hash length for which the ROC curve is stored.
    timed : bool
        Measure the training time only.
    """

    method: str
    n_classes: int
    seed: int
    scale: float
    gamma: float | None = None
    lengths: tuple[int, ...] = ()
    roc_length: int | None = None
    timed: bool = False

    @property
    def key(self) -> str:
        """Name in the results file; unique within a plan."""
        parts = ["time" if self.timed else "accuracy", f"K={self.n_classes}", f"scale={self.scale:g}"]
        parts += [f"seed={self.seed}", self.method]
        return "/".join(parts if self.gamma is None else [*parts, f"gamma={self.gamma:g}"])

    def cost(self, settings: Settings) -> float:
        """Rough number of seconds that the cell takes; used to estimate the remaining time."""
        evaluating = (settings.n_test / 5_000) ** 2
        if self.method == EUCLIDEAN:
            return 0.1 + 11.0 * evaluating
        method = METHODS[self.method]
        fitting = method.seconds + method.seconds_per_bit * max(self.lengths)
        fitting *= settings.n_negative / 100_000
        # Distances within each modality are compared on the same number of pairs in all settings.
        comparing = 0.0 if self.roc_length is None else 0.1 * len(self.lengths)
        return 0.05 + fitting + comparing + (0 if self.timed else 0.06 * len(self.lengths) * evaluating)


def plan(settings: Settings) -> list[Cell]:
    """List all cells of a run: training times, the main experiment, the sweeps.

    Training times come first, while the memory is still empty. After them, cells with the same data
    are next to each other.

    Examples
    --------
    >>> cells = plan(Settings.quick())
    >>> cells[0].key
    'time/K=50/scale=5/seed=0/cm-ssh/gamma=10'
    >>> len({cell.key for cell in cells}) == len(cells)
    True
    """
    found: dict[str, Cell] = {}
    for cell in (*_times(settings), *_main(settings), *_scales(settings), *_gammas(settings)):
        # The sweeps include the main setting. The main cell has more lengths, so keep that one.
        found.setdefault(cell.key, cell)
    return list(found.values())


def _times(settings: Settings) -> Iterator[Cell]:
    for seed in settings.sweep_seeds:
        yield from _methods(settings, settings.sweep_classes, seed, timed=True)


def _main(settings: Settings) -> Iterator[Cell]:
    for n_classes in settings.classes:
        for seed in settings.seeds:
            yield Cell(EUCLIDEAN, n_classes, seed, settings.center_scale)
            for method in METHODS.values():
                yield Cell(
                    method.key,
                    n_classes,
                    seed,
                    settings.center_scale,
                    settings.gamma,
                    method.lengths(settings, n_classes),
                    min(settings.roc_length(n_classes), method.longest(settings)),
                )


def _scales(settings: Settings) -> Iterator[Cell]:
    for scale in settings.scales:
        for seed in settings.sweep_seeds:
            yield Cell(EUCLIDEAN, settings.sweep_classes, seed, scale)
            yield from _methods(settings, settings.sweep_classes, seed, scale=scale)


def _gammas(settings: Settings) -> Iterator[Cell]:
    for seed in settings.sweep_seeds:
        for gamma in settings.gammas:
            for cell in _methods(settings, settings.sweep_classes, seed, gamma=gamma):
                if METHODS[cell.method].uses_gamma:
                    yield cell


def _methods(
    settings: Settings,
    n_classes: int,
    seed: int,
    *,
    scale: float | None = None,
    gamma: float | None = None,
    timed: bool = False,
) -> Iterator[Cell]:
    for method in METHODS.values():
        yield Cell(
            method.key,
            n_classes,
            seed,
            settings.center_scale if scale is None else scale,
            settings.gamma if gamma is None else gamma,
            (min(settings.sweep_bits, method.longest(settings)),),
            timed=timed,
        )


def compute(cell: Cell, settings: Settings) -> dict[str, Any]:
    """Compute one cell; the result is plain JSON.

    Linear algebra uses one thread. For matrices of this size more threads gain little on an idle
    machine, and wait for each other on a busy one.
    """
    with one_blas_thread():
        return _compute(cell, settings)


def _compute(cell: Cell, settings: Settings) -> dict[str, Any]:
    data, pairs = _draw(cell.n_classes, cell.scale, cell.seed, settings)
    if cell.method == EUCLIDEAN:
        return {m: measure_euclidean(X, data.test.labels[m]) for m, X in data.test.views.items()}
    assert cell.gamma is not None
    hasher = METHODS[cell.method].make(max(cell.lengths), cell.gamma, settings, cell.seed)
    # Time of the processor: other programs on a busy machine do not count.
    start = time.process_time()
    _fit(hasher, data, pairs)
    result: dict[str, Any] = {"n_bits": hasher.n_bits, "fit_seconds": round(time.process_time() - start, 4)}
    if cell.timed:
        blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        result["threads"] = max(blas, default=1)
    else:
        result |= measure_codes(hasher, data.test, cell.lengths, cell.roc_length)
    return result


def _fit(hasher: BaseHasher, data: MultimodalData, pairs: Pairs) -> None:
    with warnings.catch_warnings():
        # Figure 2 includes more bits than the classes determine, on purpose.
        warnings.simplefilter("ignore", RankWarning)
        hasher.fit(data.train.views, pairs)


@lru_cache(maxsize=1)
def _draw(n_classes: int, scale: float, seed: int, settings: Settings) -> tuple[MultimodalData, Pairs]:
    data = make_paper_data(n_classes, settings.n_train, settings.n_test, scale, random_state=seed)
    labels = data.train.labels
    pairs = Pairs.from_labels(
        labels["x"], labels["y"], settings.n_positive, settings.n_negative, random_state=seed
    )
    return data, pairs
