"""Intervals and their extremes: every kernel gives what a loop over the values gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.native import available_kernels
from diffhash.native.binning import bin_columns, bin_extremes, count_bins


@pytest.mark.parametrize("kernel", ["numpy", available_kernels()[0]])
@given(
    n=st.integers(0, 200),
    n_bits=st.integers(1, 5),
    n_bins=st.sampled_from([2, 3, 7, 64, 256]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 2**31),
    n_threads=st.sampled_from([1, 3]),
)
def test_bins_and_extremes_equal_a_loop(kernel, n, n_bits, n_bins, dtype, seed, n_threads):
    rng = np.random.default_rng(seed)
    # Quarters are exact, so no value is next to an edge by rounding only.
    values = (rng.integers(-40, 40, size=(n, n_bits)) / 4).astype(dtype)
    first = rng.integers(-8, 8, size=n_bits).astype(dtype)
    inverse = rng.choice([0.5, 1.0, 4.0], size=n_bits).astype(dtype)
    n_own = int(rng.integers(0, n + 1))

    bins, low, high = bin_columns(
        values, first, inverse, n_bins, n_own=n_own, extremes=True, n_threads=n_threads, kernel=kernel
    )

    expected_low, expected_high = np.full((n_bits, n_bins), np.inf), np.full((n_bits, n_bins), -np.inf)
    for bit in range(n_bits):
        edges = [first[bit] + k / inverse[bit] for k in range(n_bins - 1)]
        for row in range(n):
            value = values[row, bit]
            assert bins[bit, row] == sum(value >= edge for edge in edges)
            if row < n_own:
                cell = bit, bins[bit, row]
                expected_low[cell] = min(expected_low[cell], value)
                expected_high[cell] = max(expected_high[cell], value)
    np.testing.assert_array_equal(low, expected_low)
    np.testing.assert_array_equal(high, expected_high)
    for found, expected in zip(
        bin_extremes(values[:n_own], bins[:, :n_own], n_bins), (low, high), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_many_rows_on_several_threads_equal_one_thread():
    values = np.random.default_rng(0).normal(size=(20_001, 3)).astype(np.float32)
    grid = np.full(3, -2.0, np.float32), np.full(3, 10.0, np.float32)

    one = bin_columns(values, *grid, 64, extremes=True, n_threads=1)
    many = bin_columns(values, *grid, 64, extremes=True, n_threads=4)

    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kernel", ["numpy", available_kernels()[0]])
@given(
    n=st.integers(0, 70),
    n_bits=st.integers(0, 4),
    n_bins=st.sampled_from([1, 2, 7, 256]),
    seed=st.integers(0, 2**31),
)
def test_counts_of_intervals_equal_a_loop(kernel, n, n_bits, n_bins, seed):
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, n_bins, size=(n_bits, n)).astype(np.uint8)
    n_own = int(rng.integers(0, n + 1))

    found = count_bins(bins, n_bins, n_own=n_own, kernel=kernel)

    expected = np.zeros((n_bits, n_bins), dtype=np.int64)
    for bit in range(n_bits):
        for row in range(n_own):
            expected[bit, bins[bit, row]] += 1
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("bins", "n_bins"), [([[0, 3]], 3), ([[-1, 0]], 3), ([[0, 1]], 300)])
def test_bins_outside_the_table_are_refused(bins, n_bins):
    with pytest.raises(dh.errors.InputError, match="must lie below n_bins"):
        count_bins(np.array(bins), n_bins)
