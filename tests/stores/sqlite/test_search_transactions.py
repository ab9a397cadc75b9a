"""How many transactions a search needs, and what it accepts as codes."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import InputError
from diffhash.stores.sqlite import scan
from diffhash.stores.sqlite.database import Database
from tests.test_validation import Tensor

from .helpers import codes


@pytest.fixture
def transactions(monkeypatch):
    """A list that grows with each transaction."""
    begun: list[str] = []
    run = Database._transaction

    def counted(self, begin):
        if self._open_transaction is None:
            begun.append(begin)
        return run(self, begin)

    monkeypatch.setattr(Database, "_transaction", counted)
    return begun


def test_search_arrays_needs_no_transaction_if_nothing_changed(path, filled, transactions):
    """With a filter, the first search needs one."""
    with dh.Collection.open(path) as reader:
        for where in (None, {"even": True}):
            expected = reader.search_arrays(codes(3), into="x", k=60, where=where)
            transactions.clear()
            again = reader.search_arrays(codes(3), into="x", k=60, where=where)
            assert not transactions
            for found, wanted in zip(again, expected, strict=True):
                np.testing.assert_array_equal(found, wanted)

        filled.delete([4])
        transactions.clear()
        ids, _ = reader.search_arrays(codes(1), into="x", k=60, where={"even": True})
        assert len(transactions) == 1
        assert 4 not in ids
        assert ids.shape == (1, 29)


def test_search_arrays_after_changes_through_the_same_collection(filled):
    """Removals and additions of this collection are seen without a transaction, too."""
    for where in (None, {"even": True}):
        filled.search_arrays(codes(1), into="x", where=where)
    filled.delete([4])
    for where, count in ((None, 59), ({"even": True}, 29)):
        ids, _ = filled.search_arrays(codes(1), into="x", k=100, where=where)
        assert ids.shape == (1, count)
        assert 4 not in ids


def test_a_small_collection_is_searched_in_one_transaction(filled, transactions, monkeypatch):
    for small, count in ((True, 1), (False, 2)):
        if not small:
            monkeypatch.setattr(scan, "_SMALL_SCAN", 119)
        transactions.clear()
        hits = filled.search_codes(codes(1), k=200)
        assert len(hits[0]) == 120
        assert len(transactions) == count


SEARCHES = {
    "search_codes": lambda c, codes: c.search_codes(codes),
    "search_arrays": lambda c, codes: c.search_arrays(codes, into="x"),
}


@pytest.mark.parametrize("search", SEARCHES)
def test_codes_that_numpy_cannot_read_get_our_error(filled, search):
    tensor = Tensor(RuntimeError("Can't call numpy() on Tensor that requires grad."))
    with pytest.raises(InputError, match=rf"^Collection\.{search}: codes is a tensor .*detach"):
        SEARCHES[search](filled, tensor)
    with pytest.raises(InputError, match=rf"^Collection\.{search}: codes is not an array: its rows differ"):
        SEARCHES[search](filled, [[1, 2], [3]])
