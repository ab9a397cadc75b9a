"""Split a text into words, or into character n-grams.

The results equal those of scikit-learn's ``CountVectorizer``, which is slow to import.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["Tokenizer", "char_ngram_tokenizer", "split_words"]

#: Returns the tokens of a text, in order and with repetitions.
Tokenizer = Callable[[str], list[str]]

# Words of one letter count too: the A of LATIN LETTER A is one.
_find_words = re.compile(r"\w+").findall


def split_words(text: str) -> list[str]:
    r"""Return the words of a text in lower case: runs of letters, digits and underscores (``\w+``).

    Equal to ``CountVectorizer(token_pattern=r"\w+").build_analyzer()``.

    Examples
    --------
    >>> split_words("A red apple, an APPLE-tree.")
    ['a', 'red', 'apple', 'an', 'apple', 'tree']
    """
    return _find_words(text.lower())


def char_ngram_tokenizer(shortest: int, longest: int) -> Tokenizer:
    """Return a function that splits a text into character n-grams.

    The text is converted to lower case and split at white space. One space is added before and after each
    word. No n-gram crosses the border between two words. If a word with its two spaces is shorter than an
    n-gram, the whole word is taken once.

    Equal to ``CountVectorizer(analyzer="char_wb", ngram_range=(shortest, longest)).build_analyzer()``.

    Examples
    --------
    >>> char_ngram_tokenizer(3, 4)("Up we")
    [' up', 'up ', ' up ', ' we', 'we ', ' we ']
    """
    lengths = range(shortest, longest + 1)

    def tokenize(text: str) -> list[str]:
        ngrams: list[str] = []
        for word in text.lower().split():
            padded = f" {word} "
            for n in lengths:
                ngrams += [padded[i : i + n] for i in range(len(padded) - n + 1)] or [padded]
                if n >= len(padded):
                    break
        return ngrams

    return tokenize
