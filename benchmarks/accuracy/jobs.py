"""Datasets measured one after the other, or in several processes."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from ..datasets import DATASETS
from .methods import METHODS
from .run import measure

#: A process of several has one core: linear algebra on more threads would only compete.
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "DIFFHASH_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Wanted:
    """What is measured of every dataset: ``bits`` empty for all widths of each method."""

    data: Path | None
    methods: tuple[str, ...]
    bits: tuple[int, ...]
    seeds: int
    again: bool = False
    intervals: bool = False


def measure_dataset(key: str, wanted: Wanted, results: Path) -> None:
    methods = [METHODS[name] for name in wanted.methods]
    path = results / f"accuracy-{key}.json"
    measure(
        DATASETS[key],
        wanted.data,
        methods,
        wanted.seeds,
        path,
        wanted.bits,
        again=wanted.again,
        intervals=wanted.intervals,
    )


def run_jobs(keys: list[str], wanted: Wanted, results: Path, jobs: int) -> None:
    """Measure datasets, the largest first so that processes end together."""
    keys = sorted(keys, key=lambda key: -DATASETS[key].size)
    if jobs == 1:
        for key in keys:
            measure_dataset(key, wanted, results)
        return
    # A fork after OpenMP has started hangs: new processes, which read these variables when they start.
    os.environ.update(ONE_THREAD)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for job in [pool.submit(measure_dataset, key, wanted, results) for key in keys]:
            job.result()
