"""Number of threads, and the limit on the threads of BLAS."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import diffhash as dh
from diffhash import HammingIndex
from diffhash.errors import ParameterError
from diffhash.threads import one_blas_thread, thread_count


def blas_threads(layers=("pthreads", "openmp", None)):
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {pool["num_threads"] for pool in pools if pool.get("threading_layer") in layers}


def test_overlapping_limits_are_restored_when_the_last_context_ends():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        entered, leave = threading.Event(), threading.Event()

        def other():
            with one_blas_thread():
                entered.set()
                leave.wait(60)

        thread = threading.Thread(target=other)
        try:
            with one_blas_thread():
                thread.start()
                assert entered.wait(60)
                assert blas_threads() == {1}
            # With OpenMP every thread has its own limit.
            assert blas_threads(["pthreads"]) <= {1}, "the other context is still open"
        finally:
            leave.set()
            thread.join()
        assert blas_threads() == before


def test_the_limit_is_restored_after_an_error():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        try:
            with one_blas_thread():
                raise RuntimeError
        except RuntimeError:
            pass
        assert blas_threads() == before


def test_refined_hash_uses_one_blas_thread_for_small_problems():
    seen = []
    rng = np.random.default_rng(0)
    views = {m: rng.normal(size=(4, 3)) for m in "xy"}  # too few for a search, so it is always refined
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        hasher = dh.RefinedHash(
            n_bits=4, features="linear", progress=lambda _, __: seen.append(blas_threads())
        )
        hasher.fit(views, dh.Pairs.aligned(4))
        assert blas_threads() == before
    assert seen
    assert all(pools == {1} for pools in seen)


def test_the_argument_overrides_the_environment_and_this_overrides_the_affinity(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    monkeypatch.delenv("DIFFHASH_NUM_THREADS", raising=False)
    assert thread_count(None, caller="test") == 3
    monkeypatch.setenv("DIFFHASH_NUM_THREADS", "7")
    assert thread_count(None, caller="test") == 7
    assert thread_count(2, caller="test") == 2


@pytest.mark.parametrize("n_threads", [2**64, 2**31, 4097, 10**400])
def test_more_threads_than_any_machine_has_are_refused(n_threads, monkeypatch):
    with pytest.raises(ParameterError, match="from 1 to 4,096"):
        thread_count(n_threads, caller="test")
    with pytest.raises(ParameterError, match="n_threads"):
        HammingIndex(np.zeros((2, 1), dtype=np.uint8)).search(
            np.zeros((1, 1), dtype=np.uint8), 1, n_threads=n_threads
        )
    monkeypatch.setenv("DIFFHASH_NUM_THREADS", str(n_threads))
    with pytest.raises(ParameterError, match="from 1 to 4,096"):
        thread_count(None, caller="test")
