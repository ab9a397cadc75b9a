"""``diffhash bench``: the benchmarks of a checkout."""

from __future__ import annotations

import shutil

import pytest

from diffhash.cli import bench
from diffhash.errors import DiffhashError
from tests.cli.process import diffhash


def test_bench_lists_runs_and_passes_arguments_and_status_on(tmp_path):
    listed = diffhash("bench")
    assert listed.returncode == 0
    assert "accuracy" in listed.stdout
    assert "\npeers" not in listed.stdout

    helped = diffhash("bench", "accuracy", "--help", cwd=tmp_path)
    assert helped.returncode == 0
    assert "--datasets" in helped.stdout

    refused = diffhash("bench", "accuracy", "--no-such-option", cwd=tmp_path)
    assert refused.returncode == 2


def test_bench_without_a_checkout_says_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "lib" / "diffhash" / "cli").mkdir(parents=True)
    shutil.copy(bench.__file__, tmp_path / "lib" / "diffhash" / "cli" / "bench.py")
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "lib" / "diffhash" / "cli" / "bench.py"))

    with pytest.raises(DiffhashError, match="Get the source"):
        bench.find_benchmarks()
