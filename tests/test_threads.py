"""Number of threads, and the limit on the threads of BLAS."""

from __future__ import annotations

import threading

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

import diffhash as dh
from diffhash.threads import one_blas_thread, thread_count


def blas(layers=("pthreads", "openmp", None)):
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {pool["num_threads"] for pool in pools if pool.get("threading_layer") in layers}


def test_overlapping_limits_are_lifted_by_the_last_one_out():
    with threadpool_limits(2, user_api="blas"):
        before = blas()
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
                assert blas() == {1}
            # With OpenMP every thread has a limit of its own.
            assert blas(["pthreads"]) <= {1}, "the other one is still inside"
        finally:
            leave.set()
            thread.join()
        assert blas() == before


def test_an_error_inside_lifts_the_limit():
    with threadpool_limits(2, user_api="blas"):
        before = blas()
        try:
            with one_blas_thread():
                raise RuntimeError
        except RuntimeError:
            pass
        assert blas() == before


def test_small_problems_are_learned_in_one_thread():
    seen = []
    rng = np.random.default_rng(0)
    views = {m: rng.normal(size=(4, 3)) for m in "xy"}  # too few to hold any out: refined whatever it gains
    with threadpool_limits(2, user_api="blas"):
        before = blas()
        hasher = dh.RefinedHash(n_bits=4, features="linear", progress=lambda _, __: seen.append(blas()))
        hasher.fit(views, dh.Pairs.aligned(4))
        assert blas() == before
    assert seen
    assert all(pools == {1} for pools in seen)


def test_the_argument_comes_before_the_environment_and_that_before_the_affinity(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    monkeypatch.delenv("DIFFHASH_NUM_THREADS", raising=False)
    assert thread_count(None, caller="test") == 3
    monkeypatch.setenv("DIFFHASH_NUM_THREADS", "7")
    assert thread_count(None, caller="test") == 7
    assert thread_count(2, caller="test") == 2
