"""How much memory, time and how many machines a number of objects takes: ``python -m benchmarks.capacity``.

Measures the constants of ``benchmarks.capacity_plan`` on this machine, compares its formulas with searches of 10⁶, 10⁷
and 10⁸ codes of 64 bits, and prints the tables of ``docs/measurements/capacity.md``. Each measurement is kept in
``benchmarks/results/capacity.json`` when it is done, so an interrupted run goes on where it stopped; ``--again``
measures everything anew. ``--only plan`` prints the plan for another machine: ``--memory``, ``--cores``, ``--queries``.
``--page docs/measurements/capacity.md`` writes the tables into the page.

10⁸ codes take 1.6 GB of memory, and all together some minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import diffhash as dh
from benchmarks.capacity_plan import Constants, Machine, plan

RESULTS = Path(__file__).parent / "results" / "capacity.json"
SIZES = (1_000_000, 10_000_000, 100_000_000)
WIDTHS = {"image": 512, "text": 256}
K = 10


def best(call: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Best time of several, in seconds. What one core takes is CPU time, which others on the machine do not change."""
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def random_codes(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.integers(0, 2**64, n, dtype=np.uint64).view(np.uint8).reshape(n, 8)


def scan(n: int) -> dict[str, float]:
    """One query over n codes beside just reading them, and many queries at once with one thread."""
    from diffhash.native import _kernels

    codes, threads = random_codes(n), os.cpu_count() or 1
    index, queries, flat = dh.HammingIndex(codes), random_codes(100), codes.reshape(-1)
    repeats = 5 if n > 50_000_000 else 15
    found = {}
    # They take turns, so that a busy machine is busy for all.
    for count in sorted({1, threads}):
        clock = time.process_time if count == 1 else time.perf_counter
        one, read = float("inf"), float("inf")
        for _ in range(repeats):
            one = min(one, best(lambda count=count: index.search(queries[:1], K, n_threads=count), 1, clock))
            for prefetch in (False, True):
                call = partial(_kernels.read_all, flat, prefetch, count)
                read = min(read, best(call, 1, clock))
        name = "one thread" if count == 1 else "all threads"
        found |= {f"one query, {name}": one, f"reading, {name}": read}
    if threads == 1:
        found |= {"one query, all threads": one, "reading, all threads": read}
    many = 100 if n <= 10_000_000 else 20
    found["queries at once"] = many
    batch = queries[:many]
    found["batch, one thread"] = best(lambda: index.search(batch, K, n_threads=1), 2, time.process_time)
    return found


def index_memory() -> dict[str, float]:
    """Bytes of a code and its id in an index that owns them, as after ``add`` in blocks."""
    index, n = dh.HammingIndex(n_bits=64), 1_000_000
    for begin in range(0, n, 100_000):
        index.add(random_codes(100_000), np.arange(begin, begin + 100_000))
    return {"bytes": (index.codes.nbytes + index.ids.nbytes) / n}


def file_size() -> dict[str, float]:
    """Bytes of an object in a collection: a code of 64 bits, with and without a payload."""
    found, n = {}, 300_000
    payloads = [{"name": f"object {i}", "group": f"g{i % 100}", "year": 1900 + i % 120} for i in range(n)]
    for name, given in (("codes", None), ("codes and payloads", payloads)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "c.dh"
            with dh.Collection.create(path, n_bits=64, modalities=("image",)) as c:
                start = time.perf_counter()
                c.add_codes(random_codes(n), modality="image", payloads=given)
                seconds = time.perf_counter() - start
            found[f"bytes, {name}"] = path.stat().st_size / n
            found[f"rows in a second, {name}"] = n / seconds
    found["payload characters"] = len(json.dumps(payloads[0]))
    return found


def learning() -> dict[str, float]:
    """Objects in a second that one thread learns from and encodes: two views of 512 and 256 features, 64 bits."""
    n, rng = 60_000, np.random.default_rng(0)
    shared = rng.standard_normal((n, 32), dtype=np.float32)
    views = {}
    for name, width in WIDTHS.items():
        noise = 2 * rng.standard_normal((n, width), dtype=np.float32)
        views[name] = shared @ rng.standard_normal((32, width), dtype=np.float32) + noise
    parts = [slice(begin, begin + 10_000) for begin in range(0, n, 10_000)]

    def batches(rows: list[slice]) -> Callable[[], Any]:
        return lambda: (({m: X[s] for m, X in views.items()}, dh.Pairs.aligned(10_000)) for s in rows)

    with threadpool_limits(1):
        # The difference of two sizes leaves the work out that does not grow with the number of objects.
        clock = time.process_time
        part = best(lambda: dh.DiffHash(n_bits=64).fit_batches(batches(parts[:1])), 2, clock)
        start = clock()
        hasher = dh.DiffHash(n_bits=64).fit_batches(batches(parts))
        whole = min(
            clock() - start, best(lambda: dh.DiffHash(n_bits=64).fit_batches(batches(parts)), 1, clock)
        )
        encode = best(lambda: [hasher.encode(X, modality=m) for m, X in views.items()], 3, clock)
    return {
        "fit rows in a second": (n - 10_000) / max(whole - part, 1e-9),
        "fit fixed seconds": max(part - 10_000 * (whole - part) / (n - 10_000), 0.0),
        "encode rows in a second": n / encode,
    }


def answers() -> dict[str, float]:
    """The ten nearest of a shard on the network, and the merging of the answers of many shards."""
    rng, shards = np.random.default_rng(0), 64
    distances = np.sort(rng.integers(0, 30, (shards, K), dtype=np.uint16), axis=1)
    ids = rng.integers(0, 10**10, (shards, K))
    hits = [{"id": int(i), "distance": int(d)} for i, d in zip(ids[0], distances[0], strict=True)]

    def merge() -> np.ndarray:
        # By distance, then by id: the order of one index with all codes.
        order = np.lexsort((ids.ravel(), distances.ravel()))[:K]
        return ids.ravel()[order]

    seconds = best(lambda: [merge() for _ in range(200)], 3) / 200
    return {
        "answer bytes, JSON": len(json.dumps(hits)),
        "answer bytes, binary": K * 10,
        "merged lists in a second": shards / seconds,
    }


STEPS: dict[str, Callable[[], dict[str, float]]] = {
    "index memory": index_memory,
    "scan 1e7": lambda: scan(SIZES[1]),
    "scan 1e6": lambda: scan(SIZES[0]),
    "scan 1e8": lambda: scan(SIZES[2]),
    "file size": file_size,
    "learning": learning,
    "answers": answers,
}


def constants_of(found: dict[str, dict[str, float]]) -> Constants:
    """Constants from the measurements at 10⁷ codes, which no cache holds."""
    at = found["scan 1e7"]
    return Constants(
        index_bytes=found["index memory"]["bytes"],
        file_bytes=found["file size"]["bytes, codes and payloads"],
        scan_bandwidth=8 * SIZES[1] / at["one query, all threads"],
        batch_distances=at["queries at once"] * SIZES[1] / at["batch, one thread"],
        fit_rows=found["learning"]["fit rows in a second"],
        encode_rows=found["learning"]["encode rows in a second"],
        answer_bytes=found["answers"]["answer bytes, JSON"],
        merge_rows=found["answers"]["merged lists in a second"],
    )


def put_into_page(page: Path, name: str, text: str) -> None:
    """Replace what stands between the marks of a name in a page."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    old = page.read_text()
    before, _, rest = old.partition(begin)
    _, _, after = rest.partition(end)
    if begin not in old or end not in rest:
        raise SystemExit(f"{page} has no marks for {name!r}")
    page.write_text(f"{before}{begin}{text.strip()}\n{end}{after}")


def constants_table(found: dict[str, dict[str, float]], c: Constants) -> str:
    rows = [
        ("memory of an index, bytes for each code of 64 bits with its id", f"{c.index_bytes:.1f}"),
        (
            "collection file, bytes for each object without payload",
            f"{found['file size']['bytes, codes']:.1f}",
        ),
        (
            f"collection file, bytes for each object with a payload of "
            f"{found['file size']['payload characters']:.0f} characters",
            f"{c.file_bytes:.0f}",
        ),
        ("codes that one query reads in a second, all threads", f"{c.scan_bandwidth / 1e9:.1f} GB"),
        ("distances in a second and core, 100 queries at once", f"{c.batch_distances / 1e9:.1f} · 10⁹"),
        ("objects in a second and core, fit (512 + 256 features)", f"{c.fit_rows:,.0f}"),
        ("objects in a second and core, encode (512 + 256 features)", f"{c.encode_rows:,.0f}"),
        ("answer of a shard, 10 hits as JSON", f"{c.answer_bytes:.0f} bytes"),
        ("answers of shards that are merged in a second", f"{c.merge_rows:,.0f}"),
    ]
    return "\n".join(
        ["| constant | measured |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]
    )


def checks_table(found: dict[str, dict[str, float]], c: Constants) -> str:
    lines = [
        "| codes | one query, predicted | measured | share of the read bandwidth, all threads | one thread "
        "| a query of a batch, one core, predicted | measured |",
        "|" + "---|" * 7,
    ]
    for n, name in zip(SIZES, ("scan 1e6", "scan 1e7", "scan 1e8"), strict=True):
        at = found[name]
        shares = [at[f"reading, {t}"] / at[f"one query, {t}"] for t in ("all threads", "one thread")]
        lines.append(
            f"| {n:,} | {8e3 * n / c.scan_bandwidth:.2f} ms | {1e3 * at['one query, all threads']:.2f} ms "
            f"| {100 * shares[0]:.0f} % | {100 * shares[1]:.0f} % | {1e3 * n / c.batch_distances:.2f} ms "
            f"| {1e3 * at['batch, one thread'] / at['queries at once']:.2f} ms |"
        )
    at = found["scan 1e8"]
    share = at["reading, all threads"] / at["one query, all threads"]
    reached = "reached" if share >= 0.8 else "not reached"
    lines += [
        "",
        f"10⁸ codes, one query: {100 * share:.0f} % of the read bandwidth (goal ≥ 80 %: {reached}).",
    ]
    return "\n".join(lines)


def plan_table(c: Constants, machine: Machine, wanted: float, most: float) -> str:
    lines = [
        f"Machines of {machine.memory / 1e9:.0f} GB and {machine.cores} cores; {wanted:g} queries in a second, "
        f"each within {1e3 * most:g} ms; codes of 64 bits:",
        "",
        "| objects | memory | file | shards | one query | queries in a second and core | replicas | machines "
        "| sent by each shard | fit, core hours | encode, core hours |",
        "|" + "---|" * 11,
    ]
    for exponent in "⁶⁷⁸⁹":
        lines.append(
            _plan_row(f"10{exponent}", 10.0 ** ("⁰¹²³⁴⁵⁶⁷⁸⁹".index(exponent)), c, machine, wanted, most)
        )
    lines.append(_plan_row("10¹⁰", 1e10, c, machine, wanted, most))
    return "\n".join(lines)


def _plan_row(name: str, n: float, c: Constants, machine: Machine, wanted: float, most: float) -> str:
    p = plan(n, c, machine, wanted_queries=wanted, most_seconds=most)
    return (
        f"| {name} | {p.memory / 1e9:.2f} GB | {p.disk / 1e9:.1f} GB | {p.shards} | {1e3 * p.one_query:.1f} ms "
        f"| {p.queries_per_core:,.1f} | {p.replicas} | {p.machines} | {p.network / 1e3:.1f} kB/s "
        f"| {p.fit_hours:,.2f} | {p.encode_hours:,.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--again", action="store_true", help="measure everything anew")
    parser.add_argument("--only", choices=[*STEPS, "plan"], help="one measurement, or only the plan")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where measurements are kept")
    parser.add_argument("--memory", type=float, default=64, help="GB of a machine of the plan")
    parser.add_argument("--cores", type=int, default=16, help="cores of a machine of the plan")
    parser.add_argument("--queries", type=float, default=100, help="queries in a second of the plan")
    parser.add_argument("--seconds", type=float, default=0.25, help="longest time for one query of the plan")
    parser.add_argument("--page", type=Path, help="a page whose tables are replaced")
    options = parser.parse_args()
    kept = json.loads(options.results.read_text()) if options.results.exists() and not options.again else {}
    found = kept.get("measured", {})
    for name, step in STEPS.items():
        if (options.only or name) != name or (name in found and options.only is None):
            continue
        print(f"measuring: {name}", flush=True)
        found[name] = step()
        kept = {**about_machine(), "measured": found}
        options.results.parent.mkdir(exist_ok=True, parents=True)
        options.results.write_text(json.dumps(kept, indent=1) + "\n")
    missing = [name for name in STEPS if name not in found]
    if missing:
        print(f"not measured yet: {', '.join(missing)}")
        return
    constants = constants_of(found)
    machine = Machine(1e9 * options.memory, options.cores)
    about = ", ".join(f"{name} {value}" for name, value in kept.items() if name != "measured")
    tables = {
        "constants": f"{constants_table(found, constants)}\n\n{about}",
        "checks": checks_table(found, constants),
        "plan": plan_table(constants, machine, options.queries, options.seconds),
    }
    for name in ("plan",) if options.only == "plan" else tables:
        print(f"\n{tables[name]}")
        if options.page is not None:
            put_into_page(options.page, name, tables[name])


def about_machine() -> dict[str, object]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.processor()
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "kernel": dh.native.build_info().kernel,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": time.strftime("%Y-%m-%d"),
    }


if __name__ == "__main__":
    main()
