"""Packing and unpacking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from diffhash.codes import code_bytes, pack, unpack
from diffhash.errors import CodeError

bit_arrays = st.tuples(st.integers(0, 5), st.integers(1, 70)).flatmap(lambda shape: arrays(np.bool_, shape))


@given(bit_arrays)
def test_unpacking_gives_back_the_bits(bits):
    codes = pack(bits)
    assert codes.shape == (len(bits), code_bytes(bits.shape[1]))
    np.testing.assert_array_equal(unpack(codes, bits.shape[1]), bits)


@given(bit_arrays)
def test_bit_b_is_bit_b_mod_8_of_byte_b_div_8_and_padding_is_zero(bits):
    codes = pack(bits)
    for row, code in zip(bits, codes, strict=True):
        value = int.from_bytes(code.tobytes(), "little")
        assert value == sum(int(bit) << place for place, bit in enumerate(row))


def test_wrong_codes_are_refused():
    with pytest.raises(CodeError, match=r"uint8 of shape \(n, 2\)"):
        unpack(np.zeros((3, 1), dtype=np.uint8), 9)
    with pytest.raises(CodeError, match="n_bits"):
        pack(np.zeros(3, dtype=bool))
