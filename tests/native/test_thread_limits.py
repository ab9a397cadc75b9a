"""If the system starts no more threads, the results are the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# The limit of the address space leaves room for few stacks of threads.
SCRIPT = """
import pathlib, re, resource
import numpy as np
from diffhash import native

rng = np.random.default_rng(0)
codes, labels = rng.integers(0, 256, (30_000, 8), dtype=np.uint8), rng.integers(0, 7, 30_000)
values, bins, rows = rng.normal(size=(300_000, 32)), rng.integers(0, 4, (64, 1000)), rng.integers(0, 1000, 200_000)
calls = {
    "pack_signs": lambda n: [native.pack_signs(values, n_threads=n)],
    "joint_counts": lambda n: [
        native.joint_counts(bins_x=bins, bins_y=bins, index=(rows, rows[::-1]), n_bins=4, n_threads=n)
    ],
    "top_k": lambda n: native.top_k(queries=codes[:300], database=codes, k=5, n_threads=n),
    "within": lambda n: native.within(queries=codes[:300], database=codes, radius=20, n_threads=n),
    "distance_table": lambda n: [
        native.distance_table(
            queries=codes[:2000], database=codes, query_labels=labels[:2000], database_labels=labels, n_threads=n
        )
    ],
}
expected = {name: call(1) for name, call in calls.items()}
size = int(re.search(r"VmSize:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (size + 60_000_000, resource.RLIM_INFINITY))
for name, call in calls.items():
    same = all(np.array_equal(a, b) for a, b in zip(call(64), expected[name], strict=True))
    print(name, "same" if same else "different", flush=True)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space by /proc")
def test_threads_that_cannot_be_started_change_no_result():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{name} same" for name in ("pack_signs", "joint_counts", "top_k", "within", "distance_table")
    ]
