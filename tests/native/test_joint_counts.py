"""Joint counts against a loop over pairs, at every level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffhash import native
from diffhash.errors import InputError


@given(st.integers(0, 2**31), st.integers(1, 9), st.sampled_from([1, 2, 64, 256]), st.booleans())
def test_counts_equal_a_loop(seed, n_bits, n_bins, weighted):
    rng = np.random.default_rng(seed)
    n_x, n_y, n_pairs = rng.integers(1, 9), rng.integers(1, 9), rng.integers(0, 40)
    bins_x, bins_y = rng.integers(0, n_bins, (n_bits, n_x)), rng.integers(0, n_bins, (n_bits, n_y))
    index = rng.integers(0, n_x, n_pairs), rng.integers(0, n_y, n_pairs)
    weights = rng.normal(size=n_pairs) if weighted else None

    expected = np.zeros((n_bits, n_bins, n_bins))
    for bit in range(n_bits):
        for p, (i, j) in enumerate(zip(*index, strict=True)):
            expected[bit, bins_x[bit, i], bins_y[bit, j]] += weights[p] if weighted else 1

    for kernel in (native.build_info().kernel, "numpy"):
        for threads in (1, 3):
            found = native.joint_counts(
                bins_x=bins_x,
                bins_y=bins_y,
                index=index,
                n_bins=n_bins,
                weights=weights,
                n_threads=threads,
                kernel=kernel,
            )
            np.testing.assert_allclose(found, expected, atol=1e-12)
            assert found.dtype == (np.float64 if weighted else np.int64)


def test_many_pairs_on_several_threads():
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 16, (8, 1000))
    index = rng.integers(0, 1000, (2, 100_000))
    one, many = (
        native.joint_counts(bins_x=bins, bins_y=bins, index=tuple(index), n_bins=16, n_threads=t)
        for t in (1, 4)
    )
    np.testing.assert_array_equal(one, many)
    assert one.sum() == 8 * 100_000


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"index": ([0], [5])}, "row outside 0 to 1"),
        ({"index": ([-1], [0])}, "row outside"),
        ({"index": ([0, 1], [0])}, "as many i as j"),
        ({"n_bins": 1}, "below n_bins=1"),
        ({"n_bins": 300}, "at most 256"),
        ({"bins_x": np.array([[0, 256]])}, "below n_bins=2"),
        ({"bins_x": np.array([[0, -256]])}, "must not be negative"),
        ({"bins_x": np.zeros((2, 2), int)}, "expected bins"),
        ({"weights": np.ones(3)}, "as many weights"),
    ],
)
def test_bad_input_is_told(change, says):
    bins = np.array([[0, 1]])
    good = {"bins_x": bins, "bins_y": bins, "index": ([0], [1]), "n_bins": 2}
    with pytest.raises(InputError, match=says):
        native.joint_counts(**(good | change))
