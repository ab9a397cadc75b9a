"""Pairs within a radius among all codes of a set: ``python -m benchmarks.duplicates``.

Each case runs in a process of its own, so that its peak memory is known. Beside the join stands the floor of
comparing all codes with all, measured on a part of the queries, and FAISS range search of the same queries; both
are multiplied up to all codes. Pairs of these queries must be the same for all three.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import diffhash as dh
from diffhash import native
from diffhash.types import CodeArray

RESULTS = Path(__file__).parent / "results"
KINDS = ("random", "clustered", "copies")
GOAL_SECONDS, GOAL_BYTES = 60.0, 1e9


def make_codes(kind: str, n: int, n_bits: int, seed: int = 0) -> CodeArray:
    """Codes of a kind.

    ``random``; ``clustered``: a thousand around each centre, each bit changed with a chance of 5 %; ``copies``: ten of
    each code.
    """
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (n, n_bits // 8), dtype=np.uint8)
    if kind == "random":
        return codes
    if kind == "copies":
        return codes[rng.integers(0, max(n // 10, 1), n)]
    codes = codes[rng.integers(0, max(n // 1000, 1), n)]
    for begin in range(0, n, 100_000):
        block = codes[begin : begin + 100_000]
        block ^= np.packbits(rng.random((len(block), n_bits)) < 0.05, axis=1)
    return codes


def measure(kind: str, n: int, n_bits: int, radius: int, n_queries: int, threads: int) -> dict[str, Any]:
    """One case, in this process."""
    codes = make_codes(kind, n, n_bits)
    result: dict[str, Any] = {"codes": kind, "n": n, "n_bits": n_bits, "radius": radius, "threads": threads}

    begin, cpu, n_pairs = time.perf_counter(), time.process_time(), 0
    for batch in native.join(codes, radius=radius, n_threads=threads):
        n_pairs += len(batch.left)
    result |= {"pairs": n_pairs, **_times("join", begin, cpu)}
    begin, cpu = time.perf_counter(), time.process_time()
    found = dh.duplicates(codes, radius, max_pairs=0, n_threads=threads)
    result |= {"clusters": found.n_clusters, **_times("clusters", begin, cpu)}
    assert found.n_pairs == n_pairs
    # Kilobytes on Linux, bytes on macOS. Taken before the others use memory.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result["peak_bytes"] = peak if sys.platform == "darwin" else 1024 * peak

    queries = codes[:n_queries]
    begin, cpu = time.perf_counter(), time.process_time()
    near = native.within(queries=queries, database=codes, radius=radius, n_threads=threads)
    # Half of it: a pair is found from both sides.
    scale = n / n_queries / 2
    result |= _times("all with all", begin, cpu, scale)
    joined = sum(len(batch.left) for batch in native.join(queries, codes, radius=radius, n_threads=threads))
    assert joined == len(near.ids)
    result |= _faiss(codes, queries, radius, joined, threads, scale)
    return result


def _times(name: str, begin: float, cpu: float, scale: float = 1.0) -> dict[str, float]:
    return {
        f"{name} seconds": scale * (time.perf_counter() - begin),
        f"{name} CPU seconds": scale * (time.process_time() - cpu),
    }


def _faiss(
    codes: CodeArray, queries: CodeArray, radius: int, expected: int, threads: int, scale: float
) -> dict[str, float]:
    try:
        import faiss
    except ImportError:
        return {}
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexBinaryFlat(8 * codes.shape[1])
    index.add(codes)
    begin, cpu = time.perf_counter(), time.process_time()
    # The radius of FAISS is exclusive.
    limits, _, _ = index.range_search(queries, radius + 1)
    assert limits[-1] == expected
    return _times("FAISS", begin, cpu, scale)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--radius", type=int, default=4)
    parser.add_argument("--queries", type=int, default=2000, help="for all with all, and FAISS")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="few codes; keeps no file")
    parser.add_argument("--case", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.n, options.queries = 20_000, 200
    sizes = (options.n, options.bits, options.radius, options.queries, options.threads)
    if options.case:
        print(json.dumps(measure(options.case, *sizes)))
        return
    rows = []
    print(f"load average of the machine: {os.getloadavg()[0]:.1f}; {os.cpu_count()} CPUs")
    names = ["join", "clusters", "all with all", "FAISS"]
    print("| codes | pairs | clusters | peak MB |", " | ".join(f"{name}, s (CPU)" for name in names), "|")
    print("|---|---|---|---|" + "---|" * len(names))
    for kind in KINDS:
        command = [sys.executable, "-m", "benchmarks.duplicates", "--case", kind]
        for name in ("n", "bits", "radius", "queries", "threads"):
            command += [f"--{name}", str(getattr(options, name))]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        row = json.loads(output.splitlines()[-1])
        rows.append(row)
        times = [
            f"{row[f'{name} seconds']:.1f} ({row[f'{name} CPU seconds']:.1f})"
            if f"{name} seconds" in row
            else "–"
            for name in names
        ]
        print(
            f"| {kind} | {row['pairs']:,} | {row['clusters']:,} | {row['peak_bytes'] / 1e6:.0f} |",
            " | ".join(times),
            "|",
            flush=True,
        )
    reached = all(r["join seconds"] <= GOAL_SECONDS and r["peak_bytes"] <= GOAL_BYTES for r in rows)
    print(f"goal of {GOAL_SECONDS:.0f} s and {GOAL_BYTES / 1e6:.0f} MB: {'reached' if reached else 'missed'}")
    if not options.quick:
        facts = {
            "date": datetime.date.today().isoformat(),
            "machine": platform.processor() or platform.machine(),
            "cpus": os.cpu_count(),
            "load": os.getloadavg()[0],
            "kernel": native.build_info().kernel,
            "rows": rows,
        }
        (RESULTS / "duplicates.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
