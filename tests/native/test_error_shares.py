"""Costs of thresholds against a loop over thresholds and cells, at every level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffhash.native import available_kernels
from diffhash.native.error_shares import error_shares


def _looped(positive, negative, miss_weight):
    """For each pair of thresholds, go through all cells and see whether their two bits are equal."""
    n_bits, n_bins, _ = positive.shape
    costs = np.zeros((n_bits, n_bins - 1, n_bins - 1))
    for bit in range(n_bits):
        for a in range(n_bins - 1):
            for b in range(n_bins - 1):
                missed = accepted = 0.0
                for u in range(n_bins):
                    for v in range(n_bins):
                        if (u > a) == (v > b):
                            accepted += negative[bit, u, v]
                        else:
                            missed += positive[bit, u, v]
                all_positive, all_negative = positive[bit].sum() or 1, negative[bit].sum() or 1
                costs[bit, a, b] = miss_weight * missed / all_positive + accepted / all_negative
    return costs


@pytest.mark.parametrize("kernel", ["numpy", available_kernels()[0]])
@given(
    n_bits=st.integers(0, 10),
    n_bins=st.integers(1, 6),
    weighted=st.sampled_from(["none", "one", "both"]),
    no_pairs=st.sampled_from(["none", "positive", "negative"]),
    seed=st.integers(0, 2**31),
)
def test_costs_equal_a_loop(kernel, n_bits, n_bins, weighted, no_pairs, seed):
    rng = np.random.default_rng(seed)
    positive, negative = rng.integers(0, 9, size=(2, n_bits, n_bins, n_bins))
    if weighted != "none":
        positive = positive * 0.25
    if weighted == "both":
        negative = negative * 0.5
    if no_pairs != "none":
        (positive if no_pairs == "positive" else negative)[...] = 0

    found = error_shares(positive, negative, 1.5, kernel=kernel)

    np.testing.assert_allclose(found, _looped(positive, negative, 1.5), atol=1e-14)


def test_all_kernels_give_the_same_numbers():
    """Ties between thresholds are then broken in the same way."""
    positive, negative = np.random.default_rng(0).integers(0, 1000, size=(2, 11, 64, 64))

    found = [error_shares(positive, negative, 0.3, kernel=kernel) for kernel in available_kernels()]

    for costs in found[1:]:
        np.testing.assert_array_equal(costs, found[0])


def test_counts_need_not_be_contiguous():
    counts = np.arange(2 * 5 * 5).reshape(5, 5, 2).transpose(2, 0, 1)

    found = error_shares(counts, counts, 1.0)

    np.testing.assert_array_equal(found, error_shares(counts.copy(), counts.copy(), 1.0))
