"""The page about errors shows the messages that are really printed."""

from __future__ import annotations

import re
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pytest

import diffhash as dh
from diffhash.service.settings import ServeSettings

PAGE = Path(__file__).parent.parent / "docs" / "howto" / "troubleshooting.md"


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(300, 8))
    return {"a": hidden @ rng.normal(size=(8, 16)), "b": hidden @ rng.normal(size=(8, 12))}


@pytest.fixture(scope="module")
def hasher(views):
    return dh.DiffHash(n_bits=8).fit(views, dh.Pairs.aligned(300))


@pytest.fixture
def collection(tmp_path, monkeypatch, hasher, views):
    """The path of a collection, relative as on the page."""
    monkeypatch.chdir(tmp_path)
    with dh.Collection.create("t.dh", hasher) as created:
        created.add(views["a"], modality="a")
    return Path("t.dh")


def shown(message: str) -> bool:
    """Whether the page has this message in a block."""
    blocks = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return any(line.endswith(message) for block in blocks for line in block.splitlines())


def encode_with_too_few_features(hasher, views):
    hasher.encode(views["b"][:1], modality="a")


def encode_an_unknown_modality(hasher, views):
    hasher.encode(views["b"], modality="image")


def encode_before_fit(hasher, views):
    dh.RefinedHash().encode(views["a"], modality="a")


def fit_views_of_different_lengths(hasher, views):
    dh.DiffHash().fit({"a": views["a"], "b": views["b"][:200]}, dh.Pairs.aligned(300))


def fit_one_object(hasher, views):
    dh.RefinedHash().fit({name: X[:1] for name, X in views.items()}, dh.Pairs.aligned(1))


def fit_nan(hasher, views):
    damaged = views["a"].copy()
    damaged[7, 3] = np.nan
    dh.DiffHash(n_bits=8).fit({**views, "a": damaged}, dh.Pairs.aligned(300))


def fit_too_many_bits(hasher, views):
    dh.DiffHash(n_bits=64).fit(views, dh.Pairs.aligned(300))


def fit_bits_that_the_pairs_do_not_determine(hasher, views):
    labels = np.arange(300) % 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dh.DiffHash(n_bits=10).fit(views, dh.Pairs.from_labels(labels, labels))


def index_floats(hasher, views):
    dh.HammingIndex(np.zeros((3, 8)))


def search_with_codes_of_another_length(hasher, views):
    dh.HammingIndex(np.zeros((3, 8), dtype=np.uint8)).search(np.zeros((1, 4), dtype=np.uint8), k=1)


def fuse_without_calibration(hasher, views):
    hasher.encode_fused(views)


def load_a_missing_model(hasher, views):
    dh.load("no.dhm")


def listen_without_a_token(hasher, views):
    ServeSettings(host="0.0.0.0")


def listen_with_a_short_token(hasher, views):
    ServeSettings(host="0.0.0.0", token="abc")


@pytest.mark.parametrize(
    "provoke",
    [
        encode_with_too_few_features,
        encode_an_unknown_modality,
        encode_before_fit,
        fit_views_of_different_lengths,
        fit_one_object,
        fit_nan,
        fit_too_many_bits,
        fit_bits_that_the_pairs_do_not_determine,
        index_floats,
        search_with_codes_of_another_length,
        fuse_without_calibration,
        load_a_missing_model,
        listen_without_a_token,
        listen_with_a_short_token,
    ],
    ids=lambda provoke: provoke.__name__,
)
def test_the_page_has_the_message(provoke, hasher, views):
    with pytest.raises((dh.errors.DiffhashError, dh.errors.DiffhashWarning)) as caught:
        provoke(hasher, views)

    assert shown(str(caught.value)), str(caught.value)


def open_twice_for_writing(path):
    with dh.Collection.open(path, writable=True):
        dh.Collection.open(path, writable=True)


def add_to_a_collection_opened_for_reading(path):
    with dh.Collection.open(path) as collection:
        collection.add(np.zeros((1, 16)), modality="a")


def add_an_id_twice(path):
    with dh.Collection.open(path, writable=True) as collection:
        collection.add(np.ones((1, 16)), modality="a", ids=[0])


def create_what_exists(path):
    dh.Collection.create(path, n_bits=8, modalities=("a",))


def open_what_does_not_exist(path):
    dh.Collection.open("no.dh")


def open_text(path):
    Path("text.dh").write_text("hello")
    dh.Collection.open("text.dh")


def open_a_newer_format(path):
    path.rename("new.dh")
    connection = sqlite3.connect("new.dh")
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    dh.Collection.open("new.dh")


def load_a_collection_as_a_model(path):
    dh.load(path)


def load_a_changed_model(path):
    with dh.Collection.open(path) as collection:
        collection.hasher.save("bad.dhm")
    content = bytearray(Path("bad.dhm").read_bytes())
    content[-5] ^= 255
    Path("bad.dhm").write_bytes(content)
    dh.load("bad.dhm")


def search_raw_without_a_featurizer(path):
    with dh.Collection.open(path) as collection:
        collection.search_raw(["a"], modality="a")


def promise_without_calibration(path):
    with dh.Collection.open(path) as collection:
        collection.search(np.zeros((1, 12)), modality="b", max_false_matches=0.5)


def filter_with_an_unknown_condition(path):
    with dh.Collection.open(path) as collection:
        collection.search(np.zeros((1, 12)), modality="b", where={"year": {"above": 1990}})


@pytest.mark.parametrize(
    "provoke",
    [
        open_twice_for_writing,
        add_to_a_collection_opened_for_reading,
        add_an_id_twice,
        create_what_exists,
        open_what_does_not_exist,
        open_text,
        open_a_newer_format,
        load_a_collection_as_a_model,
        load_a_changed_model,
        search_raw_without_a_featurizer,
        promise_without_calibration,
        filter_with_an_unknown_condition,
    ],
    ids=lambda provoke: provoke.__name__,
)
def test_the_page_has_the_message_of_a_file(provoke, collection):
    with pytest.raises(dh.errors.DiffhashError) as caught:
        provoke(collection)

    assert shown(str(caught.value)), str(caught.value)


def test_a_message_that_the_page_lacks_is_noticed():
    assert not shown("DiffHash.encode: this message is not on the page.")
