"""top_k with many queries over several blocks of rows, which AVX-512 answers from bit planes.

That way is taken from 16 queries and 512 codes on, for codes of up to 120 bytes. The other kernels run the same tests.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffhash import native
from tests.native import naive
from tests.native.problems import problems


def answers(found):
    return [
        list(zip(d.tolist(), i.tolist(), strict=True))
        for d, i in zip(found.distances, found.ids, strict=True)
    ]


def tied_codes(rng, n, width):
    """Twenty different codes, each with at most one bit changed: ties at every small distance."""
    codes = rng.integers(0, 256, (20, width), dtype=np.uint8)[rng.integers(0, 20, n)]
    rows = np.arange(n)
    codes[rows, rng.integers(0, width, n)] ^= (rng.integers(0, 2, n) << rng.integers(0, 8, n)).astype(
        np.uint8
    )
    return codes


@given(problem=problems(1700, 40, min_rows=500, min_queries=15, max_width=128), data=st.data())
@settings(max_examples=40, deadline=None)
def test_many_queries_give_the_naive_answer(kernel, problem, data):
    """Ties, filters, ids in any order, padding bits, and every k."""
    expected = naive.ranked(problem.clean_queries, problem.codes, problem.ids, problem.allowed)
    k = data.draw(st.sampled_from([1, 10, 1000, len(problem.codes), len(problem.codes) + 3]))

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

    assert answers(found) == [answer[:k] for answer in expected]


@pytest.mark.parametrize("first", range(1, 124, 8))
def test_every_width_gives_the_naive_answer(kernel, first):
    """Each number of words of 8 bytes and each number of bytes in the last one, and widths beyond the longest."""
    for width in range(first, first + 8):
        rng = np.random.default_rng(width)
        codes = tied_codes(rng, 1100, width)
        queries = np.concatenate([codes[:9], rng.integers(0, 256, (8, width), dtype=np.uint8)])
        expected = naive.ranked(queries, codes)
        for k in (1, 10, 1000, 1100):
            found = native.top_k(queries=queries, database=codes, k=k, kernel=kernel)
            assert answers(found) == [answer[:k] for answer in expected], (width, k)


@pytest.mark.parametrize("n", [511, 512, 513, 519, 520, 1023, 1024, 1025])
@pytest.mark.parametrize("n_queries", [15, 16, 17, 128, 130])
def test_rows_past_the_last_block_are_never_found(kernel, n, n_queries):
    """A block is filled up with zeros, which are equal to these queries; no code is near them."""
    codes = np.full((n, 9), 255, dtype=np.uint8)
    queries = np.zeros((n_queries, 9), dtype=np.uint8)

    found = native.top_k(queries=queries, database=codes, k=n + 1, kernel=kernel)

    assert np.all(found.distances == 72)
    np.testing.assert_array_equal(found.ids, np.tile(np.arange(n), (n_queries, 1)))


@pytest.mark.parametrize("width", [1, 3, 8, 12, 16, 24, 32, 56, 64, 120])
@pytest.mark.parametrize("k", [1, 10, 300])
def test_the_limit_falls_through_every_distance(kernel, width, k):
    """Each row is nearer than the rows before it, for queries of even and odd parity: every limit down to 0 occurs."""
    n_bits = 8 * width
    stairs = np.tri(n_bits + 1, n_bits, k=-1, dtype=bool)[::-1]
    stairs = stairs.repeat(-(-1200 // len(stairs)), axis=0)
    masks = np.random.default_rng(width).integers(0, 2, (18, n_bits)).astype(bool)
    queries = np.packbits(masks, axis=1, bitorder="little")
    # With the first query as the origin, the distances of the others are those of random codes.
    codes = np.packbits(stairs ^ masks[0], axis=1, bitorder="little")
    expected = naive.ranked(queries, codes)

    found = native.top_k(queries=queries, database=codes, k=k, kernel=kernel)

    assert answers(found) == [answer[:k] for answer in expected]


@pytest.mark.parametrize("width", [4, 8, 16, 29])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("k", [1, 10, 1000])
def test_a_filter_that_leaves_few_or_no_rows_of_a_block(kernel, width, shuffled, k):
    """Blocks of allowed rows are gathered; most ranges have none."""
    rng = np.random.default_rng(3)
    codes = tied_codes(rng, 9000, width)
    allowed = rng.random(9000) < np.repeat([0.0, 0.002, 0.5, 1.0, 0.0, 0.1], 1500)
    ids = rng.permutation(9000).astype(np.int64) if shuffled else None
    expected = naive.ranked(codes[:20], codes, ids, allowed)

    for n_threads in (1, 3):
        found = native.top_k(
            queries=codes[:20],
            database=codes,
            k=k,
            ids=ids,
            allowed=allowed,
            n_threads=n_threads,
            kernel=kernel,
        )
        assert answers(found) == [answer[:k] for answer in expected]


@pytest.mark.parametrize("n_bits", [64, 128, 256])
@pytest.mark.parametrize("k", [10, 1000])
@pytest.mark.parametrize("n_queries", [20, 150])
def test_large_searches_are_the_same_for_each_kernel_and_number_of_threads(kernel, n_bits, k, n_queries):
    """Random codes with a cluster around some queries; shared between threads by rows or by queries."""
    rng = np.random.default_rng(n_bits)
    codes = rng.integers(0, 256, (40_000, n_bits // 8), dtype=np.uint8)
    queries = rng.integers(0, 256, (n_queries, n_bits // 8), dtype=np.uint8)
    near = rng.random((3000, n_bits)) < 0.05
    codes[rng.choice(40_000, 3000, replace=False)] = queries[rng.integers(0, 20, 3000)] ^ np.packbits(
        near, axis=1
    )
    some = [0, 7, n_queries - 1]
    expected = native.top_k(queries=queries[some], database=codes, k=k, kernel="numpy")

    for n_threads in (1, 2, 5):
        found = native.top_k(queries=queries, database=codes, k=k, n_threads=n_threads, kernel=kernel)
        np.testing.assert_array_equal(found.ids[some], expected.ids)
        np.testing.assert_array_equal(found.distances[some], expected.distances)


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_queries", [9, 20, 150])
def test_a_misleading_sample_of_the_rows_does_not_change_the_answer(kernel, n_queries, n_threads, shuffled):
    """The first bound of a search comes from these rows. Near them are too few rows, or as many as are wanted."""
    n, k = 70_000, 1000
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 256, (n, 8), dtype=np.uint8)
    queries = rng.integers(0, 256, (n_queries, 8), dtype=np.uint8)
    sample = np.arange(4096)
    sample = sample * (n // 4096) + sample * 7919 % (n // 4096)
    for q, count in enumerate([97, 150, 999, 1000, 1001]):
        codes[sample[q::5][:count]] = queries[q]
        codes[rng.choice(np.setdiff1d(np.arange(n), sample), max(0, count - 820), replace=False)] = queries[q]
    ids = rng.permutation(n).astype(np.int64) if shuffled else None
    expected = native.top_k(queries=queries[:7], database=codes, k=k, ids=ids, kernel="numpy")

    found = native.top_k(queries=queries, database=codes, k=k, ids=ids, n_threads=n_threads, kernel=kernel)

    np.testing.assert_array_equal(found.ids[:7], expected.ids)
    np.testing.assert_array_equal(found.distances[:7], expected.distances)


@pytest.mark.parametrize("with_ids", [False, True])
@pytest.mark.parametrize("apart", [0, 1, 2])
@pytest.mark.parametrize("width", [3, 8, 17])
def test_most_codes_are_near_a_query(kernel, width, apart, with_ids):
    """The limits of the queries are soon 0, or no more rows can be found; some rows are at a distance of 1 to 3."""
    rng = np.random.default_rng(width)
    queries = rng.integers(0, 256, (40, width), dtype=np.uint8)
    codes = queries[rng.integers(0, len(queries), 3000)]
    for _ in range(apart):
        codes[np.arange(3000), rng.integers(0, width, 3000)] ^= (1 << rng.integers(0, 8, 3000)).astype(
            np.uint8
        )
    codes[::7] = queries[rng.integers(0, len(queries), len(codes[::7]))]
    ids = rng.permutation(3000) if with_ids else None
    expected = naive.ranked(queries, codes, np.arange(3000) if ids is None else ids, None)

    for k in (1, 5, 9, 40, 200):
        found = native.top_k(queries=queries, database=codes, k=k, ids=ids, n_threads=2, kernel=kernel)

        assert answers(found) == [answer[:k] for answer in expected]
