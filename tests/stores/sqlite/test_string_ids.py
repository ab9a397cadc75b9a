"""String ids come back from the bytes into which they are packed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffhash.stores.sqlite.string_ids import StringIds, join_packed_strings, pack_strings, unpack_strings


@given(st.lists(st.lists(st.text(max_size=5), max_size=4), max_size=4))
def test_names_come_back(blocks):
    ids = StringIds()
    listed: list[str] = []
    for block in blocks:
        block = [f"{len(listed) + row} {name}" for row, name in enumerate(block)]
        numbers = np.arange(len(listed), len(listed) + len(block)) * 3
        ids.append(numbers, pack_strings(block))
        listed += block
    assert ids.of(np.arange(len(listed))[::-1] * 3) == listed[::-1]
    assert ids.keys_of(listed).tolist() == [3 * row for row in range(len(listed))]
    joined = join_packed_strings([(len(block), pack_strings(block)) for block in blocks])
    offsets, text = unpack_strings(joined, sum(map(len, blocks)))
    assert text.decode() == "".join("".join(block) for block in blocks)
    assert offsets[-1] == len(text)


def test_bytes_that_are_no_names_are_refused():
    for data in (b"", b"\5\0\0\0abc", b"\1\0\0\0abc"):
        with pytest.raises(ValueError, match="strings"):
            unpack_strings(data, 1)
