"""TF-IDF of words and character n-grams."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

from diffhash.errors import InputError, NotFittedError, ParameterError
from diffhash.featurizers import TfidfFeatures

TEXTS = ["LATIN SMALL LETTER A", "LATIN CAPITAL LETTER A", "BLACK STAR", "WHITE STAR STAR"]


def test_words_equal_scikit_learns_vectorizer():
    ours = TfidfFeatures().fit(TEXTS)
    theirs = TfidfVectorizer(token_pattern=r"\w+").fit(TEXTS)

    assert ours.words_ == list(theirs.get_feature_names_out())
    np.testing.assert_allclose(ours.transform(TEXTS).toarray(), theirs.transform(TEXTS).toarray(), rtol=1e-6)


def test_rows_are_sparse_float32_of_unit_length():
    features = TfidfFeatures(char_ngrams=(2, 3)).fit_transform(TEXTS)

    assert features.format == "csr"
    assert features.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(features.toarray(), axis=1), 1, rtol=1e-6)


def test_unseen_words_are_zeros_and_n_grams_still_match():
    words = TfidfFeatures().fit(TEXTS)
    both = TfidfFeatures(char_ngrams=(3, 3)).fit(TEXTS)

    assert words.transform(["STARS", ""]).nnz == 0
    assert (both.transform(["STARS"]) @ both.transform(TEXTS).T).toarray().argmax() in (2, 3)


def test_rare_words_are_dropped_by_min_count():
    assert TfidfFeatures(min_count=2).fit(TEXTS).words_ == ["a", "latin", "letter", "star"]


def test_words_ngrams_and_weights_are_the_whole_fitted_state():
    """A model file stores lists and arrays only, so nothing else may be needed."""
    fitted = TfidfFeatures(char_ngrams=(2, 2)).fit(TEXTS)

    rebuilt = clone(fitted)
    rebuilt.words_, rebuilt.ngrams_, rebuilt.idf_ = fitted.words_, fitted.ngrams_, fitted.idf_.copy()

    assert (rebuilt.transform(TEXTS) != fitted.transform(TEXTS)).nnz == 0
    assert len(fitted.idf_) == len(fitted.words_) + len(fitted.ngrams_)


def test_no_texts_give_no_rows():
    assert TfidfFeatures().fit(TEXTS).transform([]).shape == (0, 8)


def test_a_single_string_is_not_a_list_of_texts():
    with pytest.raises(InputError, match=r"Write \[text\]"):
        TfidfFeatures().fit("BLACK STAR")


def test_bad_parameters_and_texts_raise_errors_that_name_them():
    with pytest.raises(NotFittedError, match="fit"):
        TfidfFeatures().transform(TEXTS)
    with pytest.raises(InputError, match="no word occurs in 5 or more of the 4 texts"):
        TfidfFeatures(min_count=5).fit(TEXTS)
    with pytest.raises(ParameterError, match="char_ngrams"):
        TfidfFeatures(char_ngrams=(3, 2)).fit(TEXTS)
    with pytest.raises(ParameterError, match="min_count"):
        TfidfFeatures(min_count=0).fit(TEXTS)
    with pytest.raises(InputError, match="str"):
        TfidfFeatures().fit([b"bytes"])


def test_a_word_of_most_texts_says_nothing_beside_an_unknown_one():
    texts = [f"a {thing} photo {n}" for n in range(10) for thing in ("star", "moon")]
    for features in (TfidfFeatures(), TfidfFeatures(char_ngrams=(3, 4))):
        features.fit(texts)
        asked = ["a zebra", "zebra photo", "a zebra star", "a photo", "a", "", "star"]
        assert features.recognizes(asked).tolist() == [False, False, True, True, True, False, True]
        loaded = TfidfFeatures.from_state(*features.state())
        assert loaded.recognizes(asked).tolist() == features.recognizes(asked).tolist()
    assert TfidfFeatures(char_ngrams=(3, 3)).fit(texts).recognizes(["zebra photos"]).tolist() == [False]


@given(st.integers(1, 60), st.lists(st.integers(1, 60), min_size=1, max_size=6))
def test_a_word_of_at_most_half_of_the_texts_or_of_few_texts_always_says_something(n_texts, counts):
    """The number of texts is not in the state, so it is estimated; an estimate must not make a rare word common."""
    counts = [min(count, n_texts) for count in counts]
    texts = [" ".join(f"w{i}" for i, count in enumerate(counts) if n < count) for n in range(n_texts)]
    features = TfidfFeatures().fit(texts)
    for word, count in enumerate(counts):
        if n_texts < 20 or 2 * count <= n_texts:
            assert features.recognizes([f"w{word} zebra"])[0]


def test_weights_of_any_size_are_accepted():
    """A damaged file can have them: a word with a large weight is rare, and one with a small weight is common."""
    features = TfidfFeatures().fit(TEXTS)
    weights = {"a": 1e38, "black": -1e38, "capital": 0, "latin": 5}
    features.idf_ = np.array([weights.get(word, 1) for word in features.words_], dtype=np.float32)

    texts = ["a zebra", "black zebra", "capital zebra", "latin zebra", "star zebra", "black", "zebra"]
    assert features.recognizes(texts).tolist() == [True, False, False, True, False, True, False]
