"""Whole numbers come back from the bytes into which they are packed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffhash.stores.sqlite.packed_numbers import pack_numbers, unpack_numbers

INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(INT64 | st.integers(0, 300), max_size=20))
def test_numbers_come_back(numbers):
    array = np.array(numbers, dtype=np.int64)
    np.testing.assert_array_equal(unpack_numbers(pack_numbers(array), len(array)), array)


@given(INT64, st.integers(1, 50))
def test_consecutive_numbers_take_nine_bytes(first, count):
    array = np.arange(first, min(first + count, 2**63 - 1), dtype=np.int64)
    packed = pack_numbers(array)
    assert len(packed) == 9
    np.testing.assert_array_equal(unpack_numbers(packed, len(array)), array)


@pytest.mark.parametrize(
    "data", [b"", bytes(8), bytes(10), b"\3" + bytes(20), b"\1" + bytes(9), b"\0" + b"\xff" * 7 + b"\x7f"]
)
def test_other_bytes_are_no_numbers(data):
    with pytest.raises(ValueError, match="packed numbers"):
        unpack_numbers(data, 2)
