"""HammingIndex: what a user sees of the search."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffhash import HammingIndex
from diffhash.errors import CodeError, InputError, ParameterError, UnknownIdError
from tests.native import naive
from tests.native.problems import problems
from tests.test_validation import Tensor


def codes_of(n, width=8, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, width), dtype=np.uint8)


@given(problem=problems(max_rows=100), data=st.data())
@settings(max_examples=150, deadline=None)
def test_search_and_within_are_the_naive_answers(problem, data):
    """With ids in any order, a filter by ids that may name unknown ones, and dirty padding bits."""
    index = HammingIndex(problem.codes, problem.ids, n_bits=problem.n_bits)
    ids = index.ids
    chosen = None if problem.allowed is None else np.append(ids[problem.allowed], [-99, 10**12])
    expected = naive.ranked(problem.clean_queries, problem.codes, ids, problem.allowed)
    k = data.draw(st.integers(1, len(index) + 2))
    radius = data.draw(st.integers(0, problem.n_bits))

    nearest = index.search(problem.queries, k, ids=chosen)
    near = index.within(problem.queries, radius, ids=chosen)

    assert nearest.ids.dtype == near.ids.dtype == near.offsets.dtype == np.int64
    assert nearest.distances.dtype == near.distances.dtype == np.uint16
    for q, answer in enumerate(expected):
        assert list(zip(nearest.distances[q].tolist(), nearest.ids[q].tolist(), strict=True)) == answer[:k]
        part = slice(near.offsets[q], near.offsets[q + 1])
        found = list(zip(near.distances[part].tolist(), near.ids[part].tolist(), strict=True))
        assert found == [pair for pair in answer if pair[0] <= radius]


@given(data=st.data(), explicit=st.booleans())
@settings(max_examples=60, deadline=None)
def test_adding_and_removing_is_like_building_anew(data, explicit):
    """Any sequence of changes gives the index that one would build from what is left."""
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    codes = rng.integers(0, 4, (data.draw(st.integers(0, 30)), 3), dtype=np.uint8)
    ids = rng.permutation(1000)[: len(codes)] if explicit else None
    index = HammingIndex(codes, ids) if len(codes) else HammingIndex(n_bits=24)
    model = dict(zip(index.ids.tolist(), codes, strict=True))
    for _ in range(data.draw(st.integers(1, 6))):
        if data.draw(st.booleans()):
            new = rng.integers(0, 4, (data.draw(st.integers(0, 10)), 3), dtype=np.uint8)
            free = np.setdiff1d(np.arange(2000), list(model))
            new_ids = rng.permutation(free)[: len(new)] if data.draw(st.booleans()) else None
            start = max(model, default=-1) + 1
            index.add(new, new_ids)
            model.update(
                zip(range(start, start + len(new)) if new_ids is None else new_ids.tolist(), new, strict=True)
            )
        else:
            gone = [i for i in model if data.draw(st.booleans())]
            unknown = [-5, 10**12] if data.draw(st.booleans()) else []
            assert index.remove(gone + unknown + gone[:1]) == len(gone)
            for i in gone:
                del model[i]

    assert sorted(index.ids.tolist()) == sorted(model)
    assert len(index) == len(model)
    stored = np.array([model[i] for i in index.ids.tolist()], dtype=np.uint8).reshape(-1, 3)
    np.testing.assert_array_equal(index.codes, stored)
    wanted = rng.permutation(list(model) * 2).astype(int)
    np.testing.assert_array_equal(index.get(wanted), np.array([model[i] for i in wanted]).reshape(-1, 3))
    queries = rng.integers(0, 4, (2, 3), dtype=np.uint8)
    answer = naive.ranked(queries, stored, index.ids)
    found = index.search(queries, 5)
    for q in range(2):
        assert list(zip(found.distances[q].tolist(), found.ids[q].tolist(), strict=True)) == answer[q][:5]


def test_codes_are_not_copied(tmp_path):
    """An array and a memory map are searched where they lie."""
    codes = codes_of(100)
    path = tmp_path / "codes.bin"
    codes.tofile(path)
    mapped = np.memmap(path, dtype=np.uint8, mode="r", shape=codes.shape)

    assert np.shares_memory(HammingIndex(codes).codes, codes)
    index = HammingIndex(mapped)
    assert np.shares_memory(index.codes, mapped)
    assert index.search(codes[:5], 1).ids.ravel().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("width", [1, 8, 9, 64])
def test_memory_stays_within_a_tenth_of_codes_and_ids(width):
    index = HammingIndex(codes_of(5000, width), np.arange(5000) * 2)
    for batch in range(5):
        index.add(codes_of(100, width, seed=batch + 1))

    assert index.nbytes <= 1.1 * len(index) * (width + 8)


def test_the_users_array_is_never_written_to():
    codes = codes_of(10)
    before = codes.copy()
    index = HammingIndex(codes[:5])

    index.add(codes[7:9])
    index.remove([0])

    np.testing.assert_array_equal(codes, before)
    with pytest.raises(ValueError, match="read-only"):
        index.codes[0] = 1


def test_a_result_is_not_padded():
    """K larger than the index gives what there is."""
    index = HammingIndex(codes_of(3))

    assert index.search(codes_of(2), 10).ids.shape == (2, 3)
    assert index.search(codes_of(2), 10, ids=[1]).ids.tolist() == [[1], [1]]


def test_empty_indexes_and_queries_give_empty_results():
    empty, index = HammingIndex(np.empty((0, 8), dtype=np.uint8)), HammingIndex(codes_of(3))
    no_queries = np.empty((0, 8), dtype=np.uint8)

    assert empty.search(codes_of(2), 4).ids.shape == (2, 0)
    assert empty.within(codes_of(2), 4).offsets.tolist() == [0, 0, 0]
    assert index.search(no_queries, 2).distances.shape == (0, 2)
    assert index.within(no_queries, 64).offsets.tolist() == [0]
    assert index.within(codes_of(2), 64, ids=[]).ids.shape == (0,)


@pytest.mark.parametrize("n_bits", [1, 8, 60, 4096])
def test_an_empty_index_grows(n_bits):
    index = HammingIndex(n_bits=n_bits)
    codes = np.zeros((3, -(-n_bits // 8)), dtype=np.uint8)
    assert (len(index), index.n_bits, index.codes.shape) == (0, n_bits, (0, codes.shape[1]))

    index.add(codes, [5, 2, 9])
    index.add(codes[:1])

    assert index.ids.tolist() == [5, 2, 9, 10]
    assert index.search(codes[:1], 4).ids.tolist() == [[2, 5, 9, 10]]


def test_one_query_is_a_batch_of_one():
    """The result has one type and one number of dimensions, whether it is one query or many."""
    index = HammingIndex(codes_of(20))
    query = codes_of(20)[7]

    one, batch = index.search(query, 3), index.search(query[None], 3)
    near, near_batch = index.within(query, 30), index.within(query[None], 30)

    assert one.ids.shape == (1, 3)
    for found, expected in ((one, batch), (near, near_batch)):
        assert type(found) is type(expected)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(CodeError, match=r"codes have 8 bytes, queries has shape \(1, 9\)"):
        index.search(codes_of(1, 9)[0], 1)


def test_codes_are_got_in_the_order_of_the_ids():
    index = HammingIndex(codes_of(4), [5, 1, 7, 3])

    np.testing.assert_array_equal(index.get([3, 5, 3]), codes_of(4)[[3, 0, 3]])
    np.testing.assert_array_equal(index.get(7), codes_of(4)[2:3])
    assert index.get([]).shape == (0, 8)
    with pytest.raises(UnknownIdError, match="has no id 6"):
        index.get([1, 6, 2])
    with pytest.raises(UnknownIdError, match="has no id 0"):
        HammingIndex(n_bits=64).get(0)


def test_removing_ignores_unknown_ids_and_returns_the_number_removed():
    """As `Collection.delete` does."""
    index = HammingIndex(codes_of(4), [5, 1, 7, 3])

    assert index.remove([1, 2, 1]) == 1
    assert index.remove([1, 2]) == 0
    assert index.remove(7) == 1
    assert index.remove([]) == 0
    assert index.ids.tolist() == [5, 3]


def test_bad_input_is_refused_and_changes_nothing():
    index = HammingIndex(codes_of(4), [5, 1, 7, 3])
    cases = [
        (
            lambda: index.search(codes_of(1, 9), 1),
            CodeError,
            r"codes have 8 bytes, queries has shape \(1, 9\)",
        ),
        (lambda: index.search(codes_of(1).astype(float), 1), CodeError, "uint8"),
        (lambda: index.search(codes_of(1), 0), ParameterError, "k must be a whole number >= 1, got 0"),
        (lambda: index.within(codes_of(1), -1), ParameterError, "radius must be a whole number >= 0, got -1"),
        (lambda: index.search(codes_of(1), 1, ids=["a"]), InputError, "ids must be whole numbers"),
        (lambda: index.add(codes_of(2), [9]), InputError, "2 codes need 2 ids, got 1"),
        (lambda: index.add(codes_of(2), [9, 9]), InputError, "unique, but 9 occurs more than once"),
        (lambda: index.add(codes_of(2), [9, 7]), InputError, "already has id 7"),
        (lambda: index.add(codes_of(2, 9)), CodeError, "codes of 8 bytes"),
        (lambda: index.remove(["a"]), InputError, "ids must be whole numbers"),
        (lambda: index.get([1, 2]), UnknownIdError, "has no id 2"),
        (lambda: index.get([0.5]), InputError, "ids must be whole numbers"),
        (lambda: HammingIndex(), ParameterError, "pass codes, or n_bits"),
        (lambda: HammingIndex(n_bits=0), ParameterError, "n_bits must be a whole number >= 1"),
        (lambda: HammingIndex(n_bits=4097), ParameterError, "n_bits must be at most 4,096"),
        (lambda: HammingIndex(ids=[1], n_bits=8), InputError, "0 codes need 0 ids"),
        (lambda: HammingIndex(codes_of(3), [1, 2]), InputError, "3 codes need 3 ids, got 2"),
        (lambda: HammingIndex(codes_of(3), [1, 2, 1]), InputError, "unique, but 1 occurs"),
        (lambda: HammingIndex(codes_of(3), [0.5, 1, 2]), InputError, "whole numbers"),
        (lambda: HammingIndex(codes_of(3), n_bits=65), CodeError, "65 bits have 9 bytes"),
        (lambda: HammingIndex(np.full((3, 8), 255, np.uint8), n_bits=60), CodeError, "padding bits"),
        (lambda: HammingIndex(np.zeros(8, np.uint8)), CodeError, r"shape \(8,\)"),
    ]
    for act, error, message in cases:
        with pytest.raises(error, match=message):
            act()

    assert index.ids.tolist() == [5, 1, 7, 3]
    np.testing.assert_array_equal(index.codes, codes_of(4))


def test_searching_while_adding_sees_whole_batches():
    """A search that runs during an add sees the index before it or after it."""
    index = HammingIndex(np.zeros((1000, 8), dtype=np.uint8))
    batch = np.zeros((100, 8), dtype=np.uint8)
    sizes, stop = [], threading.Event()

    def watch():
        while not stop.is_set():
            sizes.append(index.within(batch[:1], 0).ids.size)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(50):
        index.add(batch)
    stop.set()
    watcher.join()

    assert len(index) == 6000
    assert all(size % 100 == 0 for size in sizes)
    assert sizes == sorted(sizes)


def test_an_index_can_be_pickled():
    index = HammingIndex(codes_of(5), [4, 2, 9, 1, 0], n_bits=64)
    copy = pickle.loads(pickle.dumps(index))

    np.testing.assert_array_equal(copy.search(codes_of(2), 3).ids, index.search(codes_of(2), 3).ids)
    assert repr(copy) == "HammingIndex(n=5, n_bits=64)"


def test_ids_that_numpy_cannot_read_get_our_error():
    index = HammingIndex(codes_of(3))
    tensor = Tensor(TypeError("can't convert cuda:0 device type tensor to numpy."))
    for act, name in [
        (lambda ids: HammingIndex(codes_of(3), ids), "HammingIndex"),
        (lambda ids: index.add(codes_of(3), ids), "HammingIndex.add"),
        (lambda ids: index.search(codes_of(1), 2, ids=ids), "HammingIndex.search"),
        (index.remove, "HammingIndex.remove"),
        (index.get, "HammingIndex.get"),
    ]:
        with pytest.raises(InputError, match=rf"^{name}: ids is a tensor .*detach"):
            act(tensor)
        with pytest.raises(InputError, match=rf"^{name}: ids is not an array: its rows differ"):
            act([[1, 2], [3]])


def test_searching_imports_neither_scipy_nor_scikit_learn():
    program = """
import sys
import numpy as np
from diffhash import HammingIndex
HammingIndex(np.eye(8, dtype=np.uint8)).search(np.ones(8, dtype=np.uint8), 2)
print([name for name in ("scipy", "sklearn", "matplotlib", "threadpoolctl", "safetensors") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
