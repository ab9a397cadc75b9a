"""top_k and within: every kernel against naive loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffhash import native
from diffhash.errors import CodeError, InputError, ParameterError, PositionalArgumentError
from tests.native import naive
from tests.native.problems import problems

thorough = settings(max_examples=150, deadline=None)


@given(problem=problems(), data=st.data())
@thorough
def test_top_k_is_the_naive_answer(kernel, problem, data):
    """Ids and distances, ties included, for k from 1 to past the number of codes."""
    expected = naive.ranked(problem.clean_queries, problem.codes, problem.ids, problem.allowed)
    k = data.draw(st.integers(1, len(problem.codes) + 3))

    found = native.top_k(
        queries=problem.queries,
        database=problem.codes,
        k=k,
        n_bits=problem.n_bits,
        ids=problem.ids,
        allowed=problem.allowed,
        n_threads=data.draw(st.integers(1, 4)),
        kernel=kernel,
    )

    assert found.ids.dtype == np.int64
    assert found.distances.dtype == np.uint16
    got = [
        list(zip(d.tolist(), i.tolist(), strict=True))
        for d, i in zip(found.distances, found.ids, strict=True)
    ]
    assert got == [answer[:k] for answer in expected]


@given(problem=problems(), data=st.data())
@thorough
def test_within_is_the_naive_answer(kernel, problem, data):
    """All and only those at distance <= radius, by (distance, id)."""
    expected = naive.ranked(problem.clean_queries, problem.codes, problem.ids, problem.allowed)
    radius = data.draw(st.integers(0, problem.n_bits + 2))

    found = native.within(
        queries=problem.queries,
        database=problem.codes,
        radius=radius,
        n_bits=problem.n_bits,
        ids=problem.ids,
        allowed=problem.allowed,
        n_threads=data.draw(st.integers(1, 4)),
        kernel=kernel,
    )

    assert found.offsets.dtype == found.ids.dtype == np.int64
    assert found.distances.dtype == np.uint16
    assert len(found.offsets) == len(problem.queries) + 1
    for q, answer in enumerate(expected):
        part = slice(found.offsets[q], found.offsets[q + 1])
        got = list(zip(found.distances[part].tolist(), found.ids[part].tolist(), strict=True))
        assert got == [pair for pair in answer if pair[0] <= radius]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("n_queries", [1, 3, 150])
def test_large_searches_do_not_depend_on_kernel_or_threads(kernel, n_queries, shuffled):
    """Enough rows for several threads, with masses of ties; NumPy on one thread is the judge."""
    rng = np.random.default_rng(5)
    codes = np.packbits(rng.random((60_000, 128)) < 0.03, axis=1)
    queries = codes[rng.integers(0, len(codes), n_queries)]
    ids = rng.permutation(len(codes)) if shuffled else None
    few = queries[:3]
    expected = native.top_k(queries=few, database=codes, k=500, ids=ids, kernel="numpy")

    for n_threads in (1, 2, 5):
        found = native.top_k(
            queries=queries, database=codes, k=500, ids=ids, n_threads=n_threads, kernel=kernel
        )

        np.testing.assert_array_equal(found.ids[:3], expected.ids)
        np.testing.assert_array_equal(found.distances[:3], expected.distances)


def test_rows_in_the_worst_order(kernel):
    """Each row is nearer than all before it, so that everything is taken and dropped again."""
    n_bits = 256
    codes = np.packbits(np.tri(n_bits, k=-1, dtype=bool)[::-1].repeat(40, axis=0), axis=1, bitorder="little")
    query = np.zeros((1, 32), dtype=np.uint8)

    found = native.top_k(queries=query, database=codes, k=300, kernel=kernel)

    np.testing.assert_array_equal(found.distances[0], np.arange(300) // 40)
    np.testing.assert_array_equal(found.ids[0] // 40, n_bits - 1 - np.arange(300) // 40)
    np.testing.assert_array_equal(found.ids[0] % 40, np.arange(300) % 40)


def test_any_memory_layout_is_read_right(kernel):
    """Strided and Fortran-ordered arrays, offsets off the word boundary, read-only maps."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (300, 16), dtype=np.uint8)
    queries = codes[:4]
    expected = native.top_k(queries=queries, database=codes, k=9, kernel="numpy")
    shifted = np.frombuffer(b"xyz" + codes.tobytes(), dtype=np.uint8)[3:].reshape(codes.shape)

    for layout in (np.asfortranarray(codes), codes.repeat(2, axis=0)[::2], shifted):
        found = native.top_k(queries=np.asfortranarray(queries), database=layout, k=9, kernel=kernel)
        np.testing.assert_array_equal(found.ids, expected.ids)


