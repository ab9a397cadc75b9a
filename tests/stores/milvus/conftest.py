"""Stores in a real Milvus."""

from __future__ import annotations

import secrets

import numpy as np
import pytest

import diffhash as dh


@pytest.fixture(scope="session")
def hasher():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(200, 6))
    views = {"x": z @ rng.normal(size=(6, 16)), "y": z @ rng.normal(size=(6, 14))}
    return dh.DiffHash(n_bits=16, rotate=True).fit(views, dh.Pairs.aligned(200))


@pytest.fixture
def address(milvus_server):
    """Address of a store that does not exist yet."""
    return milvus_server.address(f"test_{secrets.token_hex(6)}")


@pytest.fixture
def client(milvus_server):
    """The client of somebody else."""
    from pymilvus import MilvusClient

    client = MilvusClient(uri=f"http://{milvus_server.host}", timeout=20, dedicated=True)
    yield client
    client.close()


def codes_of(n, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, 2), dtype=np.uint8)
