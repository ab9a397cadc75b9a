"""The slow paths: learning, encoding, search and collections, beside floors and peers.

``make bench`` runs ``python -m benchmarks.speed``. It measures every row of the table in a process of its own, keeps
the rows in ``benchmarks/results/speed.json``, prints the table and writes it into ``docs/measurements/speed.md``. It
takes less than half an hour. If it is interrupted, the next run goes on with the rows that are missing; rows that older
code measured are measured again. Run it on an idle machine, or with ``--clock cpu``: CPU time with one thread.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.accuracy.machine import machine

from .learning import hashers
from .measuring import Line

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs" / "measurements" / "speed.md"
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
#: Rows of the table, in its order: name, and the function that measures it.
ROWS = {
    "refined": "learning.refined_million",
    "diff": "learning.diff_million",
    "kernel": "learning.kernel_million",
    "paper-diff": "learning.paper_diff",
    "paper-kernel": "learning.paper_kernel",
    **{f"wide-sparse/{name}": "learning.wide_sparse" for name in hashers()},
    **{f"wide-dense/{name}": "learning.wide_dense" for name in hashers()},
    **{f"classes/{name}": "learning.many_classes" for name in hashers()},
    "encode": "encoding.in_memory",
    "encode-file": "encoding.from_file",
    "query": "encoding.one_query",
    "model": "encoding.model_size",
    "search": "searching.exact_search",
    "collection": "collection.maintenance",
}
#: Seconds after which a row ends as missed: for one hasher, and for other rows.
TIME_OF_HASHER, TIME_OF_ROW = 60, 400


def fingerprint() -> str:
    """Tells whether the code that a row measured is the code of today."""
    digest = hashlib.sha256()
    for folder, endings in (("src/diffhash", (".py", ".cpp", ".hpp")), ("benchmarks/speed", (".py",))):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in endings:
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run_row(name: str, clock: str) -> dict[str, Any]:
    """Measure a row in a new process."""
    environment = os.environ | {"DIFFHASH_BENCH_CLOCK": clock}
    if clock == "cpu":
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "DIFFHASH_NUM_THREADS": "1"}
    started = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.speed", "--measure", name]
    limit = TIME_OF_HASHER if "/" in name else TIME_OF_ROW
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        lines = [asdict(Line(name, f"more than {limit} s", reached=False))]
    else:
        if done.returncode:
            sys.stderr.write(done.stderr)
        failed = [asdict(Line(name, "failed", reached=False))]
        lines = failed if done.returncode else json.loads(done.stdout.splitlines()[-1])
    return {
        "code": fingerprint(),
        "machine": machine() | peers(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "seconds": round(time.perf_counter() - started, 1),
        "lines": lines,
    }


def peers() -> dict[str, str]:
    """Versions of what is measured beside ours or with it."""
    return {"faiss": version("faiss-cpu"), "sqlite": sqlite3.sqlite_version, "orjson": version("orjson")}


def measure_here(name: str) -> None:
    """Measure a row in this process, and print its lines as JSON."""
    module, function = ROWS[name].split(".")
    call = getattr(importlib.import_module(f".{module}", __package__), function)
    lines = call(name.partition("/")[2]) if "/" in name else call()
    print(json.dumps([asdict(line) for line in lines]))


def table(results: dict[str, Any], clock: str) -> str:
    """The table in Markdown, with the machine, the date and the clock."""
    about = sorted({_about(results[name]) for name in ROWS if name in results})
    how = "time on the clock" if clock == "wall" else "CPU time, one thread"
    text = [
        f"{'; '.join(about)}. Times are {how}. Memory is the measured peak beyond the data.",
        "",
        "| work | measured | floor or peer | ratio | goal | peak memory, MB |",
        "|---|---|---|---|---|---|",
    ]
    for name in ROWS:
        for line in results.get(name, {}).get("lines", ()):
            goal = line["goal"] + (" **(missed)**" if line["reached"] is False else "")
            memory = "" if line["megabytes"] is None else f"{line['megabytes']:.0f}"
            cells = [line["work"], line["measured"], line["floor"], line["ratio"], goal, memory]
            text.append("| " + " | ".join(cells) + " |")
    missing = [name for name in ROWS if name not in results]
    if missing:
        text += ["", f"Not measured yet: {', '.join(missing)}."]
    return "\n".join(text)


def _about(result: dict[str, Any]) -> str:
    m = result["machine"]
    versions = f"Python {m['python']}, NumPy {m['numpy']}, SciPy {m['scipy']}"
    versions += f", FAISS {m['faiss']}, SQLite {m['sqlite']}, orjson {m['orjson']}"
    return f"{m['cpu']}, {m['cores']} cores, {m['date']}, diffhash {m['diffhash']}, {versions}"


def write_docs(text: str) -> None:
    """Put the table into its section of the documentation."""
    page = DOCS.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCS.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.speed", description=__doc__)
    parser.add_argument("rows", nargs="*", help=f"only these rows: {', '.join(ROWS)}")
    parser.add_argument("--again", action="store_true", help="measure rows again that are up to date")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument(
        "--no-docs",
        action="store_true",
        help="do not write into the documentation; so it is with --clock cpu",
    )
    parser.add_argument("--measure", choices=ROWS, metavar="ROW", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure_here(options.measure)
        return
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error(f"unknown rows {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    path = RESULTS / ("speed.json" if options.clock == "wall" else "speed-cpu.json")
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    code = fingerprint()
    for name in options.rows or ROWS:
        if options.again or results.get(name, {}).get("code") != code:
            results[name] = run_row(name, options.clock)
            path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for line in results[name]["lines"]:
            found = (line["work"], line["measured"], line["floor"], line["ratio"], line["goal"])
            print(" | ".join(filter(None, found)), flush=True)
    text = table(results, options.clock)
    print(f"\n{text}")
    # The page has times on the clock.
    if options.clock == "wall" and not options.no_docs:
        write_docs(text)


if __name__ == "__main__":
    main()
