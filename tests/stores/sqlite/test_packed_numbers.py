"""Numbers in few bytes, keys to positions, streams of segments: each against its plain form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffhash.errors import CollectionFileError
from diffhash.stores.sqlite import packed_numbers as keys_module
from diffhash.stores.sqlite import segments
from diffhash.stores.sqlite.database import Database
from diffhash.stores.sqlite.packed_numbers import KeyPositions, find_sorted, pack_numbers, unpack_numbers
from diffhash.stores.sqlite.string_ids import StringIds, join_packed_strings, pack_strings, unpack_strings

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


@given(st.lists(st.lists(st.integers(0, 40), unique=True, max_size=8), max_size=12), st.booleans())
def test_a_key_map_knows_the_last_position(batches, ask_early):
    everything = np.empty(0, dtype=np.int64)
    expected: dict[int, int] = {}
    known = KeyPositions(everything)
    limit, keys_module._MAX_RECENT = keys_module._MAX_RECENT, 10
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
        keys_module._MAX_RECENT = limit


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(-1, 11)))
def test_find_sorted_finds_the_last(numbers, wanted):
    numbers = sorted(numbers)
    last = {number: row for row, number in enumerate(numbers)}
    found = find_sorted(np.array(numbers, dtype=np.int64), np.array(wanted, dtype=np.int64))
    assert found.tolist() == [last.get(number, -1) for number in wanted]


@given(st.lists(st.lists(st.text(max_size=5), max_size=4), max_size=4))
def test_names_come_back(blocks):
    names = StringIds()
    listed: list[str] = []
    for block in blocks:
        block = [f"{len(listed) + row} {name}" for row, name in enumerate(block)]
        numbers = np.arange(len(listed), len(listed) + len(block)) * 3
        names.append(numbers, pack_strings(block))
        listed += block
    assert names.of(np.arange(len(listed))[::-1] * 3) == listed[::-1]
    assert [names.key(name) for name in listed] == [3 * row for row in range(len(listed))]
    joined = join_packed_strings([(len(block), pack_strings(block)) for block in blocks])
    offsets, text = unpack_strings(joined, sum(map(len, blocks)))
    assert text.decode() == "".join("".join(block) for block in blocks)
    assert offsets[-1] == len(text)


def test_bytes_that_are_no_names_are_refused():
    for data in (b"", b"\5\0\0\0abc", b"\1\0\0\0abc"):
        with pytest.raises(ValueError, match="names"):
            unpack_strings(data, 1)


@pytest.fixture
def db(path, collection):
    collection.close()
    made = Database(path, writable=True)
    yield made
    made.close()


def entries_of(db, stream, known=0):
    parts = list(segments.read(db, stream, known))
    keys = [key for part in parts for key in part.keys[part.skip :].tolist()]
    data = b"".join(part.data[3 * part.skip :] for part in parts)
    return keys, data


def test_small_segments_are_put_together_and_readers_go_on_from_anywhere(db):
    """A thousand single additions make a dozen rows; every count of known entries continues rightly."""
    keys = np.random.default_rng(0).permutation(1000)
    codes = np.random.default_rng(1).integers(0, 256, (1000, 3), dtype=np.uint8)
    with db.writing():
        for row in range(1000):
            segments.append(db, 1, row, keys[row : row + 1], codes[row].tobytes())

    assert db.value("SELECT count(*) FROM segments") <= 12
    for known in (0, 1, 500, 511, 512, 513, 999):
        assert entries_of(db, 1, known) == (keys[known:].tolist(), codes[known:].tobytes())
    assert entries_of(db, 1, 1000) == ([], b"")


def test_large_additions_are_cut(db, monkeypatch):
    monkeypatch.setattr(segments, "_LARGE", 1000)
    data = np.random.default_rng(1).integers(0, 256, (5000, 3), dtype=np.uint8).tobytes()
    with db.writing():
        segments.append(db, 1, 0, np.arange(5000) * 2, data)

    assert db.value("SELECT count(*) FROM segments") > 50
    assert entries_of(db, 1, 4321) == (list(range(8642, 10000, 2)), data[3 * 4321 :])


@pytest.mark.parametrize(
    "column", ["start = start + 1", "count = 2", "crc = crc + 1", "data = x'00'", "keys = 'text'"]
)
def test_a_changed_segment_is_told(db, column):
    with db.writing():
        segments.append(db, 1, 0, np.arange(1), b"abc")
        db.execute(f"UPDATE segments SET {column}")

    with pytest.raises(CollectionFileError, match="damaged"):
        entries_of(db, 1)


def test_a_stream_that_grew_behind_the_writers_back_is_not_appended_to(db):
    with db.writing():
        segments.append(db, 1, 0, np.arange(2), b"abcdef")

    with pytest.raises(CollectionFileError, match="behind the writer's back"), db.writing():
        segments.append(db, 1, 1, np.arange(1), b"abc")

    assert entries_of(db, 1) == ([0, 1], b"abcdef")
