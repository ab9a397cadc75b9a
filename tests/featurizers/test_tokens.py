"""Words and character n-grams equal those of scikit-learn's CountVectorizer, for any text."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from diffhash.featurizers.tokens import char_ngram_tokenizer, split_words

ODD_TEXTS = [
    "",
    " ",
    "a",
    "cafe\u0301 café",  # the same word with a combining accent and with a composed letter
    "e\u0301\u0323\u200d\u0301",
    "Straße STRASSE ẞ",
    "İstanbul ıI \u0130\u0307",  # lower case of the Turkish dotted I has two characters
    "ΣΟΦΟΣ ΣΑΣ",  # the lower case of a final sigma depends on its place
    "हिन्दी किताब",  # vowel signs and viramas are not \w
    "ไทยภาษา 한국어 日本語",
    "👩‍👩‍👧 ❤️ a👍b 🇩🇪",
    "٣٤٥ १२३ ²³ ½ Ⅷ ①",
    "snake_case __init__ don't e-mail",
    "tab\tnew\nline\r\x0b\x0c\x1c\x1f\x85\xa0\u2028\u3000end",
    "\u200bzero\u200bwidth\ufeff",
    "lone \ud800 surrogate\udfff",
    "\x00null\x00",
    "ﬁ ŉ Ǆ ᾳ",
]
texts = st.one_of(
    st.text(),
    st.text(st.characters(codec="utf-8")),
    st.text(
        st.sampled_from("aAßİıΣσς\u0301\u094d\u093fक٣²_'- \t\n\x85\xa0\u2028\u200d👍\ud800"), max_size=30
    ),
)
lengths = st.tuples(st.integers(1, 6), st.integers(1, 6)).map(lambda pair: (min(pair), max(pair)))


def with_examples(test):
    for text in ODD_TEXTS:
        test = example(text)(test)
    return test


@with_examples
@given(texts)
def test_words_equal_scikit_learns(text):
    analyse = CountVectorizer(token_pattern=r"\w+").build_analyzer()

    assert split_words(text) == analyse(text)


@pytest.mark.parametrize("text", ODD_TEXTS)
@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 3), (2, 2), (3, 5), (7, 9)])
def test_ngrams_of_odd_texts_equal_scikit_learns(text, ngram_range):
    analyse = CountVectorizer(analyzer="char_wb", ngram_range=ngram_range).build_analyzer()

    assert char_ngram_tokenizer(*ngram_range)(text) == analyse(text)


@given(texts, lengths)
def test_ngrams_equal_scikit_learns(text, ngram_range):
    analyse = CountVectorizer(analyzer="char_wb", ngram_range=ngram_range).build_analyzer()

    assert char_ngram_tokenizer(*ngram_range)(text) == analyse(text)


def test_every_character_is_split_as_scikit_learn_splits_it():
    """One text holds every code point between two letters: white space, case and word characters of all of Unicode."""
    text = "x".join(map(chr, range(0x110000)))
    words = CountVectorizer(token_pattern=r"\w+").build_analyzer()
    ngrams = CountVectorizer(analyzer="char_wb", ngram_range=(2, 2)).build_analyzer()

    assert split_words(text) == words(text)
    assert char_ngram_tokenizer(2, 2)(text) == ngrams(text)
