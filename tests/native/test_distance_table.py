"""distance_table: every kernel against naive loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffhash import native
from diffhash.errors import CodeError, InputError, ParameterError
from tests.native import naive
from tests.native.problems import problems


@given(
    problem=problems(max_rows=150),
    n_labels=st.integers(1, 90),
    kind=st.sampled_from(["single", "bool", "words"]),
)
@settings(max_examples=150, deadline=None)
def test_counts_are_the_naive_ones(kernel, problem, n_labels, kind):
    rng = np.random.default_rng(n_labels)
    n, q = len(problem.codes), len(problem.queries)
    if kind == "single":
        labels, query_labels = rng.integers(-n_labels, n_labels, n), rng.integers(-n_labels, n_labels, q)
        relevant = query_labels[:, None] == labels
    else:
        labels, query_labels = rng.random((n, n_labels)) < 0.2, rng.random((q, n_labels)) < 0.2
        relevant = (query_labels[:, None] & labels).any(axis=2)
        if kind == "words":
            padding = ((0, 0), (0, -n_labels % 64))
            labels, query_labels = (
                np.packbits(np.pad(x, padding), axis=1, bitorder="little").view(np.uint64)
                for x in (labels, query_labels)
            )

    table = native.distance_table(
        queries=problem.queries,
        database=problem.codes,
        query_labels=query_labels,
        database_labels=labels,
        n_bits=problem.n_bits,
        n_threads=2,
        kernel=kernel,
    )

    expected = naive.distance_table(problem.clean_queries, problem.codes, relevant, problem.n_bits)
    assert table.dtype == np.int64
    np.testing.assert_array_equal(table, expected)


@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(1, 130), max_shared=st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_grades_are_the_numbers_of_shared_labels(kernel, seed, n_labels, max_shared):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, size=(40, 3), dtype=np.uint8)
    labels = rng.random((40, n_labels)) < min(0.5, 4 / n_labels)

    table = native.distance_table(
        queries=codes[:9],
        database=codes,
        query_labels=labels[:9],
        database_labels=labels,
        max_shared=max_shared,
        kernel=kernel,
    )

    expected = np.zeros((9, 25, max_shared + 1), dtype=np.int64)
    for q in range(9):
        for code, own in zip(codes, labels, strict=True):
            shared = min(int((own & labels[q]).sum()), max_shared)
            expected[q, int(np.bitwise_count(code ^ codes[q]).sum()), shared] += 1
    np.testing.assert_array_equal(table, expected)


def test_a_larger_table_adds_up(kernel):
    """Several threads and blocks; every row is counted once for every query."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 256, (20_000, 12), dtype=np.uint8)
    labels = rng.integers(0, 10, len(codes))

    table = native.distance_table(
        queries=codes[:200],
        database=codes,
        query_labels=labels[:200],
        database_labels=labels,
        n_threads=3,
        kernel=kernel,
    )

    assert (table.sum(axis=(1, 2)) == len(codes)).all()
    np.testing.assert_array_equal(table[..., 1].sum(axis=1), np.bincount(labels)[labels[:200]])
    assert (table[:, 0, 1] >= 1).all()


def test_wrong_labels_are_refused():
    codes = np.zeros((3, 2), dtype=np.uint8)
    with pytest.raises(InputError, match="3 codes need 3 labels, database_labels has shape"):
        native.distance_table(queries=codes, database=codes, query_labels=[1, 2, 3], database_labels=[1, 2])
    with pytest.raises(InputError, match="must have the same form"):
        native.distance_table(
            queries=codes, database=codes, query_labels=[1, 2, 3], database_labels=np.ones((3, 2), dtype=bool)
        )
    with pytest.raises(InputError, match="query_labels must be"):
        native.distance_table(
            queries=codes, database=codes, query_labels=[0.5, 1.0, 2.0], database_labels=[1, 2, 3]
        )
    for max_shared, message in ((0, "must be a whole number >= 1"), (2, "must be at most 1,")):
        with pytest.raises(ParameterError, match=f"max_shared {message}"):
            native.distance_table(
                queries=codes,
                database=codes,
                query_labels=[1, 2, 3],
                database_labels=[1, 2, 3],
                max_shared=max_shared,
            )


def test_padding_bits_that_are_set_in_the_database_are_refused():
    codes = np.full((3, 2), 255, dtype=np.uint8)
    with pytest.raises(CodeError, match="padding bits"):
        native.distance_table(
            queries=codes, database=codes, query_labels=[1, 2, 3], database_labels=[1, 2, 3], n_bits=13
        )
