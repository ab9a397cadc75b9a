"""Settings of Hypothesis, and data for many tests."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import diffhash as dh

from .servers.fixtures import (  # noqa: F401 - pytest finds fixtures and hooks by these names
    milvus_server,
    own_milvus_server,
    own_postgres_server,
    postgres_server,
    pytest_runtest_makereport,
)

# Fitting is slow, so there is no deadline. On CI the examples are the same in every run.
settings.register_profile(
    "default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def small_data():
    """Paper-like data of 5 well separated classes: 400 training and 200 test objects."""
    return dh.datasets.make_paper_data(n_classes=5, n_train=400, n_test=200, center_scale=6.0, random_state=3)


@pytest.fixture(scope="session")
def small_pairs(small_data):
    """Listed pairs of the small data."""
    labels = small_data.train.labels
    return dh.Pairs.from_labels(labels["x"], labels["y"], n_positive=800, n_negative=3000, random_state=1)


@pytest.fixture
def rng():
    return np.random.default_rng(20)
