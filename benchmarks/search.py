"""Hamming search and encoding against their peers: ``python -m benchmarks.search``.

Ours and the peer take turns, each with the same number of threads; the best time of each counts,
and their results must agree by distance. Prints a table of ratios and keeps the raw times.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.search_data import SOURCES
from diffhash import HammingIndex, native
from diffhash.maps import LinearMap
from diffhash.model import HashModel

RESULTS = Path(__file__).parent / "results"
Timed = dict[str, Callable[[], object]]


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = CLOCKS["wall"]


def best_times(contenders: Timed, repeats: int) -> dict[str, float]:
    """Best time of each, in seconds; they take turns, so that a busy machine is busy for all."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, call in contenders.items():
            time.sleep(0.05)  # OpenMP threads of the one before spin for a while and hold a core
            start = clock()
            call()
            best[name] = min(best[name], clock() - start)
    return best


class Report:
    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.rows: list[dict[str, object]] = []

    def add(
        self, work: str, codes: str, times: dict[str, float], goal: str, ratio: str, reached: bool
    ) -> None:
        row = {"work": work, "codes": codes, "goal": goal, "ratio": ratio, "reached": reached}
        self.rows.append({**row, "milliseconds": {name: round(1e3 * t, 3) for name, t in times.items()}})
        listed = ", ".join(f"{name} {1e3 * t:.2f}" for name, t in times.items())
        print(
            f"| {work} | {codes} | {listed} | {goal} | {ratio}{'' if reached else ' (not reached)'} |",
            flush=True,
        )

    def against(self, work: str, codes: str, times: dict[str, float], goal: float) -> None:
        """Compare ours with the best peer."""
        ours = times["diffhash"]
        peer = min(t for name, t in times.items() if not name.startswith(("diffhash", "kernel")))
        self.add(
            work, codes, times, f"≥ {goal:g}x" if goal else "none", f"{peer / ours:.1f}x", peer >= goal * ours
        )


def faiss_contenders(codes: np.ndarray, queries: np.ndarray, k: int, threads: int) -> Timed:
    import faiss

    faiss.omp_set_num_threads(threads)
    heap, counting = faiss.IndexBinaryFlat(8 * codes.shape[1]), faiss.IndexBinaryFlat(8 * codes.shape[1])
    heap.use_heap, counting.use_heap = True, False
    for index in (heap, counting):
        index.add(codes)
    return {
        "FAISS heap": lambda: heap.search(queries, k)[0],
        "FAISS counting": lambda: counting.search(queries, k)[0],
    }


def usearch_contender(codes: np.ndarray, queries: np.ndarray, k: int, threads: int) -> Timed:
    from usearch.index import MetricKind, search

    return {
        "usearch": lambda: (
            search(codes, queries, k, MetricKind.Hamming, exact=True, threads=threads).distances
        )
    }


def check_equal(contenders: Timed) -> None:
    answers = {name: np.sort(np.asarray(call()), axis=1) for name, call in contenders.items()}
    first = answers["diffhash"]
    for name, answer in answers.items():
        if not np.array_equal(answer.astype(np.int64), first.astype(np.int64)):
            raise SystemExit(f"{name} found other distances")


def search_case(
    report: Report,
    work: str,
    source: str,
    shape: tuple[int, int, int],
    k: int,
    goal: float,
    *,
    repeats: int,
    peers,
) -> None:
    made = SOURCES[source](*shape)
    if made is None:
        return
    codes, queries = made
    codes = np.ascontiguousarray(codes)
    index = HammingIndex(codes)
    contenders: Timed = {"diffhash": lambda: index.search(queries, k, n_threads=report.threads).distances}
    for peer in peers:
        contenders |= peer(codes, queries, k, report.threads)
    check_equal(contenders)
    times = best_times(contenders, repeats)
    for kernel in native.available_kernels()[1:-1]:
        slower = {
            kernel: lambda kernel=kernel: native.top_k(
                queries=queries, database=codes, k=k, n_threads=report.threads, kernel=kernel
            )
        }
        times |= {f"kernel {name}": t for name, t in best_times(slower, 3).items()}
    report.against(work, source, times, goal)


