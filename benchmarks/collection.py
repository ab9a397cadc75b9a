"""The collection against the bare index: ``python -m benchmarks.collection``.

Makes collections of a million objects with 64-bit codes, measures what a user waits for, and prints a table
with the goals. A search in the collection and one in a bare ``HammingIndex`` take turns, the best time of
each counts; first uses of a filter are medians. Keeps the figures in ``benchmarks/results/collection.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import diffhash as dh
from benchmarks.accuracy.machine import machine

RESULTS = Path(__file__).parent / "results"
QUERIES, K, BATCH = 100, 10, 10_000
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = CLOCKS["wall"]


class Report:
    """Rows of (what, measured, goal, reached)."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, work: str, value: float, unit: str, goal: str = "", reached: bool | None = None) -> None:
        self.rows.append({"work": work, "value": value, "unit": unit, "goal": goal, "reached": reached})
        mark = "" if reached is not False else " (not reached)"
        shown = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
        print(f"| {work} | {shown} {unit}{mark} | {goal} |", flush=True)


def timed(call: Callable[[], Any]) -> float:
    start = clock()
    call()
    return clock() - start


def take_turns(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Best time of each; they take turns, so that a busy machine is busy for all."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            time.sleep(0.01)
            best[name] = min(best[name], timed(call))
    return best


def make_hasher() -> dh.DiffHash:
    data = dh.datasets.make_paper_data(n_classes=50, n_train=3000, n_test=10, random_state=0)
    return dh.DiffHash(n_bits=64).fit(data.train.views, dh.Pairs.aligned(3000))


def make_payloads(n: int) -> list[dict[str, Any]]:
    groups = np.random.default_rng(1).integers(0, 10, n).tolist()
    return [{"name": f"object {i}", "group": f"g{groups[i]}", "year": 1900 + i % 120} for i in range(n)]


def fill(path: Path, hasher: Any, codes: Any, ids: Any = None, payloads: Any = None) -> float:
    """Make a collection in batches; gives objects per second, every batch on the disk before the next."""
    with dh.Collection.create(path, hasher) as collection:
        start = clock()
        for begin in range(0, len(codes), BATCH):
            part = slice(begin, begin + BATCH)
            collection.add_codes(
                codes[part],
                modality="x",
                ids=None if ids is None else ids[part],
                payloads=None if payloads is None else payloads[part],
            )
        return len(codes) / (clock() - start)


def additions(report: Report, folder: Path, hasher: Any, codes: Any, payloads: Any) -> None:
    n = len(codes)
    numbers = np.random.default_rng(2).permutation(4 * n)[:n]
    names = [f"folder/{i:07d}.png" for i in range(n)]
    name_bytes = sum(map(len, names))
    payload_bytes = sum(len(json.dumps(p, separators=(",", ":"))) for p in payloads)
    cases = [
        ("codes", None, None, codes.nbytes + 8 * n),
        ("codes, ids in any order", numbers, None, codes.nbytes + 8 * n),
        ("codes, strings as ids", names, None, codes.nbytes + name_bytes),
        ("codes and payloads", None, payloads, codes.nbytes + 8 * n + payload_bytes),
        ("codes, strings, payloads", names, payloads, codes.nbytes + name_bytes + payload_bytes),
    ]
    for number, (what, ids, given, content) in enumerate(cases):
        path = folder / f"{number}.dh"
        rate = fill(path, hasher, codes, ids, given)
        goal = "≥ 200,000" if given is None else ""
        report.add(
            f"add: {what}, batches of {BATCH:,}", rate, "a second", goal, rate >= 2e5 if goal else None
        )
        size = path.stat().st_size / content
        report.add(f"file size: {what}", size, "× codes, ids, payloads", "≤ 1.5", size <= 1.5)
        if number != 3:
            path.unlink()
    with dh.Collection.create(folder / "single.dh", hasher) as collection:
        seconds = timed(lambda: [collection.add_codes(codes[i : i + 1], modality="x") for i in range(500)])
        report.add("add: one at a time", 500 / seconds, "a second")


def openings(report: Report, path: Path) -> None:
    times = []
    for writable in (False, False, False, True, True):
        start = clock()
        collection = dh.Collection.open(path, writable=writable)
        times.append(clock() - start)
        collection.close()
    report.add("open", statistics.median(times), "s", "≤ 1", statistics.median(times) <= 1)


def searches(report: Report, path: Path, codes: Any, queries: Any, repeats: int) -> None:
    bare = dh.HammingIndex(codes)
    where = {"group": "g3"}
    with dh.Collection.open(path, writable=True) as collection:

        def search(**options: Any) -> Any:
            return collection.search_arrays(queries, into="x", k=K, **options)

        expected = bare.search(queries, K)
        if not np.array_equal(search()[0], expected.ids):
            raise SystemExit("the collection finds other objects than the bare index")
        search(where=where)
        times = take_turns(
            {
                "bare": lambda: bare.search(queries, K),
                "collection": search,
                "filtered": lambda: search(where=where),
                "hits": lambda: collection.search_codes(queries, into="x", k=K),
            },
            repeats,
        )
        report.add(f"bare index, {QUERIES} queries", 1e3 * times["bare"], "ms")
        ratio = times["collection"] / times["bare"]
        report.add(f"search_arrays, {QUERIES} queries", ratio, "× bare", "≤ 1.2", ratio <= 1.2)
        ratio = times["filtered"] / times["bare"]
        report.add("the same, cached filter that keeps 10 %", ratio, "× bare", "≤ 2", ratio <= 2)
        report.add(f"search_codes with payloads, {QUERIES} queries", 1e3 * times["hits"], "ms")

        def first_use(what: str, where: Any, goal: float) -> None:
            # What a search with the filter takes when nothing is kept from before.
            times = [timed(lambda: (collection._filters.clear(), search(where=where))) for _ in range(5)]
            seconds = statistics.median(times)
            report.add(
                f"first use of a filter: {what}", 1e3 * seconds, "ms", f"≤ {1e3 * goal:g}", seconds <= goal
            )

        first_use("equality, not indexed", where, 1)
        first_use("range of numbers, not indexed", {"year": {"ge": 1990, "lt": 2002}}, 1)
        first_use("range of strings, not indexed", {"name": {"ge": "object 5", "lt": "object 6"}}, 1)
        first_use("two fields, not indexed", {"group": "g3", "year": {"ge": 1950}}, 1)
        report.add("index a field", timed(lambda: collection.index_payload("group")), "s")
        collection.index_payload("year")
        first_use("equality, indexed", where, 0.1)
        first_use("inequality, indexed", {"group": {"ne": "g3"}}, 0.1)
        first_use("range of numbers, indexed", {"year": {"ge": 1990, "lt": 2002}}, 0.1)
        report.add("verify", timed(collection.verify), "s")
        report.add("compact", timed(collection.compact), "s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--no-results", action="store_true", help="do not write to benchmarks/results")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="cpu: on a machine that others use too; set DIFFHASH_NUM_THREADS=1, and waiting for the disk is left out",
    )
    options = parser.parse_args()
    global clock
    clock = CLOCKS[options.clock]
    about = {
        **machine(),
        "sqlite": sqlite3.sqlite_version,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "objects": options.objects,
        "clock": options.clock,
    }
    print(json.dumps(about))
    print("| work | measured | goal |\n|---|---|---|")
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (options.objects, 8), dtype=np.uint8)
    queries = rng.integers(0, 256, (QUERIES, 8), dtype=np.uint8)
    report, hasher, payloads = Report(), make_hasher(), make_payloads(options.objects)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        additions(report, folder, hasher, codes, payloads)
        openings(report, folder / "3.dh")
        searches(report, folder / "3.dh", codes, queries, options.repeats)
    if not options.no_results:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / ("collection.json" if options.clock == "wall" else "collection-cpu.json")).write_text(
            json.dumps({**about, "rows": report.rows}, indent=1, ensure_ascii=False) + "\n"
        )


if __name__ == "__main__":
    main()
