"""A cluster of two real processes, and small data on it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import diffhash as dh
from diffhash.learning import sample_keys

N = 3000


@pytest.fixture(scope="package")
def client():
    """A client of a local cluster of two processes."""
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    with dh.cluster.local_cluster(2) as cluster, cluster.get_client() as client:
        yield client


@pytest.fixture
def small_sample(monkeypatch):
    """The sample has fewer rows than the data, so that all passes run."""
    monkeypatch.setattr(sample_keys, "MAX_SAMPLE_ROWS", 800)


@pytest.fixture(scope="session")
def data():
    """Three views of float32, labels, and ids."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 20, N)
    z = rng.normal(size=(20, 10))[labels] + 0.7 * rng.normal(size=(N, 10))
    views = {
        name: (z @ rng.normal(size=(10, d)) + 0.3 * rng.normal(size=(N, d)) + 1).astype(np.float32)
        for name, d in (("image", 24), ("text", 12), ("speech", 9))
    }
    return SimpleNamespace(views=views, labels=labels, two={name: views[name] for name in ("image", "text")})


def equal_bits(one, two, views):
    """Share of the bits that two hashers give alike."""
    same = [
        np.unpackbits(one.encode(X, modality=m)) == np.unpackbits(two.encode(X, modality=m))
        for m, X in views.items()
    ]
    return np.mean(np.concatenate(same))
