"""Medians from counts of digits are exactly those of NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from diffhash.learning.radix_medians import count_digits, ordered_keys, select_medians, values_of_keys

FLOATS = st.sampled_from([np.float32, np.float64])


@given(
    FLOATS.flatmap(
        lambda d: hnp.arrays(
            d,
            st.tuples(st.integers(1, 30), st.integers(1, 3)),
            elements={"allow_nan": False, "allow_infinity": False},
        )
    ),
    st.integers(0, 10),
)
@example(np.array([[1.7e308]]), 0)  # the sum of the two middle values is too large for a float
@example(np.array([[1.7e308], [1.7e308]]), 1)
@example(np.array([[-1.7e308], [-1.6e308], [-1.5e308], [0.0]]), 1)
def test_medians_of_parts_equal_numpy(values, cut):
    parts = [part for part in (values[:cut], values[cut:]) if len(part)]

    def count(known, prefix):
        return sum(count_digits(ordered_keys(part), known, prefix) for part in parts)

    medians, shares = select_medians(count, len(values), values.shape[1], values.dtype)

    with np.errstate(over="ignore"):
        expected = np.median(values, axis=0)
        np.testing.assert_array_equal(medians, expected.astype(np.float64))
        ones = (values >= expected).sum(axis=0)
    np.testing.assert_array_equal(shares, np.minimum(ones, len(values) - ones) / len(values))


@given(FLOATS.flatmap(lambda d: hnp.arrays(d, 20, elements={"allow_nan": False})))
def test_keys_have_the_order_of_the_values(values):
    keys = ordered_keys(values)

    np.testing.assert_array_equal(keys[:, None] < keys, values[:, None] < values)
    np.testing.assert_array_equal(values_of_keys(keys), values)
