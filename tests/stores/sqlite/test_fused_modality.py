"""Fused codes as a modality of a collection, and queries of several modalities."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import CollectionFileError, InputError, NotFittedError, ParameterError
from diffhash.featurizers import TfidfFeatures

from .helpers import forge

N_BITS = 8


@pytest.fixture(scope="module")
def three_views():
    """Three views of 60 objects in 4 classes."""
    rng = np.random.default_rng(2)
    labels = np.arange(60) % 4
    return {
        m: 2 * rng.normal(size=(4, n))[labels] + rng.normal(size=(60, n))
        for m, n in {"image": 9, "text": 7, "speech": 5}.items()
    }


@pytest.fixture(scope="module")
def calibrated(three_views):
    hasher = dh.DiffHash(n_bits=N_BITS, whiten=True, rotate=True)
    return hasher.fit(three_views, dh.Pairs.aligned(60), calibrate=True)


@pytest.fixture
def fused(path, calibrated):
    with dh.Collection.create(path, calibrated, fused="object") as made:
        yield made


def stored(collection, modality="object"):
    return {item.id: item.codes[modality] for block in collection.iterate(modality) for item in block}


def test_objects_are_stored_by_the_fused_code_of_all_their_views(fused, calibrated, three_views):
    ids = fused.add(three_views, payloads=[{"n": n} for n in range(60)])

    expected, _ = calibrated.encode_fused(three_views)
    assert ids == list(range(60))
    np.testing.assert_array_equal(np.array([stored(fused)[i] for i in ids]), expected)
    assert fused.get(3)[0].payload == {"n": 3}
    assert fused.modalities == ("image", "text", "speech", "object")
    assert fused.stats().fused_modality == "object"


def test_ids_relate_rows_of_views_with_gaps_and_several_rows(fused, calibrated, three_views):
    views = {"image": three_views["image"][:3], "text": three_views["text"][:4]}
    ids = {"image": ["a", "b", "c"], "text": ["b", "b", "d", "a"]}

    found = fused.upsert(views, ids=ids, payloads=[{"of": i} for i in "abcd"])

    expected = calibrated.encode_fused(views, ids=ids)
    assert found == expected.ids.tolist() == list("abcd")
    for id_, code in zip(expected.ids, expected.codes, strict=True):
        np.testing.assert_array_equal(stored(fused)[id_], code)
        assert fused.get(str(id_))[0].payload == {"of": id_}


def test_a_query_may_have_several_modalities(fused, calibrated, three_views):
    fused.add(three_views)
    both = {m: three_views[m][:5] for m in ("image", "text")}

    hits = fused.search(both, into="object", k=4)

    expected = fused.search_codes(calibrated.encode_fused(both).codes, into="object", k=4)
    assert hits == expected
    one = fused.search({m: rows[0] for m, rows in both.items()}, into="object", k=4)
    assert one == expected[:1]


def test_a_collection_without_fused_codes_takes_fused_queries(path, calibrated, three_views):
    with dh.Collection.create(path, calibrated) as collection:
        assert collection.fused_modality is None
        collection.add(three_views["speech"], modality="speech")
        (hits,) = collection.search({m: three_views[m][7] for m in ("image", "text")}, into="speech", k=1)
        assert hits[0].modality == "speech"
        with pytest.raises(InputError, match=r"fused=\"object\""):
            collection.add(three_views)


def test_raw_objects_of_several_modalities(tmp_path):
    names = [
        f"{colour} {thing}" for colour in ("red", "green", "blue") for thing in ("sun", "sea", "tree", "car")
    ]
    texts, notes = names * 3, [f"a {name}" for name in names] * 3
    words = {"title": TfidfFeatures().fit(texts), "note": TfidfFeatures().fit(notes)}
    views = {"title": words["title"].transform(texts), "note": words["note"].transform(notes)}
    hasher = dh.DiffHash(n_bits=5, whiten=True, rotate=True)
    hasher.fit(views, dh.Pairs.from_ids(dict.fromkeys(views, texts)), calibrate=True).set_featurizers(words)
    with dh.Collection.create(tmp_path / "words.dh", hasher, fused="both") as collection:
        collection.add_raw({"title": texts[:12], "note": notes[:12]})
        raw = collection.search_raw({"title": ["red sun"], "note": ["a red sun"]}, into="both", k=3)
        assert raw == collection.search(
            {m: words[m].transform([t]) for m, t in {"title": "red sun", "note": "a red sun"}.items()},
            into="both",
            k=3,
        )
        assert raw[0][0].distance == 0


def test_the_file_keeps_the_modality_and_verify_knows_it(fused, path, three_views):
    fused.add(three_views)
    fused.add(three_views["text"], modality="text", ids=range(60))
    fused.delete([1], modality="object")
    before = stored(fused)
    fused.compact()
    fused.close()
    with dh.Collection.open(path, writable=True) as collection:
        assert collection.fused_modality == "object"
        assert collection.verify().problems == ()
        assert before.keys() == stored(collection).keys()
        collection.add({"speech": three_views["speech"][:1]}, ids=[1])
        # One modality: the code is that of the modality.
        alone = collection.model.encode(three_views["speech"][:1], modality="speech")
        np.testing.assert_array_equal(stored(collection)[1], alone[0])


def test_a_refit_encodes_fused_codes_again(fused, calibrated, three_views):
    fused.add({m: rows[:20] for m, rows in three_views.items()})
    fused.add(three_views["image"][:20], modality="image", ids=range(20))
    longer = dh.DiffHash(n_bits=2 * N_BITS, whiten=True, rotate=True)
    longer.fit(three_views, dh.Pairs.aligned(60), calibrate=True)
    shuffled = np.random.default_rng(0).permutation(20)
    features = {
        "image": (range(20), three_views["image"][:20]),
        "object": (shuffled.tolist(), {m: rows[shuffled] for m, rows in three_views.items()}),
    }

    fused.refit(longer, features)

    expected, _ = longer.encode_fused({m: rows[:20] for m, rows in three_views.items()})
    np.testing.assert_array_equal(np.array([stored(fused)[i] for i in range(20)]), expected)
    with pytest.raises(NotFittedError, match="calibrated"):
        fused.refit(dh.DiffHash(n_bits=4).fit(three_views, dh.Pairs.aligned(60)), features)
    with pytest.raises(InputError, match="expected a dict of features by modality"):
        fused.refit(longer, {**features, "object": (range(20), three_views["image"][:20])})


def test_what_cannot_be_fused_is_refused(fused, path, calibrated, three_views):
    plain = dh.DiffHash(n_bits=4).fit(three_views, dh.Pairs.aligned(60))
    other = path.with_name("other.dh")
    with pytest.raises(NotFittedError, match="fused codes need a calibrated model"):
        dh.Collection.create(other, plain, fused="object")
    for name in ("image", "", 3):
        with pytest.raises(ParameterError, match=r"Collection\.create: "):
            dh.Collection.create(other, calibrated, fused=name)
    assert not other.exists()
    with pytest.raises(InputError, match="holds fused codes"):
        fused.add(three_views["image"], modality="object")
    with pytest.raises(InputError, match="Leave it out"):
        fused.add(three_views, modality="image")
    with pytest.raises(InputError, match="Leave out modality='text'"):
        fused.search(three_views, modality="text")
    with pytest.raises(InputError, match="60 rows"):
        fused.search({"image": three_views["image"], "text": three_views["text"][:2]})
    with dh.Collection.create(other, plain) as collection, pytest.raises(NotFittedError, match="reliable"):
        collection.search(three_views)
    assert len(fused) == 0


@pytest.mark.parametrize("name", ["'nobody'", "3", "x'00'", "''"])
def test_a_file_that_names_another_fused_modality_is_damaged(fused, path, name):
    fused.close()
    forge(path, f"UPDATE meta SET value = {name} WHERE name = 'fused'")

    with pytest.raises(CollectionFileError, match="fused codes of an unknown modality"):
        dh.Collection.open(path)


def test_verify_reports_fused_codes_that_the_model_cannot_make(fused, path, calibrated, three_views):
    fused.close()
    forge(path, "UPDATE meta SET value = 'text' WHERE name = 'fused'")

    with dh.Collection.open(path) as collection:
        assert "the modalities of the model differ" in collection.verify().problems[0]
