"""Learn from and encode shards on a local Dask cluster, beside the bare matrix products under the same Dask.

Shards of float32 features are made in a folder and deleted at the end. For one and for two worker processes: the floor
of learning (three passes of tasks over the same blocks: one product of both views, summed in a tree, and two
projections of each view), ``fit_shards`` with DiffHash; the floor of encoding (one projection of each view), and
``encode_shards`` of both views. Run ``python -m benchmarks.cluster --folder DIR``; ``--rows 200000`` for a quick look.
CPU seconds are those of the workers: they are also meaningful if other programs run.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from diffhash import cluster
from diffhash.cluster.fitting import BLOCK_BYTES
from diffhash.workflows import LearningOptions

WIDTHS = {"x": 512, "y": 256}
N_BITS = 64
SHARD_ROWS = 50_000
BLOCK_ROWS = BLOCK_BYTES // (4 * sum(WIDTHS.values()))


def make(folder: Path, n_rows: int) -> None:
    """Aligned rows with 32 common directions, in shards."""
    rng = np.random.default_rng(0)
    mixes = {m: rng.standard_normal((32, d), dtype=np.float32) for m, d in WIDTHS.items()}
    for m in WIDTHS:
        (folder / m).mkdir(parents=True)
    for number, start in enumerate(range(0, n_rows, SHARD_ROWS)):
        n = min(SHARD_ROWS, n_rows - start)
        shared = rng.standard_normal((n, 32), dtype=np.float32)
        for m, d in WIDTHS.items():
            X = shared @ mixes[m]
            X += 2 * rng.standard_normal((n, d), dtype=np.float32)
            np.save(folder / m / f"part-{number:04}.npy", X)


def blocks(folder: Path) -> list[tuple[list[str], int, int]]:
    """Files of both views and a range of rows, as the fit divides them."""
    found = []
    for file in sorted((folder / "x").glob("*.npy")):
        n = np.load(file, mmap_mode="r").shape[0]
        edges = np.linspace(0, n, -(-n // BLOCK_ROWS) + 1).astype(int)
        files = [str(folder / m / file.name) for m in WIDTHS]
        found += [(files, int(a), int(b)) for a, b in pairwise(edges)]
    return found


def read(file: str, start: int, stop: int) -> np.ndarray:
    return np.array(np.load(file, mmap_mode="r")[start:stop])


def product(files: list[str], start: int, stop: int) -> np.ndarray:
    x, y = (read(file, start, stop) for file in files)
    return (x.T @ y).astype(np.float64)


def project(files: list[str], start: int, stop: int, projections: list[np.ndarray]) -> int:
    return sum(len(read(file, start, stop) @ P) for file, P in zip(files, projections, strict=True))


def floor_of_fit(folder: Path) -> None:
    import dask

    parts = [dask.delayed(product)(*block) for block in blocks(folder)]
    while len(parts) > 1:
        parts = [dask.delayed(sum)(parts[i : i + 8]) for i in range(0, len(parts), 8)]
    dask.compute(parts[0])
    for _ in range(2):
        floor_of_encoding(folder)


def floor_of_encoding(folder: Path) -> None:
    import dask

    rng = np.random.default_rng(0)
    projections = dask.delayed([rng.standard_normal((d, N_BITS), dtype=np.float32) for d in WIDTHS.values()])
    dask.compute([dask.delayed(project)(*block, projections) for block in blocks(folder)])


def fit(folder: Path, address: str) -> None:
    options = LearningOptions(method="diff", n_bits=N_BITS, sample=0)
    views = {m: folder / m for m in WIDTHS}
    cluster.fit_shards(views, folder / "m.dhm", scheduler=address, learning=options, overwrite=True)


def encode(folder: Path, address: str) -> None:
    for m in WIDTHS:
        shutil.rmtree(folder / f"codes_{m}", ignore_errors=True)
        cluster.encode_shards(
            folder / "m.dhm", folder / m, folder / f"codes_{m}", scheduler=address, modality=m
        )


def import_hashers() -> None:
    import diffhash.hashers  # noqa: F401 - only loaded


def cpu_seconds() -> float:
    import psutil

    times = psutil.Process().cpu_times()
    return float(times.user + times.system)


def measured(client, work: Callable[[], None]) -> tuple[float, float]:
    """Seconds, and CPU seconds of the workers."""
    before, start = sum(client.run(cpu_seconds).values()), time.perf_counter()
    work()
    return time.perf_counter() - start, sum(client.run(cpu_seconds).values()) - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the shards are made and deleted")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    folder = arguments.folder / "diffhash-shards"
    found: dict[tuple[str, int], tuple[float, float]] = {}
    try:
        make(folder, arguments.rows)
        print(
            f"{arguments.rows:,} aligned rows, {WIDTHS['x']} + {WIDTHS['y']} float32 features, {N_BITS} bits\n"
        )
        print("| workers | work | seconds | CPU seconds | of the floor, seconds | CPU |")
        print("|---|---|---|---|---|---|")
        for n in arguments.workers:
            with cluster.local_cluster(n) as local, local.get_client() as client:
                address = client.scheduler.address
                steps = {
                    "fit, floor": lambda: floor_of_fit(folder),
                    "fit": lambda at=address: fit(folder, at),
                    "encode, floor": lambda: floor_of_encoding(folder),
                    "encode": lambda at=address: encode(folder, at),
                }
                # Imports, connections, and the files in the memory of the system.
                client.run(import_hashers)
                floor_of_encoding(folder)
                for name, work in steps.items():
                    seconds, cpu = found[name, n] = measured(client, work)
                    base = found.get((f"{name}, floor", n))
                    ratio = "| |" if base is None else f"| {seconds / base[0]:.2f} | {cpu / base[1]:.2f} |"
                    print(f"| {n} | {name} | {seconds:.1f} | {cpu:.1f} {ratio}", flush=True)
        if {1, 2} <= set(arguments.workers):
            for name in ("fit", "encode"):
                print(f"\n{name}: 1 → 2 processes {found[name, 1][0] / found[name, 2][0]:.2f} ×")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
