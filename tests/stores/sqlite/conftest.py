"""A small hasher, and collections with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

import diffhash as dh


@pytest.fixture(scope="session")
def views():
    """Two views of 60 objects in 3 classes."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 60)
    x = 3 * rng.normal(size=(3, 20))[labels] + rng.normal(size=(60, 20))
    y = 3 * rng.normal(size=(3, 18))[labels] + rng.normal(size=(60, 18))
    return {"x": x, "y": y}


@pytest.fixture(scope="session")
def hasher(views):
    return dh.DiffHash(n_bits=16).fit(views, dh.Pairs.aligned(60))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "objects.dh"


@pytest.fixture
def collection(path, hasher):
    with dh.Collection.create(path, hasher) as made:
        yield made


@pytest.fixture
def filled(collection, views):
    """Sixty objects with both modalities."""
    payloads = [{"n": i, "even": i % 2 == 0, "name": f"object {i}"} for i in range(60)]
    collection.add(views["x"], modality="x", ids=range(60), payloads=payloads)
    collection.add(views["y"], modality="y", ids=range(60))
    return collection


@pytest.fixture
def tiny_disk():
    """A file system of one megabyte."""
    folder = Path(tempfile.mkdtemp())
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", os.fspath(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("mounting a file system is not allowed here")
    yield folder
    subprocess.run(["umount", os.fspath(folder)], check=True)
    folder.rmdir()
