"""Fixtures of real servers, for all tests. Tests that use one have the marker ``server``.

``make test-stores`` selects them with ``-m server``; then a test that is skipped counts as failed. Without
that selection they are skipped, because the servers need packages of their own and take time to start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from .milvus import QUICK, MilvusServer, RunningMilvus
from .postgres import PostgresServer
from .processes import MILVUS_HOST, ServerUnavailableError


def servers_are_selected(config: Any) -> bool:
    """Whether pytest runs with ``-m server``, or with an expression that begins with it."""
    return str(config.option.markexpr).split(" ")[0] == "server"


def available(request: Any, make: Any) -> Any:
    """What ``make()`` returns; a skip with the reason if the server cannot run here."""
    if not servers_are_selected(request.config):
        pytest.skip("needs a real server: run make test-stores")
    try:
        return make()
    except ServerUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def postgres_server(request: Any) -> Iterator[PostgresServer]:
    """A running PostgreSQL for all tests. A test that stops it starts it again."""
    server = available(request, lambda: PostgresServer({"fsync": "off"}))
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def own_postgres_server(request: Any) -> Iterator[PostgresServer]:
    """A running PostgreSQL for one test, which may kill it, or fill its disk."""
    server = available(request, PostgresServer)
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture(scope="session")
def milvus_server(request: Any) -> Iterator[MilvusServer | RunningMilvus]:
    """A running Milvus for all tests: the one that ``python -m tests.servers`` has started, or one of its own."""
    if host := os.environ.get(MILVUS_HOST):
        yield available(request, lambda: RunningMilvus(host))
        return
    server = available(request, lambda: MilvusServer(QUICK))
    try:
        yield server.start()
    finally:
        server.close()


def own_milvus() -> MilvusServer:
    """A Milvus beside no other: two of them cannot share a network, because their parts have fixed ports."""
    if MILVUS_HOST in os.environ:
        raise ServerUnavailableError(
            "another Milvus runs here: run this file alone, as make test-stores does"
        )
    return MilvusServer(QUICK)


@pytest.fixture
def own_milvus_server(request: Any) -> Iterator[MilvusServer]:
    """A running Milvus for one test, which may kill it."""
    server = available(request, own_milvus)
    try:
        yield server.start()
    finally:
        server.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """A server test that is skipped has failed, if server tests were asked for."""
    report = yield
    if report.skipped and item.get_closest_marker("server") and servers_are_selected(item.config):
        report.outcome = "failed"
        report.longrepr = f"skipped, but server tests were selected: {report.longrepr}"
    return report
