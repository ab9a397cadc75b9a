"""The stores that are tested. Add an engine to ``ENGINES``, and every test of this folder runs on it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

import diffhash as dh
from tests.service.many_servers import ManyServers


def file_address(folder, _server):
    return folder / "store.dh"


def memory_address(_folder, _server):
    return "memory://"


def postgres_address(folder, server):
    return server.address(collection=folder.name)


def milvus_address(folder, server):
    return server.address(folder.name)


#: By engine: a function that gives the address of a new store from an empty folder and the server,
#: and the fixture of the server; None if there is none. A service in front of Milvus would take another ten minutes:
#: tests/service/test_databases.py has it.
ENGINES = {
    "collection": (file_address, None),
    "memory": (memory_address, None),
    "postgresql": (postgres_address, "postgres_server"),
    "milvus": (milvus_address, "milvus_server"),
    "http": (file_address, None),
    "http-postgresql": (postgres_address, "postgres_server"),
}


#: Engines that take seconds to make a store: tests of random cases have fewer of them there.
SLOW = {"milvus", "http", "http-postgresql"}


@pytest.fixture(scope="session")
def services():
    """A process with many services; see :mod:`tests.service.many_servers`."""
    with ManyServers() as running:
        yield running


@pytest.fixture(scope="session")
def hasher():
    """A model of twelve bits: the last byte of a code has padding."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, 300)
    x = rng.normal(size=(4, 16))[labels] + 0.3 * rng.normal(size=(300, 16))
    y = rng.normal(size=(4, 14))[labels] + 0.3 * rng.normal(size=(300, 14))
    return dh.DiffHash(n_bits=12).fit({"x": x, "y": y}, dh.Pairs.aligned(300))


@pytest.fixture(
    params=[
        pytest.param(name, marks=[] if server is None else pytest.mark.server)
        for name, (_, server) in ENGINES.items()
    ]
)
def make_store(request, hasher):
    """A function that makes an empty store, by default for the hasher; the stores are closed at the end."""
    address_of, fixture = ENGINES[request.param]
    server = None if fixture is None else request.getfixturevalue(fixture)
    made, folders = [], []

    def make(learned=hasher, **options):
        folders.append(Path(tempfile.mkdtemp(prefix="store_")))
        address = address_of(folders[-1], server)
        made.append(dh.create(address, learned, **options))
        if request.param.startswith("http"):
            # A service is put in front of a store, and opened by its address.
            made.pop().close()
            made.append(dh.open(request.getfixturevalue("services").serve(address), writable=True))
        return made[-1]

    make.is_slow = request.param in SLOW
    yield make
    for store in made:
        store.close()
        if request.param.startswith("http"):
            request.getfixturevalue("services").stop(store.address)
    for folder in folders:
        shutil.rmtree(folder)


@pytest.fixture
def store(make_store):
    return make_store()
