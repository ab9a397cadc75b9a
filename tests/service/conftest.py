"""Collections and the servers in front of them."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from tests.cli.conftest import photos

from .process import Server

__all__ = ["photos"]


@pytest.fixture(scope="session")
def learned(small_data):
    """A calibrated model of sixteen bits."""
    return dh.DiffHash(n_bits=16).fit(small_data.train.views, dh.Pairs.aligned(400), calibrate=True)


@pytest.fixture(scope="session")
def filled(tmp_path_factory, learned, small_data):
    """A collection of 200 objects with two modalities."""
    path = tmp_path_factory.mktemp("served") / "objects.dh"
    payloads = [{"n": i, "half": i % 2, "name": f"object {i}"} for i in range(200)]
    with dh.Collection.create(path, learned, fused="both") as collection:
        for name, features in small_data.test.views.items():
            collection.add(features, modality=name, ids=range(200), payloads=payloads)
        collection.add(small_data.test.views, ids=range(200))
    return path


@pytest.fixture(scope="session")
def pictures(tmp_path_factory, photos):
    """A collection of pictures and captions."""
    path = tmp_path_factory.mktemp("served") / "photos.dh"
    learning = workflows.LearningOptions(method="diff", n_bits=4, calibrate=True)
    workflows.build_folder(photos / "pictures", photos / "captions.csv", path, learning=learning)
    return SimpleNamespace(path=path, folder=photos / "pictures")


@pytest.fixture(scope="session")
def server(filled):
    """A server that only reads."""
    with Server(filled) as running:
        yield running


@pytest.fixture(scope="session")
def client(server):
    with server.client() as client:
        yield client


@pytest.fixture(scope="session")
def picture_client(pictures):
    with Server(pictures.path) as running, running.client() as client:
        yield client


@pytest.fixture
def copied(filled, tmp_path):
    """A collection that a test may change."""
    return shutil.copy(filled, tmp_path / "copy.dh")


@pytest.fixture
def code(filled):
    """A function that gives the code of an object in hexadecimal digits."""
    with dh.Collection.open(filled) as collection:
        yield lambda id_, modality="x": collection.get([id_])[0].codes[modality].tobytes().hex()


def vector(features, row=0):
    return np.asarray(features[row], dtype=float).tolist()
