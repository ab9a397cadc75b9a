"""Addresses and names; passwords are never shown; servers that cannot be used say why."""

from __future__ import annotations

import socket
import traceback

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import (
    AddressError,
    CollectionExistsError,
    CollectionFileError,
    CollectionNotFoundError,
    StoreServerError,
    StoreUnavailableError,
)
from diffhash.stores.postgres import tables as postgres_tables

CODES = np.array([[1], [2], [3]], dtype=np.uint8)


def made(address, **options):
    return dh.create(address, n_bits=8, modalities=("a",), **options)


@pytest.mark.parametrize("name", ["Photos", 'we"ird; DROP TABLE x; --', "sélection ", "a.b", "select", "{}"])
def test_names_are_quoted(postgres_server, name):
    from urllib.parse import quote

    address = postgres_server.address(collection=quote(name, safe=""))
    with made(address) as store:
        store.add_codes(CODES, modality="a", ids=["x", "y", "z"])
    with dh.open(address) as store:
        assert len(store) == 3
        assert [hit.id for hit in store.search_codes(CODES[:1], k=1)[0]] == ["x"]
        assert store.verify().ok


@pytest.mark.parametrize("name", ["", "x" * 49, "%00", "%25s"])
def test_names_that_postgresql_cannot_hold_are_refused(postgres_server, name):
    with pytest.raises(AddressError, match="1 to 48 bytes"):
        made(postgres_server.address(collection=name))


def test_a_schema_can_be_chosen(postgres_server, address):
    postgres_server.run("CREATE SCHEMA IF NOT EXISTS other")
    with made(f"{address}&schema=other") as store:
        store.add_codes(CODES, modality="a")
    with pytest.raises(CollectionNotFoundError, match="no collection"):
        dh.open(address)
    with dh.open(f"{address}&schema=other") as store:
        assert len(store) == 3


def test_unknown_parameters_and_paths_are_refused(address):
    with pytest.raises(AddressError, match=r"no parameter 'colection'.*collection"):
        dh.open(f"{address}&colection=x")
    with pytest.raises(AddressError, match="a database follows the host"):
        dh.open(address.replace("/postgres?", "/postgres/photos?"))


def test_a_password_comes_from_the_address_or_the_environment(
    postgres_server, address, collection_name, monkeypatch
):
    more = f"?collection={collection_name(address)}"
    with made(postgres_server.loopback_address() + more) as store:
        store.add_codes(CODES, modality="a")
        assert postgres_server.password not in repr(store)
        assert postgres_server.password not in store.address
        assert "***" in store.address
    without = postgres_server.loopback_address().replace(f":{postgres_server.password}", "") + more
    monkeypatch.setenv("PGPASSWORD", postgres_server.password)
    with dh.open(without) as store:
        assert len(store) == 3


@pytest.mark.parametrize("wrong", ["se%40cret%2Fword", "x' OR '1'='1"])
def test_a_wrong_password_is_refused_and_not_shown(postgres_server, wrong):
    from urllib.parse import unquote

    address = postgres_server.loopback_address().replace(postgres_server.password, wrong)
    with pytest.raises(StoreUnavailableError, match="password authentication failed") as caught:
        dh.open(address, timeout=5)
    text = "".join(traceback.format_exception(caught.value, chain=True))
    assert unquote(wrong) not in text
    assert wrong not in text


def test_a_server_that_is_not_there_is_reported_soon():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(StoreUnavailableError, match=r"cannot be reached.*Check that it runs") as caught:
            dh.open(f"postgresql://ann:hidden@127.0.0.1:{port}/photos", timeout=1)
    assert "hidden" not in str(caught.value)
    assert isinstance(caught.value, ConnectionError)


def test_tls_that_the_server_does_not_have_is_not_silently_left_out(postgres_server):
    with pytest.raises(StoreUnavailableError, match="SSL"):
        dh.open(f"{postgres_server.loopback_address()}?sslmode=require", timeout=5)


def test_a_collection_that_is_not_there(address):
    with pytest.raises(CollectionNotFoundError, match=r"diffhash.create makes a new one"):
        dh.open(address)