@pytest.mark.parametrize(
    ("codes", "queries", "error"),
    [
        (np.zeros((3, 8)), np.zeros((1, 8), np.uint8), CodeError),
        (np.zeros((3, 8), np.int64), np.zeros((1, 8), np.uint8), CodeError),
        (np.zeros(8, np.uint8), np.zeros((1, 8), np.uint8), CodeError),
        (np.zeros((3, 8), np.uint8), np.zeros((1, 9), np.uint8), CodeError),
        (np.zeros((3, 8), np.uint8), np.zeros(8, np.uint8), CodeError),
        (np.zeros((3, 0), np.uint8), np.zeros((1, 0), np.uint8), CodeError),
        (np.zeros((3, 513), np.uint8), np.zeros((1, 513), np.uint8), CodeError),
    ],
)
def test_wrong_codes_are_refused(codes, queries, error):
    with pytest.raises(error):
        native.top_k(queries=queries, database=codes, k=1)
    with pytest.raises(error):
        native.within(queries=queries, database=codes, radius=1)


def test_wrong_parameters_are_refused():
    codes = np.zeros((3, 8), dtype=np.uint8)
    for k in (0, -1, 1.5, True, "2", None):
        with pytest.raises(ParameterError, match="k must be"):
            native.top_k(queries=codes, database=codes, k=k)
    with pytest.raises(ParameterError, match="radius must be a whole number >= 0, got -1"):
        native.within(queries=codes, database=codes, radius=-1)
    with pytest.raises(InputError, match="3 codes need 3 ids, got 2"):
        native.top_k(queries=codes, database=codes, k=1, ids=[1, 2])
    with pytest.raises(InputError, match="allowed must be"):
        native.top_k(queries=codes, database=codes, k=1, allowed=[True])
    with pytest.raises(CodeError, match="codes of 70 bits have 9 bytes"):
        native.top_k(queries=codes, database=codes, k=1, n_bits=70)
    with pytest.raises(ParameterError, match="n_threads"):
        native.top_k(queries=codes, database=codes, k=1, n_threads=0)
    with pytest.raises(ParameterError, match="'sse9'"):
        native.top_k(queries=codes, database=codes, k=1, kernel="sse9")


def test_a_packed_filter_is_a_filter(kernel):
    """The same rows as booleans or as bits; dirty bits past the last row are ignored."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 256, (77, 8), dtype=np.uint8)
    allowed = rng.random(77) < 0.5
    bits = np.packbits(allowed, bitorder="little")
    bits[-1] |= 0xE0

    by_bool = native.top_k(queries=codes[:3], database=codes, k=50, allowed=allowed, kernel=kernel)
    by_bits = native.top_k(queries=codes[:3], database=codes, k=50, allowed=bits, kernel=kernel)

    np.testing.assert_array_equal(by_bool.ids, by_bits.ids)
    assert by_bool.ids.shape == (3, min(50, allowed.sum()))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda a: native.top_k(a, a, 1), r"top_k\(queries=..., database=..., k=...\)"),
        (lambda a: native.top_k(a, database=a, k=1), r"top_k\(queries=..., database=..., k=...\)"),
        (lambda a: native.within(a, a, radius=1), r"within\(queries=..., database=..., radius=...\)"),
        (
            lambda a: native.distance_table(a, a, [0], [0]),
            r"distance_table\(queries=..., database=..., query_labels",
        ),
        (
            lambda a: native.joint_counts(a, a, ([0], [0]), 2),
            r"joint_counts\(bins_x=..., bins_y=..., index=\(i, j\)",
        ),
    ],
)
def test_a_positional_call_is_an_error_that_shows_the_new_call(call, says):
    """Both arrays have one type: in the wrong order they would give wrong answers without an error."""
    with pytest.raises(PositionalArgumentError, match=says) as caught:
        call(np.zeros((1, 8), dtype=np.uint8))
    assert isinstance(caught.value, TypeError)
