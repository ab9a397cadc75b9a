"""Streams of segments, compared with plain lists."""

from __future__ import annotations

import numpy as np
import pytest

from diffhash.errors import CollectionFileError
from diffhash.stores.sqlite import segments
from diffhash.stores.sqlite.database import Database


@pytest.fixture
def db(path, collection):
    collection.close()
    made = Database(path, writable=True)
    yield made
    made.close()


def entries_of(db, stream, known=0):
    parts = list(segments.read(db, stream, known, width=3))
    keys = [key for part in parts for key in part.keys[part.skip :].tolist()]
    data = b"".join(part.data[3 * part.skip :] for part in parts)
    return keys, data


def test_small_segments_are_merged_and_can_be_read_from_any_entry_on(db):
    """A thousand single additions make a dozen rows, and reading can begin at any entry."""
    keys = np.random.default_rng(0).permutation(1000)
    codes = np.random.default_rng(1).integers(0, 256, (1000, 3), dtype=np.uint8)
    with db.writing():
        for row in range(1000):
            segments.append(db, 1, row, keys[row : row + 1], codes[row].tobytes())

    assert db.value("SELECT count(*) FROM segments") <= 12
    for known in (0, 1, 500, 511, 512, 513, 999):
        assert entries_of(db, 1, known) == (keys[known:].tolist(), codes[known:].tobytes())
    assert entries_of(db, 1, 1000) == ([], b"")


def test_large_additions_are_split(db, monkeypatch):
    monkeypatch.setattr(segments, "_MAX_BYTES", 1000)
    data = np.random.default_rng(1).integers(0, 256, (5000, 3), dtype=np.uint8).tobytes()
    with db.writing():
        segments.append(db, 1, 0, np.arange(5000) * 2, data)

    assert db.value("SELECT count(*) FROM segments") > 50
    assert entries_of(db, 1, 4321) == (list(range(8642, 10000, 2)), data[3 * 4321 :])


@pytest.mark.parametrize(
    "column", ["start = start + 1", "count = 2", "crc = crc + 1", "data = x'00'", "keys = 'text'"]
)
def test_a_changed_segment_raises_an_error(db, column):
    with db.writing():
        segments.append(db, 1, 0, np.arange(1), b"abc")
        db.execute(f"UPDATE segments SET {column}")

    with pytest.raises(CollectionFileError, match="damaged"):
        entries_of(db, 1)


def test_a_stream_that_another_program_changed_is_not_appended_to(db):
    with db.writing():
        segments.append(db, 1, 0, np.arange(2), b"abcdef")

    with pytest.raises(CollectionFileError, match="by another program"), db.writing():
        segments.append(db, 1, 1, np.arange(1), b"abc")

    assert entries_of(db, 1) == ([0, 1], b"abcdef")
