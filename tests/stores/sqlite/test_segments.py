"""Streams of segments, against plain lists."""

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
