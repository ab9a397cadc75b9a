"""Addresses of Milvus, and servers that cannot be used."""

from __future__ import annotations

import socket

import pytest

import diffhash as dh
from diffhash.errors import AddressError, StoreUnavailableError
from diffhash.stores.address import parse_address

pytest.importorskip("pymilvus", reason="the extra 'milvus' is not installed")

from diffhash.stores.milvus.connection import read_settings


def settings_of(address):
    return read_settings(parse_address(address, caller="open"), caller="open")


def test_an_address_says_where_and_how():
    settings = settings_of(
        "milvus://ann:p%40ss@db.example:1234/photos?database=d&tls=true&index=ivf&nlist=64&nprobe=8&consistency=bounded"
    )

    assert (settings.uri, settings.name, settings.database) == ("https://db.example:1234", "photos", "d")
    assert (settings.token, settings.level) == ("ann:p@ss", "Bounded")
    assert (settings.index, settings.n_lists, settings.n_probes) == ("BIN_IVF_FLAT", 64, 8)
    assert "p@ss" not in repr(settings)


def test_by_default_reads_are_strong_and_searches_exact(monkeypatch):
    for name in ("MILVUS_USER", "MILVUS_PASSWORD", "MILVUS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    settings = settings_of("milvus://localhost/photos")

    assert (settings.uri, settings.token) == ("http://localhost:19530", "")
    assert (settings.level, settings.index, settings.n_probes) == ("Strong", "BIN_FLAT", None)


def test_credentials_can_be_in_the_environment(monkeypatch):
    monkeypatch.setenv("MILVUS_TOKEN", "a token")
    assert settings_of("milvus://localhost/photos").token == "a token"
    monkeypatch.setenv("MILVUS_USER", "ann")
    monkeypatch.setenv("MILVUS_PASSWORD", "secret")
    assert settings_of("milvus://localhost/photos").token == "ann:secret"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("milvus://localhost", "milvus://HOST:PORT/NAME"),
        ("milvus:///photos", "milvus://HOST:PORT/NAME"),
        ("milvus://localhost/my-photos", "'my-photos'"),
        ("milvus://localhost/photos?consistency=weak", "strong or bounded"),
        ("milvus://localhost/photos?index=hnsw", "flat or ivf"),
        ("milvus://localhost/photos?nprobe=0", "nprobe is a whole number"),
        ("milvus://localhost/photos?tls=1", "true or false"),
        ("milvus://localhost/photos?colour=red", "no parameter 'colour'"),
    ],
)
def test_a_wrong_address_is_refused(address, message):
    with pytest.raises(AddressError, match=message):
        dh.open(address)


@pytest.mark.parametrize("act", [dh.open, lambda address: dh.create(address, n_bits=8, modalities=("x",))])
def test_a_missing_server_is_one_clear_error_without_the_password(act):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        with pytest.raises(
            StoreUnavailableError, match=f"127.0.0.1:{port}/photos cannot be reached"
        ) as error:
            act(f"milvus://ann:geheim@127.0.0.1:{port}/photos")

    assert "geheim" not in str(error.value)
    assert error.value.__cause__ is None
