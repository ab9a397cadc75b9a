"""From real values to bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from diffhash import native
from diffhash.codes import pack
from diffhash.errors import InputError

shapes = st.tuples(st.integers(0, 9), st.integers(0, 70))


@given(
    values=st.sampled_from([np.float32, np.float64]).flatmap(
        lambda dtype: hnp.arrays(
            dtype, shapes, elements=st.sampled_from([0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf])
        )
    )
)
@settings(max_examples=100, deadline=None)
def test_a_bit_is_value_not_negative(kernel, values):
    """Minus zero counts as zero, NaN as negative, padding bits are zero."""
    codes = native.pack_signs(values, kernel=kernel)

    np.testing.assert_array_equal(codes, pack(values >= 0))


def test_other_layouts_and_types_are_packed_right(kernel):
    values = np.random.default_rng(0).normal(size=(20, 30))
    for variant in (np.asfortranarray(values), values[::2, ::3], values.astype(np.float16), values > 0):
        np.testing.assert_array_equal(native.pack_signs(variant, kernel=kernel), pack(variant >= 0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("with_offset", [False, True])
def test_a_bit_is_the_sign_of_value_plus_offset(kernel, dtype, with_offset):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(333, 19)).astype(dtype)
    offset = rng.normal(size=19) if with_offset else None

    codes = native.pack_signs(values, offset, kernel=kernel)

    shift = np.zeros(19, dtype) if offset is None else offset.astype(dtype)
    assert (values + shift).dtype == dtype
    np.testing.assert_array_equal(codes, pack(values + shift >= 0))


def test_wrong_shapes_are_refused():
    with pytest.raises(InputError, match="pack_signs: expected values of shape"):
        native.pack_signs(np.zeros(3))
    with pytest.raises(InputError, match=r"offset of shape \(4,\), got \(3,\)"):
        native.pack_signs(np.zeros((3, 4)), np.zeros(3))
