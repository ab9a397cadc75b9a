"""A call that is interrupted anywhere leaves a collection that goes on, and loses nothing afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CollectionError
from diffhash.search.index import HammingIndex
from diffhash.stores.sqlite.key_positions import GrowingArray, KeyPositions
from diffhash.stores.sqlite.modality_codes import ModalityCodes


def codes(n, first=0):
    """Codes that are all different."""
    return np.arange(2 * first, 2 * (first + n), dtype=np.uint16).astype(np.uint8).reshape(n, 2)


def answers(collection):
    """What is stored, as it is found by id and by code."""
    items = [item for block in collection.iterate("x") for item in block]
    stored = {item.id: item.codes["x"].tolist() for item in items}
    ids, distances = collection.search_arrays(np.array(list(stored.values()), np.uint8), into="x", k=1)
    assert (ids[:, 0].tolist(), distances.max()) == (list(stored), 0)
    assert len(collection) == len(stored)
    return stored


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
@pytest.mark.parametrize("word", ["BEGIN", "COMMIT"])
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


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize(
    ("place", "method"),
    [
        (HammingIndex, "add"),
        (GrowingArray, "append"),
        (KeyPositions, "append"),
        (ModalityCodes, "remove"),
        (HammingIndex, "remove"),
    ],
)
@pytest.mark.parametrize("who", ["writer", "reader"])
def test_an_interrupt_while_memory_follows_the_file(path, collection, monkeypatch, who, place, method, error):
    """What was committed is found afterwards, and no object has the code of another."""
    collection.add_codes(codes(50), modality="x")
    acting = collection if who == "writer" else dh.Collection.open(path)
    if who == "reader":
        collection.upsert_codes(codes(10, 50), modality="x", ids=range(45, 55))
    work = getattr(place, method)

    def interrupted(*arguments):
        monkeypatch.undo()
        if method == "remove":
            work(*arguments)
        raise error

    monkeypatch.setattr(place, method, interrupted)
    with pytest.raises(error):  # noqa: PT012
        if who == "writer":
            collection.upsert_codes(codes(10, 50), modality="x", ids=range(45, 55))
        answers(acting)
    expected = {i: codes(1, i).tolist()[0] for i in range(45)}
    expected |= {i: codes(1, i + 5).tolist()[0] for i in range(45, 55)}
    assert answers(acting) == expected
    collection.add_codes(codes(10, 60), modality="x")
    expected |= {i: codes(1, i + 5).tolist()[0] for i in range(55, 65)}
    assert answers(acting) == expected
    acting.close()
    collection.close()
    with dh.Collection.open(path) as reader:
        assert answers(reader) == expected
        assert reader.verify().problems == ()


@pytest.mark.parametrize("open_already", ["reading", "writing"])
def test_nothing_is_written_within_another_transaction(filled, open_already):
    """It would not be committed before that one is over, and not if that fails."""
    with getattr(filled._db, open_already)(), pytest.raises(CollectionError, match="is open"):
        filled.add_codes(codes(1), modality="x")
    assert len(filled.add_codes(codes(1), modality="x")) == 1
