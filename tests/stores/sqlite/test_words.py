"""The word index of a collection: it follows every change, its damage is found, and words and codes work together."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import CollectionError, CollectionFileError, FilterError, InputError, ParameterError
from diffhash.featurizers import TfidfFeatures
from diffhash.stores import Hit
from diffhash.stores.caption_words import words_of
from diffhash.stores.sqlite import scan

from .helpers import codes, sql, to_format_1

CAPTIONS = ["A green frog", "Red apple", "a frog on an apple", "green tree", "Café noir", None]


@pytest.fixture
def captioned(path, hasher):
    with dh.Collection.create(path, hasher, words="caption") as collection:
        payloads = [None if text is None else {"caption": text, "n": n} for n, text in enumerate(CAPTIONS)]
        collection.add_codes(codes(6), modality="x", ids=[-(2**63), 2, 3, 4, 2**63 - 1, 6], payloads=payloads)
        yield collection


def ids(hits):
    return [hit.id for hit in hits]


def test_words_find_captions(captioned):
    assert ids(captioned.search_words(["frog"])[0]) == [-(2**63), 3]
    assert ids(captioned.search_words(["green frogs"])[0])[0] == -(2**63)
    assert captioned.search_words(["CAFE"]) == [
        [Hit(2**63 - 1, None, {"caption": "Café noir", "n": 4}, "x", found_by="words")]
    ]
    assert captioned.search_words(["zebra", "", "AND OR NOT"]) == [[], [], []]
    assert ids(captioned.search_words(["apple"], where={"n": {"ge": 2}})[0]) == [3]
    assert captioned.search_words(["apple"], into="y") == [[]], "these objects have no code there"
    assert len(captioned.search_words(["green"], k=1)[0]) == 1


def test_the_index_follows_every_change(captioned, path):
    captioned.upsert_codes(codes(1), modality="x", ids=[2], payloads=[{"caption": "blue pear"}])
    captioned.upsert_codes(codes(1), modality="x", ids=[3])
    captioned.add_codes(codes(1), modality="y", ids=[4], payloads=[{"other": "nothing"}])
    captioned.delete([-(2**63)])
    captioned.delete([4], modality="x")
    assert ids(captioned.search_words(["apple"])[0]) == [3]
    assert ids(captioned.search_words(["pears"])[0]) == [2]
    assert captioned.search_words(["tree"]) == [[]]
    assert captioned.verify().ok
    captioned.compact()
    assert captioned.verify().ok
    captioned.close()
    with dh.Collection.open(path) as reader:
        assert ids(reader.search_words(["frog"])[0]) == [3]
        assert reader.stats().n_captions == 3
        assert reader.word_fields == ("caption",)


def test_other_fields_can_be_indexed_later(collection, path):
    collection.add_codes(
        codes(3), modality="x", payloads=[{"title": "one frog"}, {"tags": ["frog", "two"]}, {"tags": "two"}]
    )
    with pytest.raises(InputError, match="no word index"):
        collection.search_words(["frog"])
    collection.index_words("title")
    assert ids(collection.search_words(["frog"])[0]) == [0]
    with dh.Collection.open(path) as reader:
        collection.index_words(["title", "tags"])
        assert ids(reader.search_words(["frog"])[0]) == [0, 1]
        assert ids(reader.search_words(["two"])[0]) == [2, 1]
    assert collection.verify().ok
    with pytest.raises(FilterError, match="at least one field"):
        collection.index_words([])
    with pytest.raises(FilterError, match="must be a string"):
        collection.index_words([3])


def test_a_file_without_words_has_no_table_for_them(path, hasher, tmp_path):
    with dh.Collection.create(path, hasher) as collection:
        collection.add_codes(codes(3), modality="x", payloads=[{"caption": "a"}] * 3)
    with dh.Collection.create(tmp_path / "w.dh", hasher, words="caption") as collection:
        collection.add_codes(codes(3), modality="x", payloads=[{"caption": "a"}] * 3)
    assert path.stat().st_size < (tmp_path / "w.dh").stat().st_size


def test_format_1_is_upgraded_before_words_are_indexed(filled, path):
    filled.close()
    to_format_1(path)
    with dh.Collection.open(path, writable=True) as collection:
        with pytest.raises(CollectionError, match=r"upgrade\(\) first"):
            collection.index_words("name")
        collection.upgrade()
        collection.index_words("name")
        assert collection.verify().ok
        assert ids(collection.search_words(["object 7"], into="x")[0])[0] == 7


def test_suggestions(captioned):
    match = captioned.match_words("frogs, graen zebra")
    assert match.unknown == ("frogs", "graen", "zebra")
    assert match.searched_for == {"frogs": ("frog",), "graen": ("green",)}
    assert match.found
    assert not captioned.match_words("zebra").found


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM words_docsize WHERE id = 2",
        "UPDATE words_docsize SET sz = x'05' WHERE id = 2",
        "UPDATE words_data SET block = x'0101' WHERE id = 1",
        "INSERT INTO words (words) VALUES ('delete-all')",
        "INSERT INTO words (rowid, caption) VALUES (77, 'more')",
        "INSERT INTO words (words, rowid, caption) VALUES ('delete', 2, 'red apple')",
        "DELETE FROM words_data WHERE id > 10",
        "UPDATE words_data SET block = zeroblob(length(block)) WHERE id > 10",
        "UPDATE totals SET count = 9 WHERE part = -2",
        "UPDATE meta SET value = '[\"other\"]' WHERE name = 'words'",
        "DELETE FROM meta WHERE name = 'words'",
        "DROP TABLE words",
    ],
)
def test_damage_of_the_index_is_found(captioned, path, damage):
    captioned.close()
    sql(path, damage)
    try:
        with dh.Collection.open(path) as collection:
            assert not collection.verify().ok
            collection.search_words(["apple"])
    except CollectionFileError:
        pass


@pytest.fixture
def pictured(tmp_path):
    """Forty objects with features and captions of two words; the last ten have no caption."""
    rng = np.random.default_rng(0)
    colours, things = ["red", "green", "blue", "white"], ["apple", "frog", "car", "house", "tree"]
    texts = [f"{colours[i % 4]} {things[i % 5]}" for i in range(40)]
    featurizer = TfidfFeatures(char_ngrams=(3, 3), char_weight=0.5).fit(texts)
    text = featurizer.transform(texts).toarray()
    image = text @ rng.normal(size=(text.shape[1], 12)) + 0.3 * rng.normal(size=(40, 12))
    hasher = dh.DiffHash(n_bits=8).fit({"image": image, "text": text}, dh.Pairs.aligned(40))
    model = hasher.model_.with_featurizers({"text": featurizer})
    with dh.Collection.create(tmp_path / "p.dh", model, words="caption") as collection:
        payloads = [{"caption": t, "n": i} if i < 30 else {"n": i} for i, t in enumerate(texts)]
        collection.add(image, modality="image", payloads=payloads)
        yield collection, texts


def test_words_and_codes_together(pictured):
    collection, texts = pictured
    hits = collection.search_raw(["red apple"], modality="text", into="image", k=40)[0]
    whole = [i for i in range(30) if texts[i] == "red apple"]
    assert set(ids(hits[: len(whole)])) == set(whole)
    assert all(hit.found_by == "both" and hit.distance is not None for hit in hits[: len(whole)])
    assert {hit.found_by for hit in hits if "red" in words_of(hit.payload.get("caption", ""))} == {"both"}
    assert {hit.found_by for hit in hits if "caption" not in hit.payload} == {"codes"}
    alone = collection.search_raw(["red apple"], modality="text", into="image", k=40, words=False)[0]
    assert {hit.found_by for hit in alone} == {"codes"}
    distances = {hit.id: hit.distance for hit in alone}
    assert all(distances[hit.id] == hit.distance for hit in hits)


def test_fewer_hits_are_the_first_of_more(pictured):
    collection, _ = pictured
    for text in ("red apple", "frogs", "white", "blue tre"):
        many = collection.search_raw([text], modality="text", into="image", k=30)[0]
        assert collection.search_raw([text], modality="text", into="image", k=7)[0] == many[:7]


def test_captions_that_share_only_a_common_word_are_not_found_by_words(path, hasher):
    things = ["frog", "apple", "car", "house", "tree"]
    with dh.Collection.create(path, hasher, words="caption") as collection:
        payloads = [{"caption": f"a {things[n % 5]}"} for n in range(20)]
        collection.add_codes(codes(20), modality="x", payloads=payloads)
        found = collection.search_words(["a zebra", "a frog", "a"], k=20)
    assert found[0] == []
    assert [hit.payload["caption"] for hit in found[1]] == ["a frog"] * 4
    assert len(found[2]) == 20


@pytest.mark.parametrize(
    ("word", "second"), [("star", "stars"), ("staq", "stat")], ids=["another form", "close words"]
)
def test_a_caption_with_two_words_that_match_counts_once(path, hasher, word, second):
    """Ten captions with both words are a third of thirty, not two thirds."""
    with dh.Collection.create(path, hasher, words="caption") as collection:
        captions = [f"a star of {second}"] * 10 + ["a frog"] * 20
        payloads = [{"caption": caption} for caption in captions]
        collection.add_codes(codes(30), modality="x", ids=range(30), payloads=payloads)
        asked = f"{word} zebra"
        assert collection.match_words(asked).common == ()
        assert sorted(ids(collection.search_words([asked], k=20)[0])) == list(range(10))

        more = [{"caption": "star"}, {"caption": second}]
        collection.add_codes(codes(12), modality="x", ids=range(30, 42), payloads=more * 6)
        assert collection.match_words(asked).common == (word,), "22 of 42 captions"


def test_filters_apply_to_words_and_codes(pictured):
    collection, _ = pictured
    hits = collection.search_raw(["red apple"], modality="text", into="image", k=40, where={"n": {"lt": 20}})[
        0
    ]
    assert len(hits) == 20
    assert all(hit.payload["n"] < 20 for hit in hits)


def test_a_radius_limits_what_codes_find_and_not_what_words_find(pictured):
    collection, texts = pictured
    every = collection.search_raw(["red apple"], modality="text", into="image", k=40)[0]
    radius = sorted(hit.distance for hit in every)[5]
    found = collection.search_raw(["red apple"], modality="text", into="image", k=40, radius=radius)[0]
    matching = {i for i in range(30) if set(texts[i].split()) & {"red", "apple"}}
    assert set(ids(found)) == matching | {hit.id for hit in every if hit.distance <= radius}
    for hit in found:
        near = hit.distance <= radius
        assert hit.found_by == ("words" if not near else "both" if hit.id in matching else "codes")
    assert {"words", "both"} <= {hit.found_by for hit in found}


def test_objects_without_a_caption_do_not_come_first_if_no_caption_has_the_words(pictured):
    collection, _ = pictured
    # The model recognizes the groups of letters, but no caption is close.
    text = "applehouse"
    assert not collection.match_words(text).found
    together = collection.search_raw([text], modality="text", into="image", k=40)[0]
    alone = collection.search_raw([text], modality="text", into="image", k=40, words=False)[0]
    assert together
    assert ids(together) == ids(alone)


def test_captions_that_change_during_a_search_are_searched_again(pictured, monkeypatch):
    collection, _ = pictured
    monkeypatch.setattr(scan, "_SMALL_SCAN", -1)
    whole_scan, changes = scan.Scan.run, []

    def run(self):
        if not changes:
            changes.append("made")
            with dh.Collection.open(collection.path) as reader:
                assert reader.word_fields
            collection.upsert(np.zeros((1, 12)), modality="image", ids=[35], payloads=[{"caption": "zebra"}])
        return whole_scan(self)

    monkeypatch.setattr(scan.Scan, "run", run)
    (hits,) = collection.search_raw(["zebra"], modality="text", into="image")
    assert [(hit.id, hit.found_by) for hit in hits] == [(35, "words")]


def test_bad_texts_are_said_and_an_iterator_is_a_list(captioned, pictured):
    assert ids(captioned.search_words(iter(["frog"]))[0]) == [-(2**63), 3]
    for texts, message in (("frog", "got str"), (["frog", 3], "got one with int"), (3, "got int")):
        with pytest.raises(InputError, match=message):
            captioned.search_words(texts)
    with pytest.raises(InputError, match="expected a text, got int"):
        captioned.match_words(3)
    with pytest.raises(ParameterError, match="words must be True, False or None, got 'yes'"):
        pictured[0].search_raw(["red"], modality="text", words="yes")


def test_neither_words_nor_codes_is_nothing(pictured):
    collection, _ = pictured
    assert collection.search_raw(["zebra", "?!"], modality="text", into="image") == [[], []]
    assert collection.search_raw(["zebra"], modality="text", into="image", words=False) == [[]]


def test_words_must_be_there_if_they_are_asked_for(collection, views, tmp_path, pictured):
    other, _ = pictured
    with dh.Collection.create(tmp_path / "n.dh", other.model) as bare:
        bare.add(np.zeros((2, 12)), modality="image")
        with pytest.raises(InputError, match="no word index"):
            bare.search_raw(["red"], modality="text", words=True)
        assert len(bare.search_raw(["red"], modality="text")[0]) == 2


def test_objects_in_two_modalities_are_found_in_each(pictured):
    collection, texts = pictured
    collection.add_raw(texts[:5], modality="text", ids=range(5))
    hits = collection.search_raw(["red apple"], modality="text", k=60)[0]
    assert [(hit.id, hit.modality) for hit in hits if hit.id == 0] in (
        [(0, "image"), (0, "text")],
        [(0, "text"), (0, "image")],
    )
    assert len({(hit.id, hit.modality) for hit in hits}) == len(hits) == 45


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_index_equals_a_search_of_the_payloads(hasher, tmp_path_factory, data):
    """Any sequence of changes, then every word: exactly the objects whose caption has it."""
    path = tmp_path_factory.mktemp("w") / "w.dh"
    text = st.lists(st.sampled_from(["a", "bb", "Ccc", "é", "x_y", "", "😀", '"q"']), max_size=4).map(
        " ".join
    )
    with dh.Collection.create(path, hasher, words=["t", "u"]) as collection:
        for _ in range(data.draw(st.integers(1, 6))):
            chosen = data.draw(st.lists(st.integers(0, 6), unique=True, min_size=1, max_size=4))
            if data.draw(st.booleans()):
                payloads = [
                    {"t": data.draw(text), "u": data.draw(st.sampled_from([None, 3, "bb", ["a", "z"]]))}
                    for _ in chosen
                ]
                collection.upsert_codes(codes(len(chosen)), modality="x", ids=chosen, payloads=payloads)
            else:
                collection.delete(chosen)
        assert collection.verify().problems == ()
        items = [item for block in collection.iterate() for item in block]
        for word in ("a", "bb", "ccc", "e", "x", "z", "q", "😀"):
            expected = {
                item.id
                for item in items
                if word in words_of(json.dumps(item.payload, ensure_ascii=False))
                and word in words_of(" ".join(_texts(item.payload)))
            }
            exact = {
                hit.id
                for hit in collection.search_words([word], k=50)[0]
                if word in words_of(" ".join(_texts(hit.payload)))
            }
            assert exact == expected


def _texts(payload):
    values = [payload.get("t"), *(payload["u"] if isinstance(payload.get("u"), list) else [payload.get("u")])]
    return [value for value in values if isinstance(value, str)]
