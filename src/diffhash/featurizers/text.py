"""Features of short texts: weighted counts of words and, if wanted, of character n-grams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer

from ..errors import InputError, NotFittedError, ParameterError
from ..types import FloatArray

__all__ = ["TfidfFeatures"]


class TfidfFeatures(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    r"""TF-IDF of words and character n-grams, of unit length, as a sparse array.

    Parameters
    ----------
    min_count : int
        Keep words (and n-grams) that occur in at least this many of the training texts.
    char_ngrams : (int, int) or None
        Shortest and longest n-gram of characters within words, ``None`` for words only.
        N-grams let a misspelt or unseen word share features with known ones.
    char_weight : float
        Length of the n-grams' part; that of the words' part is 1.

    Attributes
    ----------
    words_, ngrams_ : list of str
        The vocabulary, in the order of the columns: words first.
    idf_ : float32 array of shape (n_features,)
        ``log((1 + n) / (1 + df)) + 1`` of each column, ``df`` of the ``n`` training texts
        holding it.

    Notes
    -----
    Words are runs of letters, digits and underscores, in lower case; single letters count.
    Counts are scikit-learn's; the fitted state is two lists of strings and one array. A text
    with no known word is a row of zeros, not an error.

    Examples
    --------
    >>> features = TfidfFeatures().fit(["white star", "black star"])
    >>> features.words_
    ['black', 'star', 'white']
    >>> features.transform(["STAR", "white moon", "sun"]).toarray().round(2)
    array([[0., 1., 0.],
           [0., 0., 1.],
           [0., 0., 0.]], dtype=float32)
    """

    def __init__(
        self,
        *,
        min_count: int = 1,
        char_ngrams: tuple[int, int] | None = None,
        char_weight: float = 1.0,
    ) -> None:
        self.min_count = min_count
        self.char_ngrams = char_ngrams
        self.char_weight = char_weight

    def fit(self, texts: Iterable[str], y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Learn the vocabulary and how rare each of its entries is from training texts."""
        texts = _as_texts(texts, "TfidfFeatures.fit")
        if self.min_count < 1:
            raise ParameterError(f"TfidfFeatures: min_count must be at least 1, got {self.min_count}.")
        words, word_counts = _vocabulary(_word_counter(), texts, self.min_count)
        ngrams, ngram_counts = list[str](), np.empty(0)
        if self.char_ngrams is not None:
            ngrams, ngram_counts = _vocabulary(_ngram_counter(self.char_ngrams), texts, self.min_count)
        if not words and not ngrams:
            raise InputError(
                f"TfidfFeatures.fit: no word occurs in {self.min_count} or more of the {len(texts)} texts. "
                "Lower min_count, or look at the texts."
            )
        held_by = np.concatenate([word_counts, ngram_counts])
        self.words_: list[str] = words
        self.ngrams_: list[str] = ngrams
        self.idf_: FloatArray = (np.log((1 + len(texts)) / (1 + held_by)) + 1).astype(np.float32)
        return self

    def transform(self, texts: Iterable[str]) -> sparse.csr_array:
        """Turn ``n`` texts into float32 features (n, n_features) with rows of unit length."""
        if not hasattr(self, "idf_"):
            raise NotFittedError("TfidfFeatures.transform: call fit on training texts first.")
        texts = _as_texts(texts, "TfidfFeatures.transform")
        split = len(self.words_)
        parts = [_weighted(_word_counter(), texts, self.words_, self.idf_[:split], 1.0)]
        if self.char_ngrams is not None:
            counter = _ngram_counter(self.char_ngrams)
            parts.append(_weighted(counter, texts, self.ngrams_, self.idf_[split:], self.char_weight))
        return _unit_rows(sparse.csr_array(sparse.hstack(parts, format="csr")))

    def fit_transform(self, texts: Iterable[str], y: object = None) -> sparse.csr_array:
        """Fit, then transform the same texts."""
        texts = _as_texts(texts, "TfidfFeatures.fit_transform")
        return self.fit(texts, y).transform(texts)


def _as_texts(texts: Iterable[str], caller: str) -> list[str]:
    if isinstance(texts, str):
        raise InputError(f"{caller}: expected a list of texts, got one string. Write [text].")
    listed = list(texts)
    if not all(isinstance(text, str) for text in listed):
        raise InputError(f"{caller}: every text must be a str.")
    return listed


def _word_counter() -> CountVectorizer:
    # scikit-learn's own pattern drops words of one letter, such as the A of LATIN LETTER A.
    return CountVectorizer(token_pattern=r"\w+", dtype=np.float32)


def _ngram_counter(lengths: tuple[int, int]) -> CountVectorizer:
    if not 1 <= lengths[0] <= lengths[1]:
        raise ParameterError(
            "TfidfFeatures: char_ngrams must be (shortest, longest) with 1 <= shortest <= longest, "
            f"got {lengths}."
        )
    return CountVectorizer(analyzer="char_wb", ngram_range=tuple(lengths), dtype=np.float32)


def _vocabulary(
    counter: CountVectorizer, texts: list[str], min_count: int
) -> tuple[list[str], NDArray[np.float64]]:
    """Entries in at least ``min_count`` texts, sorted, and the number of texts that hold each."""
    # The analyser alone accepts an empty vocabulary, where CountVectorizer.fit raises.
    held_by = Counter(chain.from_iterable(map(set, map(counter.build_analyzer(), texts))))
    kept = sorted(entry for entry, count in held_by.items() if count >= min_count)
    return kept, np.array([held_by[entry] for entry in kept], dtype=np.float64)


def _weighted(
    counter: CountVectorizer, texts: list[str], vocabulary: list[str], idf: FloatArray, weight: float
) -> sparse.csr_array:
    if not vocabulary or not texts:
        return sparse.csr_array(np.zeros((len(texts), len(vocabulary)), dtype=np.float32))
    counts = sparse.csr_array(counter.set_params(vocabulary=vocabulary).transform(texts))
    counts.data *= idf[counts.indices]
    rows = _unit_rows(counts)
    rows.data *= np.float32(weight)
    return rows


def _unit_rows(values: sparse.csr_array) -> sparse.csr_array:
    """Scale rows to length 1, in place; an empty row stays empty."""
    rows = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
    length = np.sqrt(np.bincount(rows, weights=values.data**2, minlength=values.shape[0]))
    scale = np.divide(1, length, out=np.zeros_like(length), where=length > 0)
    values.data = (values.data * scale[rows]).astype(np.float32)
    return values
