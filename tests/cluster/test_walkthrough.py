"""The example for clusters, from end to end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster_walkthrough.py"


def test_the_walkthrough_learns_encodes_resumes_and_searches(tmp_path):
    """It starts a cluster of its own, as a reader would."""
    done = subprocess.run(
        [sys.executable, EXAMPLE, "--rows", "6000", "--folder", tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "3 passes over 24,000 aligned rows"
    assert "resumed: 3 of 4 shards were there already" in lines
    found = next(line for line in lines if line.startswith("the picture of a caption"))
    assert float(found.rpartition(": ")[2].rstrip("%")) > 50
    equal = float(lines[-1].rpartition(": ")[2].rstrip("%"))
    assert equal >= 99.99
