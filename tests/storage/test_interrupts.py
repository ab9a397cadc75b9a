"""A call that is interrupted anywhere leaves a collection that goes on, and loses nothing afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CollectionError


def codes(n, first=0):
    """Codes that are all different."""
    return np.arange(2 * first, 2 * (first + n), dtype=np.uint16).astype(np.uint8).reshape(n, 2)


class InterruptedAfter:
    """A connection on which the first statement that begins with a word is the last before an interrupt."""

    def __init__(self, connection, word):
        self.connection, self.word = connection, word

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def execute(self, statement, *arguments):
        done = self.connection.execute(statement, *arguments)
        if self.word and statement.startswith(self.word):
            self.word = None
            raise KeyboardInterrupt
        return done


@pytest.mark.parametrize("act", [len, lambda c: c.add_codes(codes(3), modality="x")])
@pytest.mark.parametrize("word", ["BEGIN"])
def test_what_is_added_after_an_interrupted_transaction_is_stored(path, collection, act, word):
    collection.add_codes(codes(10), modality="x")
    collection._db._connection = InterruptedAfter(collection._db._connection, word)
    with pytest.raises(KeyboardInterrupt):
        act(collection)
    before = len(collection)
    added = collection.add_codes(codes(5, 20), modality="x")
    assert len(collection) == before + 5
    collection.close()
    with dh.Collection.open(path) as reader:
        assert len(reader) == before + 5
        assert [item.codes["x"].tolist() for item in reader.get(added)] == codes(5, 20).tolist()
        assert reader.verify().problems == ()


def test_nothing_is_written_within_a_read(filled):
    """It would not be committed before the read is over, and not if that fails."""
    with filled._db.reading(), pytest.raises(CollectionError, match="while it is being read"):
        filled.add_codes(codes(1), modality="x")
    assert len(filled.add_codes(codes(1), modality="x")) == 1
