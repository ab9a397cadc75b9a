"""The table of writes: collections from before 0.2.0 get it, and a table of something else is never taken for it."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CollectionExistsError, CollectionFileError

CODES = np.arange(5, dtype=np.uint8).reshape(5, 1)


@pytest.fixture
def old(address, collection_name, postgres_server):
    """Name of a collection as releases before 0.2.0 made it: without a table of writes."""
    name = collection_name(address)
    with dh.create(address, n_bits=8, modalities=("a",)) as store:
        store.add_codes(CODES, modality="a")
    postgres_server.run(f"DROP TABLE {name}_writes")
    return name


def _overwrite(address):
    return dh.create(address, n_bits=8, modalities=("a", "b"), overwrite=True)


def _check_unchanged(address):
    with dh.open(address) as store:
        assert len(store) == 5
        assert store.modalities == ("a",)
        assert store.verify().ok


OTHERS = {
    "other columns": ("CREATE TABLE {}(author text, title text)", "VALUES ('ann', 'birds')"),
    "one column more": (
        "CREATE TABLE {}(write uuid, written timestamptz, title text)",
        "VALUES (gen_random_uuid(), now(), 'birds')",
    ),
    "one column less": ("CREATE TABLE {}(write uuid)", "VALUES (gen_random_uuid())"),
    "another type": ("CREATE TABLE {}(write text, written timestamptz)", "VALUES ('a', now())"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_table_of_something_else_with_the_name_is_kept(address, old, postgres_server, other):
    make, values = OTHERS[other]
    postgres_server.run(f"{make.format(old + '_writes')}; INSERT INTO {old}_writes {values}")
    before = postgres_server.run(f"SELECT * FROM {old}_writes")

    with pytest.raises(
        CollectionExistsError, match=r"_writes\" of .* belongs to something else.*Rename that"
    ):
        _overwrite(address)
    with pytest.raises(CollectionFileError, match=r"_writes\" with the columns write uuid.*Rename that"):
        dh.open(address, writable=True)

    assert postgres_server.run(f"SELECT * FROM {old}_writes") == before
    _check_unchanged(address)
    postgres_server.run(f"ALTER TABLE {old}_writes RENAME TO {old}_mine")
    with dh.open(address, writable=True) as store:
        assert store.add_codes(CODES[:1], modality="a") == [5]
    _overwrite(address).close()
    assert postgres_server.run(f"SELECT * FROM {old}_mine") == before


def test_a_view_with_the_columns_is_kept(address, old, postgres_server):
    postgres_server.run(f"CREATE VIEW {old}_writes AS SELECT gen_random_uuid() AS write, now() AS written")

    with pytest.raises(CollectionExistsError, match="belongs to something else"):
        _overwrite(address)
    with pytest.raises(CollectionFileError, match="Rename that table"):
        dh.open(address, writable=True)

    _check_unchanged(address)


def test_another_collection_with_the_name_is_kept(address, old):
    with dh.create(f"{address}_writes", n_bits=8, modalities=("a",)) as store:
        store.add_codes(CODES, modality="a")

    with pytest.raises(CollectionExistsError, match="belongs to something else"):
        _overwrite(address)
    with pytest.raises(CollectionFileError, match="If it belongs to another collection, copy that one"):
        dh.open(address, writable=True)

    _check_unchanged(address)
    _check_unchanged(f"{address}_writes")


@pytest.mark.parametrize("opened", [False, True], ids=["without the table", "with the table"])
def test_an_old_collection_can_be_replaced(address, old, opened):
    if opened:
        dh.open(address, writable=True).close()
    with _overwrite(address) as store:
        assert store.add_codes(CODES, modality="b") == [0, 1, 2, 3, 4]
        assert store.verify().ok
