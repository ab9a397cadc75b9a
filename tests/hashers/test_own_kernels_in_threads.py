"""A kernel function of the user is never called by two threads at once."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import diffhash as dh
from diffhash.hashers import training_data
from diffhash.maps import mapped_view


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("modalities", ["both", "the second"])
def test_an_own_kernel_is_called_by_one_thread_at_a_time(monkeypatch, metric, modalities):
    """Also if its rows are scaled first, and if only the partners of the rows need it."""
    monkeypatch.setenv("DIFFHASH_NUM_THREADS", "2")
    monkeypatch.setattr(mapped_view, "_BLOCK_SIZE", 40 * 50)
    init = mapped_view.MappedView.__init__
    # As if the features of every view were larger than what is kept.
    monkeypatch.setattr(
        mapped_view.MappedView, "__init__", lambda view, X, fitted, _keep=0: init(view, X, fitted, 0)
    )
    monkeypatch.setattr(training_data, "_FEW_OBJECTS", 0)
    lock, active, most = threading.Lock(), 0, 0

    def kernel(X, landmarks):
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        time.sleep(0.001)
        values = np.exp(-((X[:, None] - landmarks) ** 2).sum(axis=2) / 6)
        with lock:
            active -= 1
        return values

    rng = np.random.default_rng(0)
    views = {m: rng.standard_normal((600, 6)) for m in "xy"}
    chosen = kernel if modalities == "both" else {"x": "gaussian", "y": kernel}
    hasher = dh.KernelDiffHash(4, n_landmarks=40, kernel=chosen, metric=metric)

    with threadpool_limits(2, user_api="blas"):
        hasher.fit(views, dh.Pairs.aligned(600))

    assert most == 1
