"""The service under load: requests per second, latency, and half an hour of mixed use.

``python -m benchmarks.service`` makes a collection of a million random codes of 64 bits with small payloads, serves it,
and asks with wrk, on the same machine. The ratio compares with the same server, whose store answers at once with hits
that were found before: everything but the search is the same.

``python -m benchmarks.service --soak 30`` runs searches, adds, deletes, bad requests and clients that go away for 30
minutes, then kills the server, and looks for everything that was acknowledged.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import diffhash as dh
from diffhash.service import ServeSettings
from tests.service.load import Load, lost
from tests.service.process import Server

SCRIPTS = Path(__file__).parent / "service_lua"
CONNECTIONS = 32
#: A server whose store does not search: it answers every query with the hits of the first one.
WITHOUT_SEARCH = """
import sys
from diffhash.service import ServeSettings, serve
from diffhash.stores import Collection

search, known = Collection.search_codes, []

def search_codes(self, codes, **options):
    if not known:
        known.append(search(self, codes[:1], **options)[0])
    return [known[0]] * len(codes)

Collection.search_codes = search_codes
serve(sys.argv[1], ServeSettings(port=0))
"""
#: A server with another number of search threads than usual.
WITH_THREADS = """
import sys
from diffhash.service import ServeSettings, serve
serve(sys.argv[1], ServeSettings(port=0, search_threads={threads}))
"""


def make_collection(path: Path, n: int) -> None:
    """Random codes, payloads of two fields, and a model for vectors of 128 numbers."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 128)).astype(np.float32)
    y = x[:, :64] + 0.1 * rng.normal(size=(2000, 64)).astype(np.float32)
    hasher = dh.DiffHash(n_bits=64).fit({"x": x, "y": y}, dh.Pairs.aligned(2000))
    with dh.Collection.create(path, hasher) as collection:
        for begin in range(0, n, 100_000):
            rows = range(begin, min(begin + 100_000, n))
            codes = rng.integers(0, 256, (len(rows), 8), dtype=np.uint8)
            payloads = [{"name": f"object {i}", "group": i % 100} for i in rows]
            collection.add_codes(codes, modality="x", payloads=payloads)


def wrk(
    server: Server, script: str, seconds: float, *arguments: object, connections: int = CONNECTIONS
) -> dict[str, float]:
    """Requests per second, latencies in ms and the number of answers that are not 2xx."""
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds:g}s",
        "--latency",
        "-s",
        str(SCRIPTS / script),
        server.url,
    ]
    text = subprocess.run(
        [*command, "--", "1", *map(str, arguments)], check=True, capture_output=True, text=True
    ).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    found = {"rate": float(rate[1]) if rate else 0.0, "wrong": float(wrong[1]) if wrong else 0.0}
    units = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    for share, number, unit in re.findall(r"(\d+)%\s+([\d.]+)(us|ms|s)\b", text):
        found[f"p{share}"] = float(number) * units[unit]
    return found


def cpu_seconds(server: Server) -> float:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(
    server: Server, script: str, seconds: float, *arguments: object, connections: int = CONNECTIONS
) -> dict[str, float]:
    """As :func:`wrk`, after a second of warming up, and with the CPU time of a request in µs."""
    wrk(server, script, 1, *arguments, connections=connections)
    before = cpu_seconds(server)
    found = wrk(server, script, seconds, *arguments, connections=connections)
    found["cpu"] = 1e6 * (cpu_seconds(server) - before) / max(found["rate"] * seconds, 1)
    assert not found["wrong"], f"{found['wrong']:.0f} answers are errors"
    return found


def show(name: str, found: dict[str, float], more: str = "") -> None:
    print(
        f"{name:44} {found['rate']:8,.0f} requests/s   p50 {found.get('p50', 0):6.2f} ms   "
        f"p99 {found.get('p99', 0):6.2f} ms   {found['cpu']:6.0f} µs of CPU each{more}",
        flush=True,
    )


