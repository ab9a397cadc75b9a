"""``TfidfFeatures``: weighted counts of words and, optionally, of character n-grams."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError, ModelFileError, NotFittedError, ParameterError
from ..estimator_parameters import ParametersMixin
from ..types import BoolArray, FloatArray
from ..validation import check_count, check_number
from .base import State, check_state_names
from .tokens import Tokenizer, char_ngram_tokenizer, split_words

__all__ = ["TfidfFeatures"]

_NAMES = ("min_count", "char_ngrams", "char_weight")
#: With fewer training texts no word is common: half of them are too few to tell.
_MIN_TEXTS = 20


class TfidfFeatures(ParametersMixin):
    r"""Turns texts into TF-IDF weights of words and character n-grams: sparse rows of unit length.

    Parameters
    ----------
    min_count : int
        Keep words and n-grams that occur in at least this many training texts.
    char_ngrams : (int, int) or None
        Length of the shortest and the longest character n-gram, ``None`` for words only.
        With n-grams, a misspelt or unseen word shares features with known words.
    char_weight : float
        Length of the n-gram part; the word part has length 1.

    Attributes
    ----------
    words_, ngrams_ : list of str
        The vocabulary in the order of the columns, words first.
    idf_ : float32 array of shape (n_features,)
        ``log((1 + n) / (1 + df)) + 1`` for each column, where ``df`` of the ``n`` training texts
        contain the word or n-gram.
    n_features : int
        Number of words and n-grams in the vocabulary.

    Notes
    -----
    Words are runs of letters, digits and underscores, in lower case. Single letters are words too.
    Words and n-grams are those of scikit-learn's ``CountVectorizer``, which is not imported. The fitted state consists
    of two lists of strings and one array. A text without any known word gives a row of zeros, not an error.

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

    kind: ClassVar[str] = "tfidf"
    takes: ClassVar[str] = "text"

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
        """Learn the vocabulary, and how rare each entry is, from training texts."""
        texts = _as_texts(texts, "TfidfFeatures.fit")
        if self.min_count < 1:
            raise ParameterError(f"TfidfFeatures: min_count must be at least 1, got {self.min_count}.")
        words, word_counts = _vocabulary(split_words, texts, self.min_count)
        ngrams, ngram_counts = list[str](), np.empty(0)
        if self.char_ngrams is not None:
            ngrams, ngram_counts = _vocabulary(_ngram_tokenizer(self.char_ngrams), texts, self.min_count)
        if not words and not ngrams:
            raise InputError(
                f"TfidfFeatures.fit: no word occurs in {self.min_count} or more of the {len(texts)} texts. "
                "Lower min_count, or check the texts."
            )
        held_by = np.concatenate([word_counts, ngram_counts])
        self.words_: list[str] = words
        self.ngrams_: list[str] = ngrams
        self.idf_: FloatArray = (np.log((1 + len(texts)) / (1 + held_by)) + 1).astype(np.float32)
        return self

    @property
    def n_features(self) -> int:
        """Number of words and n-grams in the vocabulary."""
        self._check_fitted("TfidfFeatures.n_features")
        return len(self.idf_)

    def transform(self, texts: Iterable[str]) -> sparse.csr_array:
        """Turn ``n`` texts into float32 features of shape (n, n_features), with rows of unit length."""
        self._check_fitted("TfidfFeatures.transform")
        texts = _as_texts(texts, "TfidfFeatures.transform")
        words, ngrams = self._columns()
        split = len(words)
        parts = [_weighted(split_words, texts, words, self.idf_[:split], 1.0)]
        if self.char_ngrams is not None:
            tokenize = _ngram_tokenizer(self.char_ngrams)
            parts.append(_weighted(tokenize, texts, ngrams, self.idf_[split:], self.char_weight))
        return _unit_rows(sparse.csr_array(sparse.hstack(parts, format="csr")))

    def recognizes(self, texts: Iterable[str]) -> BoolArray:
        """Tell which texts the vocabulary says something about.

        It does if it has one of their words, or two thirds of the character n-grams of one of their words.
        For other texts :meth:`transform` gives zeros, or a few n-grams that they share by accident.

        Words and n-grams that are in more than about half of the training texts, such as "a", say nothing: a text with
        an unknown word needs another known one. A text that has only such words is recognized. With fewer than 20
        training texts, or if the weights could be those of so few, no word is that common.

        Examples
        --------
        >>> features = TfidfFeatures(char_ngrams=(3, 3)).fit(["green frog", "red apple"])
        >>> features.recognizes(["frog", "aple", "zebra"])
        array([ True,  True, False])
        """
        self._check_fitted("TfidfFeatures.recognizes")
        known = [self._says(split_words(text)) for text in _as_texts(texts, "TfidfFeatures.recognizes")]
        return np.array(known, dtype=np.bool_)

    def _says(self, text: list[str]) -> bool:
        """Whether the code of a text with these words says something."""
        words, ngrams = self._columns()
        common = self._common
        # Columns that stand for each word of the text.
        columns = [[words[word]] if word in words else self._close_columns(word, ngrams) for word in text]
        if any(not common[column].all() for column in columns if column):
            return True
        return bool(columns) and all(columns)

    def _close_columns(self, word: str, ngrams: dict[str, int]) -> list[int]:
        """Columns of the n-grams of a word, if the vocabulary has two thirds of them; otherwise none."""
        if self.char_ngrams is None:
            return []
        own = _ngram_tokenizer(self.char_ngrams)(word)
        known = [len(self.words_) + ngrams[ngram] for ngram in own if ngram in ngrams]
        return known if 3 * len(known) >= 2 * len(own) else []

    def fit_transform(self, texts: Iterable[str], y: object = None) -> sparse.csr_array:
        """Fit, then transform the same texts."""
        texts = _as_texts(texts, "TfidfFeatures.fit_transform")
        return self.fit(texts, y).transform(texts)

    def state(self) -> State:
        """Return the parameters, the weights, and the vocabulary as UTF-8 with newlines between entries."""
        self._check_fitted("TfidfFeatures.state")
        arrays = {
            "idf": self.idf_,
            "words": _encode_vocabulary(self.words_),
            "ngrams": _encode_vocabulary(self.ngrams_),
        }
        return self.get_params(), arrays

    @classmethod
    def from_state(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Create a featurizer from its state, after checking it."""
        check_state_names(cls.kind, parameters, arrays, _NAMES, ("idf", "words", "ngrams"))
        caller, lengths = "load: TfidfFeatures", parameters["char_ngrams"]
        made = cls(
            min_count=check_count(parameters["min_count"], "min_count", caller=caller),
            char_ngrams=None if lengths is None else _checked_lengths(lengths),
            char_weight=check_number(parameters["char_weight"], "char_weight", caller=caller, high=1e6),
        )
        idf = arrays["idf"]
        words, ngrams = (_decode_vocabulary(arrays[name], idf.size) for name in ("words", "ngrams"))
        distinct = len(set(words)) == len(words) and len(set(ngrams)) == len(ngrams)
        fits = idf.shape == (len(words) + len(ngrams),) and (made.char_ngrams is not None or not ngrams)
        if idf.dtype != np.float32 or not np.isfinite(idf).all() or not distinct or not fits:
            raise ModelFileError(
                f"{caller}: {len(words)} words, {len(ngrams)} n-grams and {idf.dtype} weights of shape {idf.shape} "
                "do not match. Save the model again."
            )
        made.words_, made.ngrams_, made.idf_ = words, ngrams, idf
        return made

    def _check_fitted(self, caller: str) -> None:
        if not hasattr(self, "idf_"):
            raise NotFittedError(f"{caller}: call fit on training texts first.")

    def _columns(self) -> tuple[dict[str, int], dict[str, int]]:
        """Column of each word and of each n-gram; computed once, as ``_common``, so that one text is encoded fast."""
        if getattr(self, "_columns_of", None) is not self.words_:
            self._cached = tuple({entry: i for i, entry in enumerate(v)} for v in (self.words_, self.ngrams_))
            self._common = _common_entries(self.idf_)
            self._columns_of = self.words_
        words, ngrams = self._cached
        return words, ngrams


def _as_texts(texts: Iterable[str], caller: str) -> list[str]:
    if isinstance(texts, str):
        raise InputError(f"{caller}: expected a list of texts, got one string. Write [text].")
    listed = list(texts)
    if not all(isinstance(text, str) for text in listed):
        raise InputError(f"{caller}: every text must be a str.")
    return listed


def _ngram_tokenizer(lengths: Any) -> Tokenizer:
    return char_ngram_tokenizer(*_checked_lengths(lengths))


def _checked_lengths(lengths: Any) -> tuple[int, int]:
    whole = isinstance(lengths, tuple | list) and len(lengths) == 2 and all(type(n) is int for n in lengths)
    if not whole or not 1 <= lengths[0] <= lengths[1] <= 100:
        raise ParameterError(
            "TfidfFeatures: char_ngrams must be (shortest, longest) with 1 <= shortest <= longest <= 100, "
            f"got {lengths!r}."
        )
    return lengths[0], lengths[1]


def _vocabulary(
    tokenize: Tokenizer, texts: list[str], min_count: int
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the tokens that occur in at least ``min_count`` texts, sorted, and the number of texts with each."""
    held_by = Counter(chain.from_iterable(map(set, map(tokenize, texts))))
    kept = sorted(entry for entry, count in held_by.items() if count >= min_count)
    return kept, np.array([held_by[entry] for entry in kept], dtype=np.float64)


def _common_entries(idf: FloatArray) -> BoolArray:
    """Which entries are in more than half of the training texts; none if there may be fewer than 20 texts.

    The state does not have the number of texts n, only ``log((1 + n) / (1 + df)) + 1``. If n is below 20, then
    ``1 + n`` is one of few numbers for which every ``1 + df`` is a whole number of at least 2.
    """
    # Weights of a damaged file can have any size.
    ratios = np.exp(np.clip(idf.astype(np.float64) - 1, -50, 50))
    for size in range(math.ceil(2 * ratios.max(initial=1.0) - 1e-3), _MIN_TEXTS + 1):
        counts = size / ratios
        if np.allclose(counts, np.round(counts), rtol=0, atol=1e-3):
            return np.zeros(len(idf), dtype=np.bool_)
    # A word in exactly half of n texts has the ratio 2 (n + 1) / (n + 2), which grows with n.
    common: BoolArray = ratios < 2 * (_MIN_TEXTS + 1) / (_MIN_TEXTS + 2) - 1e-4
    return common


def _encode_vocabulary(entries: list[str]) -> NDArray[np.uint8]:
    # No entry contains a newline: words consist of letters and digits, and n-grams do not cross white space.
    return np.frombuffer("\n".join(entries).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _decode_vocabulary(array: NDArray[Any], most: int) -> list[str]:
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ModelFileError(
            f"load: a vocabulary must be bytes in a 1-d array, got {array.dtype} {array.shape}."
        )
    # Checked first: as a list of str a vocabulary takes twenty times its bytes.
    if np.count_nonzero(array == ord("\n")) > most:
        raise ModelFileError(
            f"load: a vocabulary has more entries than weights, {most}. Save the model again."
        )
    try:
        text = array.tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ModelFileError(
            f"load: a vocabulary is not valid UTF-8 ({error}). Save the model again."
        ) from error
    return text.split("\n") if text else []


def _weighted(
    tokenize: Tokenizer,
    texts: list[str],
    columns: dict[str, int],
    idf: FloatArray,
    weight: float,
) -> sparse.csr_array:
    found = [[columns[entry] for entry in tokenize(text) if entry in columns] for text in texts]
    ends = np.cumsum([0, *map(len, found)])
    indices = np.fromiter(chain.from_iterable(found), dtype=np.int32, count=int(ends[-1]))
    ones = np.ones(len(indices), dtype=np.float32)
    counts = sparse.csr_array((ones, indices, ends.astype(np.int32)), shape=(len(texts), len(columns)))
    counts.sum_duplicates()
    counts.data *= idf[counts.indices]
    rows = _unit_rows(counts)
    rows.data *= np.float32(weight)
    return rows


def _unit_rows(values: sparse.csr_array) -> sparse.csr_array:
    """Scale rows to length 1 in place; empty rows stay empty."""
    rows = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
    length = np.sqrt(np.bincount(rows, weights=values.data**2, minlength=values.shape[0]))
    scale = np.divide(1, length, out=np.zeros_like(length), where=length > 0)
    values.data = (values.data * scale[rows]).astype(np.float32)
    return values
