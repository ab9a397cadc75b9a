"""Milvus stores beside bare calls of pymilvus: load, exact search, recall of clustered indexes.

Each figure is a ratio within one run, on a server that this benchmark starts and stops itself
(``make .venv-servers/.installed`` installs it). Milvus listens on all interfaces, so it runs in a network namespace.
Run it on an idle machine, as root::

    python -m tests.servers python -m benchmarks.stores_milvus                # load and search, a million objects
    python -m tests.servers python -m benchmarks.stores_milvus --part recall  # BIN_IVF_FLAT: learned and random codes
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from pymilvus import DataType, MilvusClient

import diffhash as dh
from benchmarks.capacity import put_into_page
from benchmarks.search_data import SOURCES
from tests.servers.milvus import MilvusServer

BITS, BLOCK = 64, 50_000
SEARCH = {"metric_type": "HAMMING"}


def show(figures: dict[str, Any], name: str, value: float, text: str) -> None:
    figures[name] = round(value, 4)
    print(f"{name:34} {text}", flush=True)


def payloads(start: int, stop: int) -> list[dict[str, Any]]:
    return [{"title": f"object {i}", "group": i % 100, "year": 1900 + i % 120} for i in range(start, stop)]


def bare_collection(client: MilvusClient) -> None:
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("code", DataType.BINARY_VECTOR, dim=BITS)
    schema.add_field("payload", DataType.JSON)
    index = client.prepare_index_params()
    index.add_index("code", index_type="BIN_FLAT", metric_type="HAMMING")
    client.create_collection("bare", schema=schema, index_params=index)


def load(server: MilvusServer, client: MilvusClient, n: int, n_bare: int, figures: dict[str, Any]) -> Any:
    """Blocks by add_codes and by pymilvus' insert in turns, so that both see the same machine."""
    codes = np.random.default_rng(0).integers(0, 256, (n, BITS // 8), dtype=np.uint8)
    bare_collection(client)
    store = dh.create(server.address("bench"), n_bits=BITS, modalities=("a",))
    store.add_codes(codes[:1], modality="a", ids=[n])  # the first object makes the Milvus collection
    ours, bare = [], []
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        given, ids = payloads(start, stop), list(range(start, stop))
        begin = time.perf_counter()
        store.add_codes(codes[start:stop], modality="a", ids=ids, payloads=given)
        ours.append((stop - start) / (time.perf_counter() - begin))
        if stop <= n_bare:
            begin = time.perf_counter()
            for at in range(start, stop, 10_000):
                part = slice(at - start, at - start + 10_000)
                rows = [
                    {"id": i, "code": code.tobytes(), "payload": payload}
                    for i, code, payload in zip(ids[part], codes[at : at + 10_000], given[part], strict=True)
                ]
                client.insert("bare", rows)
            bare.append((stop - start) / (time.perf_counter() - begin))
    compared = ours[: len(bare)]
    show(
        figures,
        "load_rows_per_second",
        np.mean(ours),
        f"{np.mean(ours):,.0f} rows/s with payloads, {BITS} bits",
    )
    show(figures, "bare_rows_per_second", np.mean(bare), f"{np.mean(bare):,.0f} rows/s with pymilvus' insert")
    ratio = sum(1 / rate for rate in compared) / sum(1 / rate for rate in bare)
    show(figures, "load_ratio", ratio, f"{ratio:.3f} of the time of the bare insert (goal ≤ 1.3)")
    assert len(store) == n + 1
    return store


def search(client: MilvusClient, store: Any, bounded: Any, figures: dict[str, Any]) -> None:
    """The top ten of one query and of a hundred, beside the bare call."""
    queries = np.random.default_rng(1).integers(0, 256, (100, BITS // 8), dtype=np.uint8)

    def bare(count: int, level: str) -> list[list[int]]:
        found = client.search(
            "bench__0",
            [query.tobytes() for query in queries[:count]],
            limit=10,
            output_fields=["payload"],
            search_params=SEARCH,
            consistency_level=level,
        )
        return [[int(hit["distance"]) for hit in hits] for hits in found]

    def ours(count: int, level: str) -> list[list[int]]:
        chosen = store if level == "Strong" else bounded
        return [[hit.distance for hit in row] for row in chosen.search_codes(queries[:count], into="a", k=10)]

    assert bare(5, "Strong") == ours(5, "Strong")
    for level in ("Strong", "Bounded"):
        for count, times in ((1, 21), (100, 7)):
            seconds: dict[str, list[float]] = {"bare": [], "ours": []}
            for _ in range(times):
                for name, call in (("bare", bare), ("ours", ours)):
                    begin = time.perf_counter()
                    call(count, level)
                    seconds[name].append(time.perf_counter() - begin)
            # A strong read waits for the next tick of the server, so single times vary: compare the means.
            plain, mine = np.mean(seconds["bare"]), np.mean(seconds["ours"])
            text = f"{1000 * mine:.1f} ms, {mine / plain:.3f} of the bare call (goal ≤ 1.2)"
            show(figures, f"search_{level.lower()}_{count}_ratio", mine / plain, text)
            figures[f"search_{level.lower()}_{count}_ms"] = round(1000 * mine, 2)


def recall(server: MilvusServer, client: MilvusClient, n: int, figures: dict[str, Any]) -> None:
    """Recall at ten of BIN_IVF_FLAT with 1,024 lists. It counts hits that are as near as the tenth."""
    for kind in ("learned", "random"):
        codes, queries = SOURCES[kind](n, BITS, 100)
        address = f"{server.address(kind)}?index=ivf&nlist=1024"
        with dh.create(address, n_bits=BITS, modalities=("a",), overwrite=True) as store:
            store.add_codes(codes, modality="a")
        wait_for_index(client, f"{kind}__0", n)
        farthest = dh.HammingIndex(codes).search(queries, 10).distances[:, -1]
        for probes in (1, 16, 64, 1024):
            with dh.open(f"{server.address(kind)}?nprobe={probes}") as store:
                found = store.search_codes(queries, k=10)
            near = [sum(hit.distance <= far for hit in row) for row, far in zip(found, farthest, strict=True)]
            value = float(np.mean(near)) / 10
            show(figures, f"recall_{kind}_nprobe{probes}", value, f"recall@10 {value:.3f}, {n:,} codes")


def wait_for_index(client: MilvusClient, name: str, n: int) -> None:
    """Until all rows are in the index: rows that were just added are compared one by one."""
    client.flush(name)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        state = client.describe_index(name, client.list_indexes(name)[0])
        if int(state.get("indexed_rows", 0)) >= n and not int(state.get("pending_index_rows", 0)):
            break
        time.sleep(1)
    time.sleep(12)  # the server hands sealed rows over to the index every ten seconds


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """The figures as they stand in ``docs/measurements/stores.md``."""
    found = {}
    if "load_ratio" in figures and "search_bounded_1_ms" in figures:
        lines = [
            f"| {figures['n']:,} objects, 64 bits, with payloads | measured | of the bare call | goal |",
            "|---|---|---|---|",
            f"| load | {figures['load_rows_per_second']:,.0f} objects in a second | {figures['load_ratio']:.2f} × "
            "the time of pymilvus' insert | ≤ 1.3 × |",
        ]
        for level in ("strong", "bounded"):
            for count, queries in ((1, "1 query"), (100, "100 queries")):
                name = f"search_{level}_{count}"
                lines.append(
                    f"| exact top 10, {queries}, {level} | {figures[f'{name}_ms']:.1f} ms "
                    f"| {figures[f'{name}_ratio']:.2f} × | ≤ 1.2 × |"
                )
        found["figures"] = "\n".join(lines)
    probes = (1, 16, 64, 1024)
    if f"recall_random_nprobe{probes[-1]}" in figures:
        lines = [f"| codes | {' | '.join(f'nprobe={n}' for n in probes)} |", "|---|" + "---|" * len(probes)]
        for kind in ("learned", "random"):
            values = [f"{figures[f'recall_{kind}_nprobe{n}']:.2f}" for n in probes]
            lines.append(f"| {kind} | {' | '.join(values)} |")
        found["recall"] = "\n".join(lines)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=1_000_000, help="number of objects")
    parser.add_argument("--bare-n", type=int, default=400_000, help="number of objects of the bare insert")
    parser.add_argument(
        "--part", choices=("load", "search", "recall"), action="append", help="only this part"
    )
    parser.add_argument("--recall-n", type=int, default=100_000, help="number of codes for recall")
    parser.add_argument("--page", type=Path, help="a page whose tables are replaced")
    parser.add_argument("--out", type=Path, help="write the figures there as JSON")
    arguments = parser.parse_args()
    parts = arguments.part or ["load", "search"]
    figures: dict[str, Any] = {"n": arguments.n}
    server = MilvusServer()
    try:
        server.start()
        client = MilvusClient(uri=f"http://{server.host}", timeout=60)
        if {"load", "search"} & set(parts):
            with load(server, client, arguments.n, arguments.bare_n, figures) as store:
                if "search" in parts:
                    with dh.open(f"{server.address('bench')}?consistency=bounded") as bounded:
                        search(client, store, bounded, figures)
        if "recall" in parts:
            recall(server, client, arguments.recall_n, figures)
    finally:
        server.close()
    for name, text in tables(figures).items():
        print(f"\n{text}")
        if arguments.page is not None:
            put_into_page(arguments.page, name, text)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
