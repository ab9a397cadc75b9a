"""Number of threads, and the limit on the threads of BLAS."""

from __future__ import annotations

import sys
import threading
import time
import types

import numpy as np
import pytest
import scipy.sparse
import threadpoolctl
from threadpoolctl import threadpool_info, threadpool_limits

import diffhash as dh
from diffhash import HammingIndex, threads
from diffhash.errors import ParameterError
from diffhash.hashers import training_data
from diffhash.learning.class_scores import RegressionSums
from diffhash.maps import KernelMap, LinearMap, mapped_view
from diffhash.threads import blas_libraries, in_runs, one_blas_thread, thread_count


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


class FakeBlas:
    """A library as threadpoolctl controls it; MKL has a limit for each thread."""

    user_api = "blas"
    threading_layer = "intel"

    def __init__(self, name: str, internal_api: str) -> None:
        self.filepath, self.internal_api = name, internal_api
        self._limit = threading.local() if internal_api == "mkl" else types.SimpleNamespace()

    @property
    def num_threads(self) -> int:
        return getattr(self._limit, "n", 4)

    def set_num_threads(self, n: int) -> None:
        self._limit.n = n


def test_mkl_is_limited_in_every_thread(monkeypatch):
    """Its limit belongs to a thread, like that of OpenMP."""
    mkl = FakeBlas("mkl", "mkl")
    monkeypatch.setattr(threads, "_loaded_libraries", lambda: [mkl])
    monkeypatch.setenv("DIFFHASH_NUM_THREADS", "2")

    assert in_runs(lambda parts: (list(parts), mkl.num_threads)[1], range(8)) == [1, 1]
    assert mkl.num_threads == 4


def test_a_library_that_is_loaded_inside_a_context_is_limited_by_the_next_one(monkeypatch):
    """And all limits are restored when the last context ends."""
    first, second = FakeBlas("first", "openblas"), FakeBlas("second", "openblas")
    loaded = [first]
    # New objects each time, as if they were looked for again.
    monkeypatch.setattr(threads, "_loaded_libraries", lambda: list(loaded))
    with one_blas_thread():
        loaded.append(second)
        with one_blas_thread():
            assert (first.num_threads, second.num_threads) == (1, 1)
    assert (first.num_threads, second.num_threads) == (4, 4)


def test_a_thread_that_cannot_start_stops_the_others(monkeypatch):
    """The error is raised without waiting for work whose result nobody needs."""
    monkeypatch.setattr(threads, "_loaded_libraries", lambda: [FakeBlas("blas", "openblas")])
    monkeypatch.setenv("DIFFHASH_NUM_THREADS", "2")
    start, started, done = threading.Thread.start, [], []

    def fail(self):
        started.append(self)
        if len(started) > 1:
            raise RuntimeError("can't start new thread")
        start(self)

    def slow(parts):
        for part in parts:
            time.sleep(0.01)
            done.append(part)

    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(RuntimeError, match="start new thread"):
        in_runs(slow, range(400))

    assert len(done) < 100


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


def test_libraries_are_looked_for_again_only_after_an_import(monkeypatch):
    """Finding the BLAS libraries takes milliseconds; a new one comes with a new module."""
    searches = []
    search = threadpoolctl.ThreadpoolController
    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", lambda: searches.append(1) or search())
    monkeypatch.setattr(threads, "_known_libraries", None)

    first = blas_libraries()
    with one_blas_thread():
        pass
    assert len(searches) == 1

    monkeypatch.setitem(sys.modules, "module_with_another_blas", types.ModuleType("module_with_another_blas"))
    assert blas_libraries() == first
    assert len(searches) == 2


def _two_threads(monkeypatch):
    """Whatever this machine has: two threads, of the library and of BLAS."""
    monkeypatch.setenv("DIFFHASH_NUM_THREADS", "2")
    return threadpoolctl.threadpool_limits(2, user_api="blas")


def test_runs_cover_all_parts_in_their_order(monkeypatch):
    with _two_threads(monkeypatch):
        assert in_runs(list, range(9)) == [[0, 1, 2, 3], [4, 5, 6, 7, 8]]


def test_a_run_has_one_blas_thread(monkeypatch):
    def threads(_):
        return max(library["threads"] for library in blas_libraries())

    with _two_threads(monkeypatch):
        before = threads(())
        assert in_runs(threads, range(8)) == [1, 1]
        assert threads(()) == before


def test_there_is_one_run_if_blas_may_use_one_thread_or_parts_are_few(monkeypatch):
    with _two_threads(monkeypatch):
        assert len(in_runs(list, range(7))) == 1
        assert in_runs(list, []) == [[]]
        with one_blas_thread():
            assert len(in_runs(list, range(100))) == 1


