"""A collection takes over a model with one more modality; nothing is encoded again."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import NoModelError, ParameterError, ReadOnlyCollectionError


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(120, 6))
    return {m: hidden @ rng.normal(size=(6, d)) for m, d in {"image": 8, "text": 5, "image 2": 7}.items()}


@pytest.fixture(scope="module")
def hasher(views):
    known = {m: views[m] for m in ("image", "text")}
    return dh.DiffHash(n_bits=5).fit(known, dh.Pairs.aligned(120))


@pytest.fixture(scope="module")
def extended(hasher, views):
    return hasher.extend(views, dh.Pairs.aligned(120), modality="image 2", encodes_as="image")


@pytest.fixture
def collection(path, hasher, views):
    with dh.Collection.create(path, hasher) as made:
        made.add(views["image"][:50], modality="image", payloads=[{"n": n} for n in range(50)])
        yield made


def content(collection):
    return [
        (item.id, {m: code.tobytes() for m, code in item.codes.items()}, item.payload)
        for block in collection.iterate()
        for item in block
    ]


def test_stored_codes_stay_and_a_new_encoder_joins_them(path, collection, extended, views):
    before = content(collection)
    reader = dh.Collection.open(path)

    collection.extend(extended)
    assert content(collection) == before
    ids = collection.add(views["image 2"][50:60], modality="image 2")
    assert [item.modalities for item in collection.get(ids)] == [("image",)] * 10
    np.testing.assert_array_equal(
        np.stack([item.codes["image"] for item in collection.get(ids)]),
        extended.encode(views["image 2"][50:60], modality="image 2"),
    )
    assert content(reader)[:50] == before
    assert len(reader) == 60
    for opened in (reader, dh.Collection.open(path)):
        assert opened.modalities == ("image", "text", "image 2")
        assert opened.verify().problems == ()
        (hits,) = opened.search(views["image 2"][3], modality="image 2", into="image", k=60)
        (same,) = opened.search(views["image 2"][3], modality="image 2", into="image 2", k=60)
        assert len(hits) == 60
        assert hits == same
        opened.close()


def test_a_modality_of_its_own_gets_codes_of_its_own(collection, hasher, views):
    speech = {"image": views["image"], "speech": views["image 2"]}
    collection.extend(hasher.extend(speech, dh.Pairs.aligned(120), modality="speech"))
    collection.add(views["image 2"][:50], modality="speech", ids=range(50))
    assert collection.stats().n_codes == {"image": 50, "text": 0, "speech": 50}
    assert len(collection) == 50


def test_other_models_are_refused_and_nothing_changes(collection, hasher, extended, views):
    before, modalities = content(collection), collection.modalities
    other = dh.DiffHash(n_bits=5, gamma=7.0).fit(views, dh.Pairs.aligned(120))
    fewer = dh.DiffHash(n_bits=3).fit({"image": views["image"]}, dh.Pairs.from_labels(np.arange(120) // 2))
    for model, message in ((other, "other codes"), (fewer, "lacks 'text'"), (hasher, "no other modalities")):
        with pytest.raises(ParameterError, match=message):
            collection.extend(model)
    assert (content(collection), collection.modalities) == (before, modalities)
    collection.extend(extended)
    with pytest.raises(ParameterError, match="no other modalities"):
        collection.extend(extended)


def test_a_reader_and_a_collection_without_a_model_cannot_be_extended(path, tmp_path, collection, extended):
    collection.close()
    with dh.Collection.open(path) as reader, pytest.raises(ReadOnlyCollectionError):
        reader.extend(extended)
    with (
        dh.Collection.create(tmp_path / "codes.dh", n_bits=5, modalities=("image", "text")) as bare,
        pytest.raises(NoModelError),
    ):
        bare.extend(extended)
