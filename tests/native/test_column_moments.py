"""Moments of columns: the same as a loop over rows, and the same bits from every kernel."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffhash.native import available_kernels
from diffhash.native.column_moments import column_moments, column_sums

KERNELS = ["numpy", available_kernels()[0]]


@pytest.mark.parametrize("kernel", KERNELS)
@given(
    n=st.integers(1, 600),
    d=st.integers(1, 9),
    dtype=st.sampled_from([np.float32, np.float64]),
    mean=st.sampled_from([0.0, 1000.0]),
    seed=st.integers(0, 2**31),
    order=st.sampled_from(["C", "F", "step"]),
)
def test_moments_equal_exact_sums(kernel, n, d, dtype, mean, seed, order):
    """Rows may lie in memory in any order."""
    whole = (np.random.default_rng(seed).normal(size=(n, 2 * d)) + mean).astype(dtype)
    X = whole[:, ::2] if order == "step" else np.asarray(whole[:, :d], order=order)

    found = column_moments(X, kernel=kernel)
    sums = column_sums(X, kernel=kernel)

    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    for column in range(d):
        values = [float(value) for value in X[:, column]]
        exact = math.fsum(values)
        squares = math.fsum((value - exact / n) ** 2 for value in values)
        assert found.mean[column] == pytest.approx(exact / n, abs=tolerance)
        assert sums[column] == pytest.approx(exact, abs=n * tolerance)
        assert found.squares[column] == pytest.approx(squares, rel=100 * tolerance, abs=n * tolerance**2)
        assert found.low[column] == min(values)
        assert found.high[column] == max(values)


@given(n=st.integers(1, 600), d=st.integers(2, 40), seed=st.integers(0, 2**31))
def test_every_kernel_rounds_alike(n, d, seed):
    """NumPy adds a single column in another order."""
    X = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)

    by_numpy, native = (column_moments(X, kernel=kernel) for kernel in KERNELS)

    for one, two in zip(by_numpy, native, strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(*(column_sums(X, kernel=kernel) for kernel in KERNELS))


def test_copies_of_rows_in_another_order_do_not_change_a_bit(monkeypatch):
    """Rows are copied in whole groups, as they are summed."""
    monkeypatch.setattr("diffhash.native.column_moments._COPIED_BYTES", 1)
    X = np.random.default_rng(0).normal(size=(1000, 5)).astype(np.float32)

    for one, two in zip(column_moments(X), column_moments(np.asfortranarray(X)), strict=True):
        np.testing.assert_array_equal(one, two)


def test_overflow_is_told():
    """Squares of 1e30 do not fit in float32, and nothing is warned of."""
    found = column_moments(np.array([[1e30], [-1e30]], np.float32))

    assert not found.is_finite
    assert found.low == np.float32(-1e30)


def test_no_rows_have_no_sum():
    assert column_sums(np.zeros((0, 3))).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [">f8", ">f4", np.longdouble, np.float16, np.int32])
def test_other_numbers_are_taken_as_float64(dtype):
    X = np.array([[1, 2], [3, 6]]).astype(dtype)

    assert column_moments(X).mean.tolist() == [2.0, 4.0]
    assert column_sums(X).tolist() == [4.0, 8.0]
