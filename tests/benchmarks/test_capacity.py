"""The formulas of the capacity plan, on numbers that can be checked by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import capacity
from benchmarks.capacity_plan import Constants, Machine, plan

CONSTANTS = Constants(
    index_bytes=16,
    file_bytes=100,
    scan_bandwidth=20e9,
    batch_distances=5e9,
    fit_rows=20_000,
    encode_rows=200_000,
    answer_bytes=300,
    merge_rows=100_000,
)
MACHINE = Machine(memory=64e9, cores=16)


def planned(n, queries=100, seconds=0.25):
    return plan(n, CONSTANTS, MACHINE, wanted_queries=queries, most_seconds=seconds)


def test_a_small_collection_needs_one_machine():
    small = planned(1e6)

    assert (small.shards, small.replicas, small.machines) == (1, 1, 1)
    assert small.memory == 16e6
    assert small.one_query == pytest.approx(8e6 / 20e9)
    assert small.queries_per_core == pytest.approx(5000)


def test_shards_follow_from_the_time_of_one_query_or_from_memory():
    assert planned(1e9, seconds=0.1).shards == 4  # 8 GB at 20 GB/s take 0.4 s
    assert planned(1e10, seconds=100).shards == 4  # 160 GB at 44.8 GB for each machine
    assert planned(1e9, seconds=0.1).one_query == pytest.approx(0.1)


def test_replicas_follow_from_the_queries_and_share_the_network():
    few, many = planned(1e9, queries=10, seconds=1), planned(1e9, queries=1000, seconds=1)

    assert (few.queries, few.replicas) == (pytest.approx(80), 1)
    assert many.replicas == 13
    assert many.network == pytest.approx(1000 / 13 * 300)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    calls = []
    at = {
        f"{what}, {threads}": 0.01
        for what in ("one query", "reading")
        for threads in ("all threads", "one thread")
    }
    made = {
        "index memory": {"bytes": 16.0},
        **{f"scan 1e{n}": {**at, "queries at once": 100, "batch, one thread": 0.1} for n in (6, 7, 8)},
        "file size": {"bytes, codes": 20.0, "bytes, codes and payloads": 100.0, "payload characters": 60},
        "learning": {"fit rows in a second": 1e4, "fit fixed seconds": 0, "encode rows in a second": 1e5},
        "answers": {"answer bytes, JSON": 300, "merged lists in a second": 1e5},
    }
    steps = {name: (lambda name=name: calls.append(name) or made[name]) for name in capacity.STEPS}
    monkeypatch.setattr(capacity, "STEPS", steps)
    monkeypatch.setattr(sys, "argv", ["capacity", "--results", str(tmp_path / "r.json"), "--only", "answers"])
    capacity.main()
    assert "not measured yet: index memory" in capsys.readouterr().out

    page = tmp_path / "page.md"
    page.write_text(
        "\n".join(
            f"<!-- {name}: begin -->\nold\n<!-- {name}: end -->" for name in ("constants", "checks", "plan")
        )
    )
    monkeypatch.setattr(sys, "argv", ["capacity", "--results", str(tmp_path / "r.json"), "--page", str(page)])
    capacity.main()

    assert sorted(calls) == sorted(made)
    assert "(goal ≥ 80 %: reached)" in capsys.readouterr().out
    assert "old" not in page.read_text()
    assert "| 10¹⁰ | 160.00 GB | 1000.0 GB |" in page.read_text()


def test_pages_have_the_marks_that_benchmarks_write_between():
    """Figures are replaced in docs/measurements; a page without the marks would stop the benchmark at its end."""
    folder = Path(capacity.__file__).parent.parent / "docs" / "measurements"
    for page, names in {
        "capacity.md": ("constants", "checks", "plan"),
        "stores.md": ("figures", "recall"),
    }.items():
        text = (folder / page).read_text(encoding="utf-8")
        for name in names:
            assert f"<!-- {name}: begin -->" in text, f"{page} lacks the mark of {name}"
            assert f"<!-- {name}: end -->" in text