def bare_batches(path: Path, seconds: float) -> float:
    """Batches of 100 per second of ``search_arrays``, in a process that does nothing else."""
    rng = np.random.default_rng(1)
    with dh.Collection.open(path) as collection:
        batches = [rng.integers(0, 256, (100, 8), dtype=np.uint8) for _ in range(20)]
        collection.search_arrays(batches[0], into="x", k=10)
        begin, count = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            collection.search_arrays(batches[count % 20], into="x", k=10)
            count += 1
        return count / (time.perf_counter() - begin)


def measure(path: Path, n: int, seconds: float, threads: int) -> None:
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed, and these figures are measured with it: apt install wrk")
    print(f"{n:,} codes of 64 bits, k = 10, JSON, {CONNECTIONS} connections, load from the same machine")
    print(f"{platform.machine()}, {len(os.sched_getaffinity(0))} CPUs, Python {platform.python_version()}")
    with Server(path, code=WITHOUT_SEARCH, environment=CLEAN) as server:
        bare = measured(server, "code.lua", seconds)
        show("one code, answered without searching", bare)
    with Server(path, code=WITH_THREADS.format(threads=threads), environment=CLEAN) as server:
        one = measured(server, "code.lua", seconds)
        show("one code", one, f"   ratio {one['rate'] / bare['rate']:.2f}")
        show("128 floats", measured(server, "vector.lua", seconds))
        half = one["rate"] / 2
        # A connection asks, waits for the answer, and pauses: together this gives about half of the rate.
        pause = max(1000 * CONNECTIONS / half - 2 * one["p50"] / 4, 1.0)
        show("one code, about half of the rate", measured(server, "paced.lua", seconds, round(pause, 1)))
        rates = {
            name: measured(server, "batch.lua", seconds, name, connections=4) for name in ("arrays", "hits")
        }
    direct = bare_batches(path, seconds)
    print(f"{'100 codes, search_arrays without a service':44} {direct:8,.1f} batches/s")
    for name, found in rates.items():
        show(f"100 codes, answered with {name}", found, f"   ratio {found['rate'] / direct:.2f}")


def soak(path: Path, minutes: float) -> None:
    """Mixed load, then a kill."""
    with Server(path, "--writable", environment=CLEAN) as server:
        load = Load(server.url, server.port, n_bytes=8)
        load.start()
        begin, memory = time.monotonic(), []
        while time.monotonic() - begin < 60 * minutes:
            time.sleep(min(60 * minutes / 30, 60))
            memory.append(server.memory() / 1e6)
            print(
                f"{(time.monotonic() - begin) / 60:5.1f} min   {memory[-1]:7.1f} MB   {load.counts}",
                flush=True,
            )
        load.expect_kill()
        server.kill()
        load.stop()
        errors = [line for line in server.lines if line.get("level") == "error"]
    warm = memory[len(memory) // 10 :]
    print(
        f"faults that no client caused: {len(load.faults)} {load.faults[:3]}; errors in the log: {len(errors)}"
    )
    print(
        f"memory after warm-up: {min(warm):.1f} to {max(warm):.1f} MB ({100 * (max(warm) / min(warm) - 1):+.1f} %)"
    )
    with dh.Collection.open(path) as collection:
        missing, unasked = lost(load, collection)
        acknowledged = sum(map(len, load.stored.values()))
        print(
            f"after kill -9: {acknowledged:,} acknowledged objects, {len(missing)} lost, {len(unasked)} not asked for"
        )
        print("verify:", collection.verify().problems or "in order")


#: The servers of the tests use one thread; these use all.
CLEAN = {"OMP_NUM_THREADS": "", "OPENBLAS_NUM_THREADS": ""}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--codes", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument(
        "--soak", type=float, metavar="MINUTES", help="mixed load for so long, in place of the figures"
    )
    parser.add_argument("--search-threads", type=int, default=ServeSettings().search_threads)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.dh"
        make_collection(path, 100_000 if options.soak else options.codes)
        if options.soak:
            soak(path, options.soak)
        else:
            measure(path, options.codes, options.seconds, options.search_threads)


if __name__ == "__main__":
    main()
