"""Packing and unpacking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from diffhash import HammingIndex
from diffhash.codes import check_codes, check_padding, code_bytes, pack, unpack
from diffhash.errors import CodeError, InputError, ParameterError

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


def test_every_number_but_zero_is_packed_as_a_one():
    np.testing.assert_array_equal(pack(np.array([[0.5, 0.0, -2.0, -0.0]])), [[0b0101]])
    np.testing.assert_array_equal(pack([[1, 0, 3]]), [[0b101]])
    with pytest.raises(CodeError, match=r"expected bits of shape \(n, n_bits\), got <U1"):
        pack(np.array([["a", "b"]]))


def test_wrong_codes_are_refused():
    with pytest.raises(CodeError, match=r"uint8 of shape \(n, 2\)"):
        unpack(np.zeros((3, 1), dtype=np.uint8), 9)
    with pytest.raises(CodeError, match="n_bits"):
        pack(np.zeros(3, dtype=bool))


@pytest.mark.parametrize(
    "codes", [np.zeros((3, 2)), np.zeros(2, np.uint8), np.zeros((1, 1, 2), np.uint8), [[1, 2]], "text", None]
)
def test_arrays_that_are_not_packed_codes_are_refused(codes):
    with pytest.raises(
        CodeError, match=r"search: queries must be packed codes, uint8 of shape \(n, bytes\), got"
    ):
        check_codes(codes, caller="search", name="queries")


def test_a_width_that_does_not_fit_the_bits_is_refused():
    with pytest.raises(
        CodeError, match=r"packed codes of 17 bits, uint8 of shape \(n, 3\), got uint8 of shape \(4, 2\)"
    ):
        check_codes(np.zeros((4, 2), np.uint8), caller="search", n_bits=17)


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(InputError, match="differ in length"):
        check_codes([[1], [1, 2]], caller="search")


def test_checked_codes_are_contiguous_and_shared_where_they_can_be(tmp_path):
    codes = np.arange(12, dtype=np.uint8).reshape(4, 3)
    np.save(tmp_path / "codes.npy", codes)
    mapped = np.load(tmp_path / "codes.npy", mmap_mode="r")

    assert np.shares_memory(check_codes(codes, caller="search"), codes)
    assert np.shares_memory(check_codes(mapped, caller="search"), mapped)
    for layout in (codes[::2], codes[:, ::-1], np.asfortranarray(codes)):
        checked = check_codes(layout, caller="search")
        assert checked.flags.c_contiguous
        np.testing.assert_array_equal(checked, layout)


def test_ones_in_padding_bits_are_refused():
    check_padding(np.array([[255, 0b11]], np.uint8), 10, caller="add")
    with pytest.raises(CodeError, match="10 bits must have zeros in the padding bits"):
        check_padding(np.array([[255, 0b100]], np.uint8), 10, caller="add")


@pytest.mark.parametrize("n_bits", ["8", [8], 8.0, None, True])
def test_unpack_takes_a_whole_number_of_bits(n_bits):
    with pytest.raises(ParameterError, match="unpack: n_bits must be a whole number"):
        unpack(np.zeros((2, 1), dtype=np.uint8), n_bits)


@pytest.mark.parametrize("n_bits", [4097, 2**64, 10**400])
def test_an_empty_index_has_at_most_4096_bits(n_bits):
    with pytest.raises(ParameterError, match="n_bits must be at most 4,096"):
        HammingIndex(n_bits=n_bits)