def bandwidth_case(report: Report, source: str, repeats: int) -> None:
    """One query over 10M codes, against just reading them (the better of with and without prefetching)."""
    from diffhash.native import _kernels

    made = SOURCES[source](10_000_000, 64, 1)
    if made is None:
        return
    codes, queries = made
    index, flat = HammingIndex(codes), np.ascontiguousarray(codes).reshape(-1)
    times = best_times(
        {
            "diffhash": lambda: index.search(queries, 10, n_threads=report.threads),
            "read": lambda: _kernels.read_all(flat, False, report.threads),
            "read, prefetching": lambda: _kernels.read_all(flat, True, report.threads),
        },
        repeats,
    )
    read = min(times["read"], times["read, prefetching"])
    share = read / times["diffhash"]
    work = f"10M x 64 bits, 1 query: share of the read bandwidth ({flat.nbytes / read / 1e9:.0f} GB/s)"
    report.add(work, source, times, "≥ 70 %", f"{100 * share:.0f} %", share >= 0.7)


def encode_case(report: Report, repeats: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000_000, 128), dtype=np.float32)
    weights = rng.standard_normal((128, 64), dtype=np.float32)
    model = HashModel(
        method="DiffHash",
        parameters={},
        n_bits=64,
        modalities=("x",),
        n_features={"x": 128},
        maps={"x": LinearMap(np.zeros(128, dtype=np.float32))},
        projections={"x": weights.T},
        thresholds={"x": np.zeros(64, dtype=np.float32)},
    )
    product = np.empty((len(X), 64), dtype=np.float32)
    contenders: Timed = {
        "diffhash": lambda: model.encode(X),
        "bare sgemm": lambda: np.matmul(X, weights, out=product),
        "sgemm, then pack": lambda: native.pack_signs(
            np.matmul(X, weights, out=product), n_threads=report.threads
        ),
    }
    with threadpool_limits(report.threads):
        times = best_times(contenders, repeats)
    ratio = times["diffhash"] / times["bare sgemm"]
    report.add(
        "encode 1M x 128 float32 to 64 bits", "-", times, "≤ 1.3x its time", f"{ratio:.2f}x", ratio <= 1.3
    )


def machine() -> dict[str, object]:
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        names = [
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ]
        cpu = f"{names[0]}, {len(names)} cores" if names else cpu
    packages = ("diffhash", "numpy", "faiss-cpu", "usearch")
    return {
        "cpu": cpu,
        "kernels": native.available_kernels(),
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in packages},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=native.build_info().n_threads)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="cpu: with --threads 1 it is fair on a machine that others use too",
    )
    parser.add_argument("--no-results", action="store_true", help="do not write to benchmarks/results")
    options = parser.parse_args()
    if options.clock == "cpu" and options.threads != 1:
        parser.error("CPU time adds up over threads and counts their spinning: --clock cpu needs --threads 1")
    global clock
    clock = CLOCKS[options.clock]
    about = {
        **machine(),
        "threads": options.threads,
        "clock": options.clock,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "repeats": options.repeats,
    }
    print(json.dumps(about))
    print("| work | codes | best times, ms | goal | measured |\n|---|---|---|---|---|")
    report, repeats = Report(options.threads), options.repeats
    for source in SOURCES:
        for n_bits, goal in ((64, 8), (128, 5), (256, 3)):
            work, peers = f"1M x {n_bits} bits, 100 queries, k = 10", [faiss_contenders]
            search_case(
                report, work, source, (1_000_000, n_bits, 100), 10, goal, repeats=repeats, peers=peers
            )
        work = "1M x 128 bits, 100 queries, k = 10 (usearch)"
        search_case(report, work, source, (1_000_000, 128, 100), 10, 1, repeats=3, peers=[usearch_contender])
        work = "1M x 64 bits, 100 queries, k = 1000"
        search_case(
            report, work, source, (1_000_000, 64, 100), 1000, 3, repeats=repeats, peers=[faiss_contenders]
        )
        work = "10M x 64 bits, 1 query, k = 10"
        search_case(
            report, work, source, (10_000_000, 64, 1), 10, 4, repeats=3 * repeats, peers=[faiss_contenders]
        )
        bandwidth_case(report, source, 3 * repeats)
    encode_case(report, repeats)
    if not options.no_results:
        RESULTS.mkdir(exist_ok=True)
        slug = "".join(c if c.isalnum() else "-" for c in str(about["cpu"]).lower()).strip("-")
        name = f"search-{slug}-{about['date']}-{options.clock}-{options.threads}.json"
        path = RESULTS / name
        path.write_text(json.dumps({**about, "rows": report.rows}, indent=1, ensure_ascii=False) + "\n")
        print(f"\nraw results: {path.relative_to(RESULTS.parent.parent)}")


if __name__ == "__main__":
    main()
