"""Positions of keys, against a plain dict."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diffhash.stores.sqlite import key_positions
from diffhash.stores.sqlite.key_positions import KeyPositions, find_sorted


@given(st.lists(st.lists(st.integers(0, 40), unique=True, max_size=8), max_size=12), st.booleans())
def test_a_key_map_knows_the_last_position(batches, ask_early):
    everything = np.empty(0, dtype=np.int64)
    expected: dict[int, int] = {}
    known = KeyPositions(everything)
    limit, key_positions._MAX_RECENT = key_positions._MAX_RECENT, 10
    try:
        for batch in batches:
            new = np.array(batch, dtype=np.int64)
            expected |= {key: len(everything) + row for row, key in enumerate(batch)}
            everything = np.concatenate([everything, new])
            known.append(new, everything)
            if ask_early:
                known.find(np.arange(3))
        asked = np.arange(45)
        assert known.find(asked).tolist() == [expected.get(key, -1) for key in asked.tolist()]
    finally:
        key_positions._MAX_RECENT = limit


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(-1, 11)))
def test_find_sorted_finds_the_last(numbers, wanted):
    numbers = sorted(numbers)
    last = {number: row for row, number in enumerate(numbers)}
    found = find_sorted(np.array(numbers, dtype=np.int64), np.array(wanted, dtype=np.int64))
    assert found.tolist() == [last.get(number, -1) for number in wanted]
