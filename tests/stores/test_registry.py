"""Addresses, the registry of engines, and what stores say that they can do."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import (
    AddressError,
    CollectionFileError,
    CollectionNotFoundError,
    InputError,
    MissingExtraError,
    NewerCollectionError,
    ParameterError,
    UnsupportedCallError,
)
from diffhash.stores import MemoryStore, Store, registry
from diffhash.stores.address import parse_address, shown_address
from diffhash.stores.capabilities import ENGINES, Capabilities
from diffhash.stores.store_description import StoreDescription


def test_a_path_is_a_collection(tmp_path):
    with dh.create(tmp_path / "a.dh", n_bits=8, modalities=("x",)) as made:
        assert isinstance(made, dh.Collection)
        made.add_codes(np.zeros((1, 1), np.uint8), modality="x")
    with dh.open(tmp_path / "a.dh") as store:
        assert isinstance(store, Store)
        assert (len(store), store.address, store.writable) == (1, str(tmp_path / "a.dh"), False)


def test_a_store_in_memory_is_made_by_its_address_and_cannot_be_opened():
    assert isinstance(dh.create("memory://", n_bits=8, modalities=("x",)), MemoryStore)
    with pytest.raises(CollectionNotFoundError, match="ends with its object"):
        dh.open("memory://")


def test_an_engine_is_imported_when_its_scheme_is_used():
    code = (
        "import sys, diffhash.stores; "
        "assert not {'psycopg', 'pymilvus', 'httpx', 'diffhash.stores.postgres'} & set(sys.modules), sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_an_unknown_scheme_names_the_known_ones():
    with pytest.raises(AddressError, match=r"no engine is known for ftp.*postgresql://"):
        dh.open("ftp://host/photos")


def test_a_missing_package_names_the_extra(monkeypatch):
    def missing(_name, _package):
        raise ModuleNotFoundError("No module named 'psycopg'", name="psycopg")

    monkeypatch.setattr(registry, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'diffhash\[postgres\]'"):
        dh.open("postgresql://ann:secret@localhost/photos")


def test_an_error_inside_an_engine_is_not_a_missing_package(monkeypatch):
    def broken(_name, _package):
        raise ModuleNotFoundError("No module named 'other'", name="other")

    monkeypatch.setattr(registry, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="other"):
        dh.open("postgresql://localhost/photos")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:se%40cret@[::1",
        "postgresql://ann:se%40cret@host:port/x",
        "http://ann:se%40cret@h/?a",
    ],
)
def test_a_bad_url_is_refused_without_its_text(address):
    with pytest.raises(AddressError) as caught:
        dh.open(address)
    assert "cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_passwords_and_tokens_are_not_shown():
    address = parse_address(
        "milvus://ann:se%40cret@host:19530/db?token=hidden&sslpassword=hidden&collection=photos", caller=""
    )
    assert (address.user, address.password, address.port) == ("ann", "se@cret", 19530)
    for text in (address.shown, repr(address), str(address), f"{address}"):
        assert "cret" not in text
        assert "hidden" not in text
        assert "collection=photos" in text
    assert shown_address("photos.dh") == "photos.dh"
    with pytest.raises(InputError, match="a path or a URL"):
        shown_address(3)


@pytest.mark.parametrize("timeout", [0, -1, "1", float("nan")])
def test_a_timeout_is_a_positive_number(timeout):
    with pytest.raises(ParameterError, match="timeout"):
        dh.create("memory://", n_bits=8, modalities=("x",), timeout=timeout)


def test_every_capability_is_had_by_a_store_so_that_errors_can_name_one():
    for field in fields(Capabilities):
        assert any(getattr(known, field.name) for known in ENGINES.values())


def test_a_call_that_a_store_cannot_do_names_stores_that_can():
    store = MemoryStore(n_bits=8, modalities=("x",))
    for call in (
        lambda: store.search_words(["a"]),
        lambda: store.index_words("caption"),
        lambda: store.refit(None, {}),
        lambda: store.extend(None),
    ):
        with pytest.raises(UnsupportedCallError, match=r"MemoryStore at memory://.*file \(.dh\)"):
            call()


def test_descriptions_of_something_else_and_of_later_releases_are_refused():
    text = StoreDescription(8, ("x", "y", "all"), "all", "ab", "id").to_json()
    assert StoreDescription.from_json(text, name="it").model_modalities == ("x", "y")
    assert "words" not in text, "a store without captions has the description of earlier releases"
    with pytest.raises(NewerCollectionError, match="Install a newer release"):
        StoreDescription.from_json(text.replace('"format": 1', '"format": 99'), name="it")
    for change in (
        ("diffhash collection", "another program"),
        ('"n_bits": 8', '"n_bits": 0'),
        ('"n_bits": 8', '"n_bits": "8"'),
        ('["x", "y", "all"]', "[]"),
        ('["x", "y", "all"]', '"x"'),
        ('["x", "y", "all"]', '["x", "x", "all"]'),
        ('"fused": "all"', '"fused": "z"'),
        ('"fused": "all"', '"fused": "all", "words": "caption"'),
        ('"fused": "all"', '"fused": "all", "words": [3]'),
        ("{", "["),
    ):
        assert change[0] in text
        with pytest.raises(CollectionFileError, match="it is not a collection"):
            StoreDescription.from_json(text.replace(*change), name="it")


def test_a_model_with_another_checksum_is_not_loaded(small_data, small_pairs):
    hasher = dh.DiffHash(n_bits=8).fit(small_data.train.views, small_pairs)
    data = hasher.model_.to_bytes()
    with pytest.raises(CollectionFileError, match="checksum is wrong"):
        StoreDescription(8, ("x", "y"), None, "00", "id").load(data, name="it")
