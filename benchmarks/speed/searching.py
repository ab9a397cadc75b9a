"""Rows of the table about exact search, measured by :mod:`benchmarks.search`."""

from __future__ import annotations

from benchmarks import search
from diffhash import native

from .measuring import CLOCK, Line

#: Bits, queries, neighbours, goal (times faster than FAISS).
CASES = (
    (64, 100, 10, 8.0),
    (128, 100, 10, 7.0),
    (256, 100, 10, 5.0),
    (64, 20, 1000, 5.0),
    (64, 100, 1000, 5.0),
)


def exact_search() -> list[Line]:
    """A million codes, beside FAISS."""
    threads = 1 if CLOCK == "cpu" else native.build_info().n_threads
    search.clock = search.CLOCKS[CLOCK]
    report = search.Report(threads)
    for n_bits, n_queries, k, goal in CASES:
        work = f"search 10⁶ × {n_bits} bits, {n_queries} queries, k = {k:,}"
        search.search_case(
            report,
            work,
            "random",
            (1_000_000, n_bits, n_queries),
            k,
            goal,
            repeats=9,
            peers=[search.faiss_contenders],
        )
    return [_line(row) for row in report.rows]


def _line(row: dict[str, object]) -> Line:
    times = row["milliseconds"]
    assert isinstance(times, dict)
    peer = min((name for name in times if name.startswith("FAISS")), key=lambda name: times[name])
    kernels = ", ".join(f"{name} {t:.3g} ms" for name, t in times.items() if name.startswith("kernel"))
    best = native.available_kernels()[0]
    return Line(
        f"{row['work']} ({best}; {kernels})",
        f"{times['diffhash']:.3g} ms",
        f"{peer}: {times[peer]:.3g} ms",
        f"{row['ratio']} faster",
        f"{row['goal']} faster",
        bool(row["reached"]),
    )
