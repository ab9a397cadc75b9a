"""Threads, forks and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from diffhash import native
from tests.signals import heed_interrupts

posix = pytest.mark.skipif(os.name != "posix", reason="forks and signals of POSIX")


@pytest.fixture(scope="module")
def codes():
    return np.random.default_rng(0).integers(0, 256, (50_000, 16), dtype=np.uint8)


def test_eight_python_threads_get_the_same_answers(kernel, codes):
    expected = native.top_k(queries=codes[:8], database=codes, k=20, kernel=kernel)

    with ThreadPoolExecutor(8) as pool:
        searches = [
            pool.submit(native.top_k, queries=codes[:8], database=codes, k=20, n_threads=2, kernel=kernel)
            for _ in range(24)
        ]

        for search in searches:
            np.testing.assert_array_equal(search.result().ids, expected.ids)
            np.testing.assert_array_equal(search.result().distances, expected.distances)


FORK = """
import os, signal
import numpy as np
from diffhash import native

codes = np.random.default_rng(0).integers(0, 256, (200_000, 16), dtype=np.uint8)
before = native.top_k(queries=codes[:3], database=codes, k=5, n_threads=2).ids
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if (native.top_k(queries=codes[:3], database=codes, k=5, n_threads=2).ids == before).all() else 1)
_, status = os.waitpid(child, 0)
assert (native.top_k(queries=codes[:3], database=codes, k=5, n_threads=2).ids == before).all()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""


@posix
def test_a_forked_child_can_search(kernel):
    environment = {**os.environ, "DIFFHASH_KERNEL": kernel, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", FORK], env=environment, timeout=120, check=False)

    assert done.returncode == 0


ENDLESS = """
import numpy as np
from diffhash import native

codes = np.zeros((2_000_000, 64), dtype=np.uint8)
queries = np.zeros((20_000, 64), dtype=np.uint8)
try:
    print("searching", flush=True)
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""

CALLS = {
    "top_k": "native.top_k(queries=queries, database=codes, k=10, n_threads={threads})",
    "top_k_few": "[native.top_k(queries=queries[:2], database=codes, k=10, n_threads={threads}) for _ in range(10**6)]",
    "within": "native.within(queries=queries, database=codes + 1, radius=0, n_threads={threads})",
    "distance_table": "native.distance_table(queries=queries, database=codes, "
    "query_labels=np.zeros(len(queries), int), database_labels=np.zeros(len(codes), int), n_threads={threads})",
}


@posix
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_long_search(call, threads):
    """Minutes of work end soon after the signal; the bound is generous, as machines are shared."""
    script = ENDLESS.format(call=CALLS[call].format(threads=threads))
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "searching\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()

    assert output == "interrupted\n"
