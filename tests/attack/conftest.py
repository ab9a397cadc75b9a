"""Processes that run the cases, shared by all tests of a session."""

from __future__ import annotations

import pytest

from .crashes.shim import build_shim
from .worker import Worker


@pytest.fixture(scope="session")
def worker():
    with Worker() as started:
        yield started


@pytest.fixture(scope="session")
def crash_worker():
    with Worker(build_shim()) as started:
        yield started
