"""Processes that run the cases, shared by all tests of a session."""

from __future__ import annotations

import shutil
import sys

import pytest

# Memory is measured in /proc, and system calls are seen by LD_PRELOAD. The other tests run everywhere.
LINUX = sys.platform.startswith("linux")
collect_ignore_glob = (
    [] if LINUX else ["[!t]*.py", "test_attack.py", "test_harness.py", "targets/*", "crashes/*"]
)


@pytest.fixture(scope="session")
def worker():
    from .worker import Worker

    with Worker() as started:
        yield started


@pytest.fixture(scope="session")
def crash_worker():
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler to see the system calls")
    from .crashes.shim import build_shim
    from .worker import Worker

    with Worker(build_shim()) as started:
        yield started
