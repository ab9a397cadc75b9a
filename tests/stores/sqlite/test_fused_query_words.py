"""A picture with words as one query: the words are also matched with captions."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import InputError
from diffhash.featurizers import HogFeatures, TfidfFeatures

THINGS = ["apple", "frog", "car", "house"]


@pytest.fixture(scope="module")
def pictures():
    """Eighty pictures: stripes of four directions with noise."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:16, :16]
    stripes = [np.sin(x), np.sin(y), np.sin(x + y), np.sin(x - y)]
    return [
        np.clip(127 + 80 * stripes[i % 4] + 20 * rng.normal(size=(16, 16)), 0, 255).astype(np.uint8)
        for i in range(80)
    ]


@pytest.fixture(scope="module")
def model(pictures):
    texts = [f"a {THINGS[i % 4]}" for i in range(80)]
    image, text = HogFeatures(size=16), TfidfFeatures().fit(texts)
    views = {"image": image.transform(pictures), "text": text.transform(texts).toarray()}
    hasher = dh.DiffHash(n_bits=8, rotate=True).fit(views, dh.Pairs.aligned(80), calibrate=True)
    return hasher.model_.with_featurizers({"image": image, "text": text})


@pytest.fixture
def collection(tmp_path, model, pictures):
    """The first forty pictures; every tenth caption has a word that the model does not know."""
    with dh.Collection.create(tmp_path / "c.dh", model, words="caption") as made:
        payloads = [{"caption": f"a {'striped' if i % 10 == 0 else THINGS[i % 4]}"} for i in range(40)]
        made.add_raw(pictures[:40], modality="image", payloads=payloads)
        yield made


def captions(hits):
    return [hit.payload["caption"] for hit in hits]


def test_words_of_a_fused_query_find_captions(collection, pictures):
    query = {"image": [pictures[41]], "text": ["striped"]}

    (hits,) = collection.search_raw(query, into="image", k=40)
    (by_codes,) = collection.search_raw(query, into="image", k=40, words=False)

    assert set(captions(hits[:4])) == {"a striped"}
    assert {hit.found_by for hit in hits[:4]} == {"both"}
    assert {hit.found_by for hit in by_codes} == {"codes"}
    assert {hit.id: hit.distance for hit in hits} == {hit.id: hit.distance for hit in by_codes}


def test_a_text_that_is_not_known_takes_no_part_in_the_code(collection, model, pictures):
    """The second query has a known word, and the first one is made from its picture alone."""
    query = {"text": ["striped", "car"], "image": pictures[41:43]}

    found = collection.search_raw(query, into="image", k=40, words=False)

    image = model.featurize(pictures[41:43], modality="image")
    text = model.featurize(["striped", "car"], modality="text")
    alone = collection.search(image[:1], modality="image", into="image", k=40, rank="hamming")[0]
    both = collection.search({"image": image[1:], "text": text[1:]}, into="image", k=40)[0]
    assert [[(hit.id, hit.distance) for hit in hits] for hits in found] == [
        [(hit.id, hit.distance) for hit in hits] for hits in (alone, both)
    ]


def test_an_unknown_text_alone_in_a_dict_is_answered_by_words(collection):
    (hits,) = collection.search_raw({"text": ["striped"]}, into="image", k=4)

    assert set(captions(hits)) == {"a striped"}


def test_pictures_by_name_are_not_words(collection, pictures, tmp_path):
    import PIL.Image

    PIL.Image.fromarray(pictures[41]).save(tmp_path / "a frog.png")

    (hits,) = collection.search_raw({"image": [str(tmp_path / "a frog.png")]}, into="image", k=40)

    assert {hit.found_by for hit in hits} == {"codes"}


def test_words_without_a_text_are_refused(collection, pictures):
    with pytest.raises(InputError, match="words=True needs queries that are texts"):
        collection.search_raw({"image": pictures[:1]}, into="image", words=True)


def test_views_of_different_lengths_are_refused(collection, pictures):
    with pytest.raises(InputError):
        collection.search_raw({"image": pictures[:2], "text": ["striped"]}, into="image")


def test_codes_decide_between_captions_that_match_equally_well(collection, pictures):
    """All captions are two words long. Of those with the word, the ones like the picture come first."""
    query = {"image": [pictures[42]], "text": ["a"]}

    (hits,) = collection.search_raw(query, into="image", k=40)

    assert {hit.found_by for hit in hits} == {"both"}
    assert [hit.distance for hit in hits] == sorted(hit.distance for hit in hits)
