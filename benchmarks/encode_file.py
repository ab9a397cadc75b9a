"""Encoding a feature file in constant memory, beside reading it and multiplying alone.

The file has 10 million rows of 128 float32 numbers (5.1 GB) unless ``--rows`` says otherwise; it is
made in ``--folder`` and removed afterwards. Ours is ``diffhash encode`` as a process, codes written to
the disk and synced. The floor reads the same file in blocks and multiplies each by the same matrix,
with as many threads. They take turns; the best time of each counts. CPU seconds of all threads are shown
too, since other work on the machine changes them less. Peak memory is ``VmHWM`` of each process (Linux):
``ru_maxrss`` would be that of the process that started it, if that is larger. Run it on an idle machine:
``python -m benchmarks.encode_file``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import diffhash as dh

RESULTS = Path(__file__).parent / "results"
N_FEATURES, N_BITS = 128, 64
GOAL_RATIO, GOAL_MEMORY = 1.3, 500

# Each contender is a process of its own, so that its peak memory is its own. Times leave out the start
# of Python and its imports, which both have.
_PEAK = """
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
"""
_FLOOR = """
import json, sys, time
import numpy as np
import diffhash  # the same libraries are in memory
path, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
weights = np.random.default_rng(0).standard_normal((128, 64), dtype=np.float32)
start, cpu = time.perf_counter(), time.process_time()
block = np.empty((columns, 128), dtype=np.float32)
product = np.empty((columns, 64), dtype=np.float32)
with open(path, "rb", buffering=0) as file:
    file.seek(file.seek(0, 2) - rows * 512)
    left = rows
    while left:
        n = min(left, columns)
        view = memoryview(block[:n]).cast("B")
        done = 0
        while done < len(view):
            done += file.readinto(view[done:])
        np.matmul(block[:n], weights, out=product[:n])
        left -= n
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
print(json.dumps({"seconds": seconds, "cpu": cpu, "memory": peak()}))
"""
_OURS = """
import io, json, sys, time
from contextlib import redirect_stdout
from diffhash.cli.app import run_app
out = io.StringIO()
cpu = time.process_time()
with redirect_stdout(out):
    status = run_app(["encode", *sys.argv[1:3], "--modality", "x", "-o", sys.argv[3], "--overwrite", "--json"])
cpu = time.process_time() - cpu
assert status == 0
print(json.dumps({"seconds": json.loads(out.getvalue())["seconds"], "cpu": cpu, "memory": peak()}))
"""


def make_file(path: Path, rows: int) -> None:
    """Random rows about a mean that is not zero, written a block at a time."""
    rng = np.random.default_rng(1)
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (rows, N_FEATURES)}
        np.lib.format.write_array_header_1_0(file, header)
        block = rng.standard_normal((100_000, N_FEATURES), dtype=np.float32)
        for start in range(0, rows, len(block)):
            file.write((block[: rows - start] + np.float32(start % 7)).data)


def make_model(path: Path) -> None:
    data = dh.datasets.make_paper_data(n_classes=80, n_train=4000, n_test=10, random_state=0)
    pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])
    dh.DiffHash(n_bits=N_BITS).fit(data.train.views, pairs).save(path)


def measured(code: str, *arguments: object) -> dict[str, float]:
    command = [sys.executable, "-c", _PEAK + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def measure(folder: Path, rows: int, repeats: int) -> dict[str, dict[str, float]]:
    """Best time and largest memory of each contender."""
    path, model = folder / "x.npy", folder / "model.dhm"
    make_file(path, rows)
    make_model(model)
    contenders = {
        "diffhash encode": lambda: measured(_OURS, model, path, folder / "codes.npy"),
        # The floor gets the better of two sizes of blocks: one that stays in cache, one large for BLAS.
        "floor, 8,192 rows": lambda: measured(_FLOOR, path, rows, 8192),
        "floor, 32,768 rows": lambda: measured(_FLOOR, path, rows, 32768),
    }
    best: dict[str, dict[str, float]] = {}
    for _ in range(repeats):
        for name, run in contenders.items():
            new = run()
            old = best.get(name, new)
            best[name] = {
                "seconds": min(old["seconds"], new["seconds"]),
                "cpu": min(old["cpu"], new["cpu"]),
                "memory": max(old["memory"], new["memory"]),
            }
    assert np.load(folder / "codes.npy", mmap_mode="r").shape == (rows, N_BITS // 8)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.encode_file", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--folder", type=Path, default=None, help="where to make the file; default: temporary"
    )
    parser.add_argument("--no-results", action="store_true", help="only print")
    options = parser.parse_args()
    needed = options.rows * N_FEATURES * 4 * 1.1
    folder = Path(tempfile.mkdtemp(dir=options.folder, prefix="encode-"))
    try:
        free = shutil.disk_usage(folder).free
        if free < needed:
            parser.error(
                f"{needed / 1e9:.1f} GB are needed in {folder}, {free / 1e9:.1f} GB are free: use --rows"
            )
        best = measure(folder, options.rows, options.repeats)
    finally:
        shutil.rmtree(folder)
    what = f"{options.rows:,} × {N_FEATURES} float32, {os.cpu_count()} cores"
    print(f"| {what} | seconds | CPU seconds | peak MB |\n|---|---|---|---|")
    for name, values in best.items():
        print(f"| {name} | {values['seconds']:.2f} | {values['cpu']:.2f} | {values['memory']:.0f} |")
    ours = best["diffhash encode"]
    floor = min(values["seconds"] for name, values in best.items() if name.startswith("floor"))
    ratio = ours["seconds"] / floor
    verdict = "reached" if ratio <= GOAL_RATIO and ours["memory"] <= GOAL_MEMORY else "not reached"
    print(
        f"ratio {ratio:.2f} (goal {GOAL_RATIO}), memory {ours['memory']:.0f} MB (goal {GOAL_MEMORY}): {verdict}"
    )
    if not options.no_results:
        content = {
            "rows": options.rows,
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "ratio": round(ratio, 3),
            "best": best,
        }
        (RESULTS / "encode-file.json").write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
