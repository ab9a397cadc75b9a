"""Learn from a pair of files that is larger than the memory: speed and memory beside bare reading and multiplying.

Two ``.npy`` files of float32 features are made in a folder and deleted at the end. Then, each in a process of its own:
the floor, which makes the same three passes over the files (products of both views, and two projections of each) and
nothing else, and ``DiffHash.fit_batches`` through the workflow of ``diffhash fit``. Run
``python -m benchmarks.large_files --folder DIR --gigabytes 20``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

WIDTHS = {"x": 512, "y": 256}
N_BITS = 64
BLOCK = 1 << 14
PASSES = 3


def make(folder: Path, gigabytes: float) -> int:
    """Aligned rows with 32 common directions; returns their number."""
    n = int(gigabytes * 1e9 / (4 * sum(WIDTHS.values())))
    rng = np.random.default_rng(0)
    mixes = {m: rng.standard_normal((32, d), dtype=np.float32) for m, d in WIDTHS.items()}
    files = {
        m: np.lib.format.open_memmap(folder / f"{m}.npy", "w+", np.float32, (n, d)) for m, d in WIDTHS.items()
    }
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        shared = rng.standard_normal((rows.stop - start, 32), dtype=np.float32)
        for m, d in WIDTHS.items():
            noise = rng.standard_normal((rows.stop - start, d), dtype=np.float32)
            files[m][rows] = shared @ mixes[m] + 2 * noise
    for file in files.values():
        file.flush()
    return n


def drop_cache(folder: Path) -> None:
    """Forget what the system keeps of the files, so that both sides read from the disk."""
    for m in WIDTHS:
        with (folder / f"{m}.npy").open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def floor(folder: Path) -> None:
    """Read both files three times: multiply the views once, and project them twice."""
    rng = np.random.default_rng(0)
    projections = {m: rng.standard_normal((d, N_BITS), dtype=np.float32) for m, d in WIDTHS.items()}
    total = np.zeros(tuple(WIDTHS.values()))
    for number in range(PASSES):
        readers = [_blocks(folder / f"{m}.npy", d) for m, d in WIDTHS.items()]
        for x, y in zip(*readers, strict=True):
            if number == 0:
                total += x.T @ y
            else:
                _ = x @ projections["x"], y @ projections["y"]


def _blocks(path: Path, width: int):
    with path.open("rb", buffering=0) as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        buffer = np.empty((BLOCK, width), np.float32)
        while got := file.readinto(memoryview(buffer).cast("B")):
            yield buffer[: got // (4 * width)]


def fit(folder: Path) -> None:
    """What ``diffhash fit --method diff`` does."""
    from diffhash import workflows
    from diffhash.workflows.options import LearningOptions

    views = {m: folder / f"{m}.npy" for m in WIDTHS}
    workflows.fit(
        views, folder / "m.dhm", learning=LearningOptions(method="diff", n_bits=N_BITS), overwrite=True
    )


def peak_memory() -> float:
    """Largest resident memory of this process in MB; getrusage would count the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def measure(name: str, folder: Path) -> dict[str, float]:
    """Seconds and peak memory of this process."""
    import diffhash  # noqa: F401 - both sides have the same modules in memory

    drop_cache(folder)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    {"floor": floor, "fit": fit}[name](folder)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": time.perf_counter() - start,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak": peak_memory(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the files are made and deleted")
    parser.add_argument("--gigabytes", type=float, default=20.0)
    parser.add_argument("--only", choices=("floor", "fit"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(measure(arguments.only, arguments.folder)))
        return
    arguments.folder.mkdir(parents=True, exist_ok=True)
    try:
        n = make(arguments.folder, arguments.gigabytes)
        print(f"{n:,} aligned rows, {WIDTHS['x']} + {WIDTHS['y']} float32 features, {N_BITS} bits\n")
        print("| | seconds | CPU seconds | peak memory, MB |")
        print("|---|---|---|---|")
        found = {}
        for name in ("floor", "fit"):
            command = [
                sys.executable,
                "-m",
                "benchmarks.large_files",
                "--folder",
                arguments.folder,
                "--only",
                name,
            ]
            found[name] = json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout
            )
            r = found[name]
            print(f"| {name} | {r['seconds']:.1f} | {r['cpu']:.1f} | {r['peak']:.0f} |")
        for what in ("seconds", "cpu"):
            print(f"\nspeed of fit, in {what}: {found['floor'][what] / found['fit'][what]:.2f} of the floor")
    finally:
        for name in ("x.npy", "y.npy", "m.dhm"):
            (arguments.folder / name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
