"""The stores that are tested: each is made by a factory that takes a hasher and an empty folder.

Add a new store here, and every test of this folder runs on it.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

import diffhash as dh


def make_collection(hasher, folder):
    return dh.Collection.create(folder / "store.dh", hasher)


FACTORIES = {"collection": make_collection}


@pytest.fixture(scope="session")
def hasher():
    """A model of twelve bits: the last byte of a code has padding."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, 300)
    x = rng.normal(size=(4, 16))[labels] + 0.3 * rng.normal(size=(300, 16))
    y = rng.normal(size=(4, 14))[labels] + 0.3 * rng.normal(size=(300, 14))
    return dh.DiffHash(n_bits=12).fit({"x": x, "y": y}, dh.Pairs.aligned(300))


@pytest.fixture(params=FACTORIES)
def make_store(request, hasher):
    """A function that makes an empty store; the stores are closed at the end."""
    made, folders = [], []

    def make():
        folders.append(Path(tempfile.mkdtemp()))
        made.append(FACTORIES[request.param](hasher, folders[-1]))
        return made[-1]

    yield make
    for store in made:
        store.close()
    for folder in folders:
        shutil.rmtree(folder)


@pytest.fixture
def store(make_store):
    return make_store()
