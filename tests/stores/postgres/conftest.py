"""Collections on a real PostgreSQL server."""

from __future__ import annotations

import secrets

import numpy as np
import pytest

import diffhash as dh


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/stores/postgres/" in item.nodeid:
            item.add_marker(pytest.mark.server)


@pytest.fixture
def address(postgres_server):
    """Address of a collection that does not exist yet."""
    return postgres_server.address(collection=f"c{secrets.token_hex(6)}")


@pytest.fixture(scope="session")
def hasher():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(200, 8)), rng.normal(size=(200, 6))
    return dh.DiffHash(n_bits=5).fit({"x": x, "y": y}, dh.Pairs.aligned(200))


@pytest.fixture
def collection_name():
    """The name of the collection in an address."""
    return lambda address: address.rpartition("collection=")[2]
