"""Counts of relevant and irrelevant items by distance equal a loop over pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.evaluation import (
    distance_table,
)

from .tables import random_codes


@given(st.integers(0, 2**31), st.integers(1, 5), st.integers(1, 30), st.integers(1, 80), st.booleans())
def test_table_equals_a_double_loop(seed, n_queries, n_items, n_bits, multi):
    rng = np.random.default_rng(seed)
    bits = [rng.random((n, n_bits)) < 0.5 for n in (n_queries, n_items)]
    labels = [rng.random((n, 4)) < 0.4 if multi else rng.integers(0, 3, size=n) for n in (n_queries, n_items)]

    table = distance_table(*(dh.codes.pack(b) for b in bits), *labels)

    expected = np.zeros_like(table)
    for q in range(n_queries):
        for i in range(n_items):
            similar = (labels[0][q] & labels[1][i]).any() if multi else labels[0][q] == labels[1][i]
            expected[q, (bits[0][q] != bits[1][i]).sum(), int(similar)] += 1
    np.testing.assert_array_equal(table, expected)


@given(st.integers(0, 2**31), st.booleans())
def test_own_items_are_left_out(seed, multi):
    rng = np.random.default_rng(seed)
    codes = random_codes(rng, 8)
    labels = rng.random((8, 3)) < 0.4 if multi else rng.integers(0, 3, 8)
    own = np.where(rng.random(8) < 0.7, np.arange(8), -1)

    table = dh.evaluate(codes, codes, labels, labels, own=own).table

    for q in range(8):
        others = np.arange(8) != own[q]
        expected = dh.evaluate(codes[[q]], codes[others], labels[[q]], labels[others]).table[0]
        np.testing.assert_array_equal(table[q], expected)


@given(st.integers(0, 2**31))
def test_only_listed_pairs_are_relevant(seed):
    rng = np.random.default_rng(seed)
    queries, items = random_codes(rng, 4), random_codes(rng, 6)
    i, j = rng.integers(0, 4, 9), rng.integers(0, 6, 9)

    table = dh.evaluate(queries, items, relevant=(i, j)).table

    expected = np.zeros_like(table)
    for q in range(4):
        for item in range(6):
            similar = (q, item) in set(zip(i, j, strict=True))
            expected[q, int(np.bitwise_count(queries[q, 0] ^ items[item, 0])), int(similar)] += 1
    np.testing.assert_array_equal(table, expected)
