"""Words of captions, close words, and the fusion of two rankings, against slow references."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffhash.stores.caption_words import caption_of, folded, folded_all, words_of
from diffhash.stores.close_words import WordList, edit_distances, other_forms
from diffhash.stores.rank_fusion import fuse_rankings
from diffhash.stores.word_match import match_words
from tests.reference.word_ranking import edit_distance, fused

letters = st.text("abcé黒", max_size=6)


@given(letters, st.lists(letters, max_size=8))
def test_edit_distances_equal_the_reference(word, others):
    assert edit_distances(word, others).tolist() == [edit_distance(word, other) for other in others]


@given(st.data())
def test_fusion_equals_the_reference(data):
    entries = st.lists(st.integers(0, 12), unique=True, max_size=8)
    by_codes, by_words = data.draw(entries), data.draw(entries)
    captioned = data.draw(st.lists(st.booleans(), min_size=len(by_codes), max_size=len(by_codes)))
    ranks = data.draw(st.lists(st.integers(0, 5), min_size=len(by_words), max_size=len(by_words)))
    shares = data.draw(
        st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=len(by_words), max_size=len(by_words))
    )

    found = fuse_rankings(
        np.array(by_codes, dtype=np.int64),
        np.array(captioned, dtype=bool),
        np.array(by_words, dtype=np.int64),
        np.array(ranks, dtype=np.int64),
        np.array(shares),
    )

    expected = fused(by_codes, captioned, by_words, ranks, shares)
    np.testing.assert_allclose(found.scores, [score for _, score, _, _ in expected])
    # Sums in another order may differ in the last digit, so entries with nearly equal scores may change places.
    assert sorted(found.entries.tolist()) == sorted(entry for entry, *_ in expected)
    scores = {entry: score for entry, score, _, _ in expected}
    np.testing.assert_allclose([scores[entry] for entry in found.entries.tolist()], found.scores)
    sides = {entry: (codes, words) for entry, _, codes, words in expected}
    assert [sides[e] for e in found.entries.tolist()] == list(
        zip(found.by_codes.tolist(), found.by_words.tolist(), strict=True)
    )


@given(st.text(max_size=30))
def test_words_contain_no_sign_of_a_query_language_and_folding_them_again_changes_nothing(text):
    words = words_of(text)
    assert not set('"*^:(){}+-. ,\0\n') & set("".join(words))
    assert all(0 < len(word) <= 64 for word in words)
    assert words_of(" ".join(words)) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ünïcödé ÇA", ["unicode", "ca"]),
        ("snake_case and Santa's", ["snake", "case", "and", "santa", "s"]),
        ("東京 tower", ["東", "京", "tower"]),
        ("cat 😀", ["cat", "😀"]),
        ("İstanbul", ["istanbul"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ｱｲ アイ ㋀", ["ア", "イ", "ア", "イ", "1", "月"]),
        ("ΟΔΟΣ οδός", ["οδοσ", "οδοσ"]),
        ("x" * 100, ["x" * 64]),
        ("\ud800 broken", ["broken"]),
        ("", []),
    ],
)
def test_words_of_texts(text, words):
    assert words_of(text) == words


def test_captions_are_strings_and_lists_of_strings():
    payload = {"caption": "a", "captions": ["a", "b", 3, None], "n": 4}
    assert caption_of(payload, ["captions", "caption", "n", "missing"]) == "a\nb"


@pytest.mark.parametrize(
    ("word", "other"),
    [
        *(("frogs", "frog"), ("frog", "frogs"), ("boxes", "box"), ("box", "boxes"), ("cherries", "cherry")),
        *(
            ("cherry", "cherries"),
            ("leaves", "leaf"),
            ("wolf", "wolves"),
            ("knife", "knives"),
            ("mice", "mouse"),
        ),
        *(("snowmen", "snowman"), ("child", "children"), ("feet", "foot")),
    ],
)
def test_other_forms_of_a_word(word, other):
    assert other in other_forms(word)


def test_close_words_prefer_the_first_letter_and_then_the_frequent_one():
    words = WordList(["boat", "coat", "chat", "cat", "elephant"], [9, 1, 2, 5, 1])
    assert words.close_to("cxat") == ["chat", "coat"]
    assert words.close_to("xoat") == ["boat", "coat"]
    assert words.close_to("cot") == ["coat"], "other words of three letters are rarely meant"
    assert words.close_to("elefant") == []
    assert words.close_to("elephnat") == ["elephant"]
    assert words.close_to("elepfants") == ["elephant"], "two changes are allowed in a long word"
    assert words.close_to("ca") == []
    assert WordList([], []).close_to("cat") == []


def test_a_rare_word_counts_more_than_a_frequent_one():
    counts = {"a": 90, "red": 10, "apple": 2}
    query = looked_up("a red apple", 100, counts)
    shares = [query.share(text) for text in ("an apple", "red house", "a house", "a red apple", "zebra")]
    assert shares[3] == 1
    assert shares == sorted(shares, reverse=True) or shares[0] > shares[1] > shares[2] > shares[4] == 0


def looked_up(text, n_captions, counts, close=(), count_any=None):
    words = WordList(list(close), [counts[word] for word in close])
    return match_words(
        text, n_captions, lambda asked: {w: counts[w] for w in asked if w in counts}, count_any, lambda: words
    )


def test_a_word_of_more_than_half_of_the_captions_is_no_match_beside_an_unknown_one():
    query = looked_up("a zebra", 20, {"a": 11})
    assert (query.match.common, query.match.missing) == (("a",), ("zebra",))
    assert not query.match.found
    assert not query.groups
    assert looked_up("a zebra", 20, {"a": 10}).match.found, "half of the captions"
    assert looked_up("a zebra", 19, {"a": 19}).match.found, "too few captions to tell"


@pytest.mark.parametrize(("n_with_any", "is_common"), [(10, False), (15, False), (16, True), (20, True)])
@pytest.mark.parametrize(("text", "second"), [("star", "stars"), ("stars", "stars"), ("staq", "stat")])
def test_a_caption_with_two_words_that_match_counts_once(text, second, n_with_any, is_common):
    counts, asked = {"star": 10, second: 10}, []

    def count_any(words):
        asked.append(set(words))
        return n_with_any

    query = looked_up(f"{text} zebra", 30, counts, close=["star", second], count_any=count_any)

    assert asked == [{"star", second}]
    assert bool(query.match.common) == is_common


@pytest.mark.parametrize(("counts", "is_common"), [((10, 5), False), ((16, 16), True)])
def test_captions_are_not_counted_if_the_counts_of_the_words_tell(counts, is_common):
    """``count_any`` is None, so a call of it would fail."""
    query = looked_up("star zebra", 30, dict(zip(("star", "stars"), counts, strict=True)))
    assert bool(query.match.common) == is_common


def test_common_words_count_if_the_query_has_no_others():
    query = looked_up("a photo", 30, {"a": 30, "photo": 29})
    assert query.match.found
    assert query.telling == (True, True)
    query = looked_up("a phto", 30, {"a": 30, "photo": 29}, close=["photo"])
    assert query.match.found, "the second word is replaced"
    assert query.match.common == ("a", "phto")


def test_only_words_that_are_not_common_tell_captions_apart():
    query = looked_up("a red zebra", 30, {"a": 30, "red": 4})
    assert query.match.found
    assert [(list(group), tells) for group, tells in zip(query.groups, query.telling, strict=True)] == [
        (["a"], False),
        (["red"], True),
    ]


@given(
    st.lists(
        st.text(alphabet=st.sampled_from("aB é黒\0\n_'7") | st.characters(codec="utf-8"), max_size=80),
        max_size=5,
    )
)
def test_many_captions_are_folded_like_single_ones(texts):
    assert folded_all(texts) == [folded(text) for text in texts]


def test_long_words_and_captions_without_words_are_folded_alike():
    texts = ["x" * 100 + " y", "", " ", "?!", "a\0b", "É" * 70, "plain"]

    assert folded_all(texts) == [folded(text) for text in texts]
    assert folded_all([]) == []
    assert folded_all(iter(["Two", "Three"])) == ["two", "three"]
