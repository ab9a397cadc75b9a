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
from diffhash.native import packing

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
def test_project_and_pack_is_the_sign_of_the_product(kernel, dtype, with_offset, monkeypatch):
    """Bit by bit, over several blocks."""
    monkeypatch.setattr(packing, "BLOCK_ROWS", 64)
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(333, 20)).astype(dtype), rng.normal(size=(20, 19)).astype(dtype)
    offset = rng.normal(size=19) if with_offset else None

    codes = native.project_and_pack(X, weights, offset, kernel=kernel)

    # In the same blocks: another number of rows may round differently.
    shift = np.zeros(19, dtype) if offset is None else offset.astype(dtype)
    values = np.concatenate([X[start : start + 64] @ weights for start in range(0, 333, 64)]) + shift
    assert values.dtype == dtype
    np.testing.assert_array_equal(codes, pack(values >= 0))


def test_wrong_shapes_are_refused():
    with pytest.raises(InputError, match="pack_signs: expected values of shape"):
        native.pack_signs(np.zeros(3))
    with pytest.raises(InputError, match=r"got \(3, 4\) and \(5, 2\)"):
        native.project_and_pack(np.zeros((3, 4)), np.zeros((5, 2)))
    with pytest.raises(InputError, match="offset of shape"):
        native.project_and_pack(np.zeros((3, 4)), np.zeros((4, 2)), np.zeros(3))
