"""The table of writes: collections from before 0.2.0 get it, and a table of something else is never taken for it."""

from __future__ import annotations

import secrets
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import psycopg
import pytest

import diffhash as dh
from diffhash.errors import (
    CollectionExistsError,
    CollectionFileError,
    StoreServerError,
    StoreUnavailableError,
)

CODES = np.arange(5, dtype=np.uint8).reshape(5, 1)


@pytest.fixture
def old(address, collection_name, postgres_server):
    """Name of a collection as releases before 0.2.0 made it: without a table of writes."""
    name = collection_name(address)
    with dh.create(address, n_bits=8, modalities=("a",)) as store:
        store.add_codes(CODES, modality="a")
    postgres_server.run(f"DROP TABLE {name}_writes")
    return name


@pytest.fixture
def after_a_lost_commit(monkeypatch):
    """Lose the connection of the next commit of a store after it or before it, and call a function then."""

    def arm(store, act, *, committed):
        entered, done = type(store)._entered, []

        @contextmanager
        def losing(self, connection, begin, lock, caller):
            if self is not store or begin != "BEGIN" or done:
                with entered(self, connection, begin, lock, caller):
                    yield
                return
            done.append(True)
            if committed:
                with entered(self, connection, begin, lock, caller):
                    yield
                act()
                raise psycopg.OperationalError("lost")
            with entered(self, connection, begin, lock, caller):
                yield
                connection.close()
                act()

        monkeypatch.setattr(type(store), "_entered", losing)

    return arm


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


def test_writers_that_open_an_old_collection_together_all_succeed(address, old, postgres_server):
    n_threads = 6
    for _ in range(8):
        postgres_server.run(f"DROP TABLE IF EXISTS {old}_writes")
        together = threading.Barrier(n_threads)

        def open_and_write(together=together):
            together.wait(20)
            with dh.open(address, writable=True) as store:
                return store.add_codes(CODES[:1], modality="a")

        with ThreadPoolExecutor(n_threads) as pool:
            calls = [pool.submit(open_and_write) for _ in range(n_threads)]
        ids = [call.result()[0] for call in calls]
        assert len(set(ids)) == n_threads
    with dh.open(address) as store:
        assert len(store) == 5 + 8 * n_threads


@pytest.fixture
def role(postgres_server, old):
    """A role that may read and write the rows of an old collection, and nothing else."""
    name = f"role_{secrets.token_hex(4)}"
    tables = ", ".join(old + suffix for suffix in ("", "_model", "_objects", "_codes_0"))
    postgres_server.run(
        f"CREATE ROLE {name} LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {name}"
    )
    yield name
    postgres_server.run(f"DROP OWNED BY {name}")
    postgres_server.run(f"DROP ROLE {name}")


def _statements(error):
    """The statements of a message, which begin after ``run: ``."""
    return [part.split("; then ")[0] for part in str(error).split("run: ")[1:]]


def test_a_role_with_rights_on_rows_writes_once_the_owner_has_run_the_statements(
    address, role, postgres_server
):
    own = address.replace("diffhash@", f"{role}@")
    with dh.open(own) as store:
        assert len(store) == 5
    with pytest.raises(StoreServerError, match=rf"_writes\".* the role '{role}' may not make it") as caught:
        dh.open(own, writable=True)
    make, grant = _statements(caught.value)
    assert make.startswith("CREATE TABLE")

    postgres_server.run(make)
    with pytest.raises(StoreServerError, match=rf"'{role}' may not write .*_writes\".*GRANT") as caught:
        dh.open(own, writable=True)
    assert _statements(caught.value) == [grant]
    postgres_server.run(grant)

    with dh.open(own, writable=True) as store:
        assert store.add_codes(CODES[:2], modality="a") == [5, 6]
        assert store.upsert_codes(CODES[:1], modality="a", ids=[5]) == [5]
        assert store.delete([0]) == 1
        assert store.verify().ok
    with dh.open(address, writable=True) as store:
        assert store.add_codes(CODES[:1], modality="a") == [7]


def test_a_role_that_may_make_tables_does_not_take_the_table_from_the_owner(
    address, role, old, postgres_server
):
    own = f"{address.replace('diffhash@', f'{role}@')}"
    postgres_server.run(f"GRANT CREATE ON SCHEMA public TO {role}")
    with pytest.raises(StoreServerError, match="Let 'diffhash', the owner of the collection, open it once"):
        dh.open(own, writable=True)
    assert postgres_server.run(f"SELECT to_regclass('{old}_writes') IS NULL") == "t"


def test_the_owner_of_the_collection_owns_the_table_that_an_administrator_made(
    address, role, old, postgres_server
):
    for suffix in ("", "_model", "_objects", "_codes_0"):
        postgres_server.run(f"ALTER TABLE {old}{suffix} OWNER TO {role}")

    dh.open(address, writable=True).close()

    with dh.open(address.replace("diffhash@", f"{role}@"), writable=True) as store:
        assert store.add_codes(CODES[:1], modality="a") == [5]


@pytest.fixture
def long_writer(postgres_server, collection_name, address):
    """A function that begins a transaction of somebody else, which locks the collection until the test ends."""
    with psycopg.connect(address.partition("?collection")[0].partition("&collection")[0]) as connection:
        yield lambda: connection.execute(f"SELECT FROM {collection_name(address)} FOR UPDATE")
        connection.rollback()


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "not committed"])
def test_what_became_of_a_commit_is_told_beside_a_long_writer_if_it_was_done(
    address, long_writer, after_a_lost_commit, committed
):
    with dh.create(address, n_bits=8, modalities=("a",), timeout=2) as store:
        after_a_lost_commit(store, long_writer, committed=committed)
        begin = time.monotonic()
        if committed:
            assert store.add_codes(CODES, modality="a") == [0, 1, 2, 3, 4]
            assert time.monotonic() - begin < 1.5
        else:
            with pytest.raises(StoreUnavailableError, match=r"or another writer took long\. Either all"):
                store.add_codes(CODES, modality="a")
        assert len(store) == (5 if committed else 0)


def test_nothing_is_claimed_of_a_commit_if_the_collection_was_removed_after_it(
    address, collection_name, postgres_server, after_a_lost_commit
):
    name = collection_name(address)
    with dh.create(address, n_bits=8, modalities=("a",)) as store:

        def remove():
            tables = ", ".join(name + suffix for suffix in ("", "_model", "_objects", "_writes", "_codes_0"))
            postgres_server.run(f"DROP TABLE {tables}")

        after_a_lost_commit(store, remove, committed=True)
        with pytest.raises(CollectionFileError, match="it is not known whether the changes") as caught:
            store.add_codes(CODES, modality="a")
        assert "Nothing was changed" not in str(caught.value)


def test_rows_that_ended_clients_left_are_removed_by_the_first_write_of_a_store(
    address, collection_name, postgres_server
):
    table = f"{collection_name(address)}_writes"
    dh.create(address, n_bits=8, modalities=("a",)).close()
    recent = str(uuid.uuid4())
    postgres_server.run(
        f"INSERT INTO {table} SELECT gen_random_uuid(), now() - interval '2 days' FROM generate_series(1, 50); "
        f"INSERT INTO {table} VALUES ('{recent}', now() - interval '2 hours')"
    )
    with dh.open(address, writable=True) as store:
        for _ in range(3):
            store.add_codes(CODES, modality="a")
    assert postgres_server.run(f"SELECT count(*) FROM {table}") == "2"
    assert postgres_server.run(f"SELECT count(*) FROM {table} WHERE write = '{recent}'") == "1"