def test_a_table_of_something_else_is_neither_opened_nor_replaced(postgres_server, address, collection_name):
    name = collection_name(address)
    postgres_server.run(
        f"CREATE TABLE {name} (id int, description text); INSERT INTO {name} VALUES (7, 'mine')"
    )
    with pytest.raises(CollectionFileError, match="is not a collection"):
        dh.open(address)
    with pytest.raises(CollectionExistsError, match="exists already"):
        made(address)
    with pytest.raises(CollectionExistsError, match="is not a collection, so it is not replaced"):
        made(address, overwrite=True)
    assert postgres_server.run(f"SELECT id FROM {name}") == "7"

    postgres_server.run(f"ALTER TABLE {name} RENAME TO {name}_objects")
    with pytest.raises(CollectionExistsError, match="belongs to something else"):
        made(address, overwrite=True)
    assert postgres_server.run(f"SELECT id FROM {name}_objects") == "7"
    assert postgres_server.run(f"SELECT to_regclass('{name}') IS NULL") == "t"


def test_a_collection_is_only_replaced_if_asked(address):
    made(address).close()
    with pytest.raises(CollectionExistsError, match="overwrite=True"):
        made(address)
    with made(address, overwrite=True) as store:
        assert len(store) == 0


def test_an_old_server_is_refused(address, monkeypatch):
    monkeypatch.setattr(postgres_tables, "MIN_SERVER", 99)
    with pytest.raises(StoreServerError, match=r"is PostgreSQL 18, and 99 or later is needed"):
        made(address)


def test_an_old_pgvector_is_refused(address, monkeypatch):
    made(address).close()
    monkeypatch.setattr(postgres_tables, "_extension", lambda _connection: ("0.6.2", "public"))
    with pytest.raises(StoreServerError, match=r"has pgvector 0.6.2, and 0.7 or later.*ALTER EXTENSION"):
        dh.open(address)


def test_a_database_without_pgvector_says_what_to_do(postgres_server):
    """A user that may not enable it gets the statement for an administrator."""
    postgres_server.run("DROP DATABASE IF EXISTS plain")
    postgres_server.run("CREATE DATABASE plain")
    with pytest.raises(CollectionNotFoundError, match="no collection"):
        dh.open(postgres_server.address("plain"))
    postgres_server.run("CREATE ROLE guest LOGIN")
    guest = postgres_server.address("plain").replace("diffhash@", "guest@")
    with pytest.raises(StoreServerError, match=r"may not enable it.*administrator"):
        made(guest)
    with made(postgres_server.address("plain", collection="first")) as store:
        assert store.stats().details["server"].startswith("PostgreSQL 18")
    with pytest.raises(StoreServerError, match="no right to do this"):
        made(f"{guest}&collection=second")
    with pytest.raises(StoreServerError, match="no right to do this"):
        dh.open(f"{guest}&collection=first")
    postgres_server.run("DROP EXTENSION vector", "plain")
    with pytest.raises(StoreServerError, match=r"lacks the extension pgvector.*CREATE EXTENSION vector"):
        dh.open(postgres_server.address("plain", collection="first"))
    postgres_server.run("DROP DATABASE plain")
    postgres_server.run("DROP ROLE guest")


def test_pgvector_in_another_schema_is_found(postgres_server):
    postgres_server.run("DROP DATABASE IF EXISTS elsewhere")
    postgres_server.run("CREATE DATABASE elsewhere")
    postgres_server.run('CREATE SCHEMA "ext en"; CREATE EXTENSION vector SCHEMA "ext en"', "elsewhere")
    with made(postgres_server.address("elsewhere")) as store:
        store.add_codes(CODES, modality="a")
        store.create_index()
        assert [hit.id for hit in store.search_codes(CODES[:1], k=1)[0]] == [0]
    postgres_server.run("DROP DATABASE elsewhere")


def test_a_reader_cannot_write(address):
    made(address).close()
    with dh.open(address) as store, pytest.raises(dh.errors.ReadOnlyCollectionError, match="writable=True"):
        store.add_codes(CODES, modality="a")


def test_two_models_never_mix(address, hasher):
    """A collection that was made again is another one for whoever has the old one open."""
    x = np.random.default_rng(2).normal(size=(3, 8))
    with dh.create(address, hasher) as old:
        old.add(x, modality="x")
        with dh.create(address, n_bits=5, modalities=("x", "y"), overwrite=True) as new:
            new.add_codes(CODES, modality="x")
            for act in (
                lambda: old.add(x, modality="x"),
                lambda: old.search(x, modality="x"),
                lambda: old.get([0]),
                lambda: len(old),
            ):
                with pytest.raises(CollectionFileError, match="replaced by another collection"):
                    act()
            assert len(new) == 3