def test_an_error_in_a_run_is_raised(monkeypatch):
    def fail(parts):
        if 7 in parts:
            raise ValueError("seven")

    with _two_threads(monkeypatch), pytest.raises(ValueError, match="seven"):
        in_runs(fail, range(8))


def test_other_runs_stop_at_their_next_part_after_an_error(monkeypatch):
    """A fit that is interrupted does not first finish its work."""
    failed, done = threading.Event(), []

    def run(parts):
        for part in parts:
            if part == 50:
                failed.set()
                raise ValueError("fifty")
            if part < 50:
                assert failed.wait(10)
                time.sleep(0.01)
                done.append(part)

    with _two_threads(monkeypatch), pytest.raises(ValueError, match="fifty"):
        in_runs(run, range(100))

    assert len(done) < 50


def test_results_that_need_much_memory_are_few(monkeypatch, rng):
    monkeypatch.setattr(mapped_view, "_BLOCK_SIZE", 10 * 7)
    view = mapped_view.MappedView(rng.normal(size=(205, 7)), LinearMap(np.ones(7)), keep_bytes=0)
    with _two_threads(monkeypatch):
        assert len(view.over_blocks(list)) == 2
        assert len(view.over_blocks(list, bytes_each=1 << 28)) == 1


def test_a_distance_function_of_the_user_is_called_by_one_thread_at_a_time(monkeypatch, rng):
    monkeypatch.setattr(mapped_view, "_BLOCK_SIZE", 10 * 7)
    X = rng.normal(size=(205, 7))
    own = KernelMap(X[:5], distance=lambda X, Y: np.abs(X[:, None] - Y).sum(axis=2))
    with _two_threads(monkeypatch):
        assert len(mapped_view.MappedView(X, own, keep_bytes=0).over_blocks(list)) == 1
        assert len(mapped_view.MappedView(X, KernelMap(X[:5]), keep_bytes=0).over_blocks(list)) == 2


@pytest.mark.parametrize("pairs", ["aligned", "labels", "listed"])
def test_sums_in_several_threads_give_the_same_codes(monkeypatch, rng, pairs):
    n = 600
    labels = rng.integers(0, 5, n)
    centres = rng.normal(size=(5, 6)) * 2
    views = {m: (centres[labels] + rng.normal(size=(n, 6))).astype(np.float32) for m in "xy"}
    i, j = rng.integers(0, n, (2, 4000))
    same = labels[i] == labels[j]
    chosen = {
        "aligned": dh.Pairs.aligned(n),
        "labels": dh.Pairs.from_labels(labels, labels),
        "listed": dh.Pairs((i[same], j[same]), (i[~same], j[~same])),
    }[pairs]
    hasher = dh.KernelDiffHash(4, n_landmarks=40)
    # As with many rows: features are not kept, and there are many blocks of them.
    monkeypatch.setattr(mapped_view, "_BLOCK_SIZE", 40 * 50)
    kept = mapped_view.MappedView.__init__
    monkeypatch.setattr(
        mapped_view.MappedView, "__init__", lambda self, X, fitted, keep_bytes=0: kept(self, X, fitted, 0)
    )
    n_runs = []

    def counted(function, parts, **limits):
        found = in_runs(function, parts, **limits)
        n_runs.append(len(found))
        return found

    monkeypatch.setattr(mapped_view, "in_runs", counted)
    monkeypatch.setattr(training_data, "_FEW_OBJECTS", 0)
    codes = []
    for limits in (one_blas_thread(), _two_threads(monkeypatch)):
        n_runs.clear()
        with limits:
            hasher.fit(views, chosen)
        codes.append([hasher.encode(views[m], modality=m) for m in "xy"])
        assert max(n_runs) == len(codes)

    np.testing.assert_array_equal(codes[0], codes[1])


@pytest.mark.parametrize("precise", [False, True])
def test_regression_sums_in_several_threads_are_those_of_one(monkeypatch, rng, precise):
    monkeypatch.setattr(mapped_view, "_BLOCK_SIZE", 10 * 7)
    view = mapped_view.MappedView(rng.normal(size=(205, 7)), LinearMap(np.ones(7)), keep_bytes=0)
    combinations = scipy.sparse.csr_array(np.eye(3))
    # The last five rows are guests.
    rows = rng.integers(0, 3, 200)

    with one_blas_thread():
        one = RegressionSums.of(view, combinations, rows, precise=precise)
    with _two_threads(monkeypatch):
        two = RegressionSums.of(view, combinations, rows, precise=precise)

    features = view.whole()[:200]
    np.testing.assert_allclose(two.second, features.T @ features, atol=1e-10)
    np.testing.assert_array_equal(two.label_total, np.bincount(rows))
    for name in ("n_rows", "second", "total", "cross", "label_total", "offset"):
        np.testing.assert_allclose(getattr(two, name), getattr(one, name), atol=1e-10)
