"""Other forms of a word, and words of a vocabulary that are spelt nearly the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..types import BoolArray

__all__ = ["WordList", "other_forms"]

#: Plurals that no rule gives, by singular; also at the end of a longer word ("snowman").
_IRREGULAR = {
    "man": "men",
    "mouse": "mice",
    "louse": "lice",
    "goose": "geese",
    "foot": "feet",
    "tooth": "teeth",
    "child": "children",
    "person": "people",
    "ox": "oxen",
}
_SHORTEST = 3


def other_forms(word: str) -> list[str]:
    """The singular and plural forms that an English word could have; not all of them exist.

    Examples
    --------
    >>> other_forms("frogs")
    ['frog']
    >>> other_forms("berries")
    ['berry', 'berrie', 'berri']
    >>> other_forms("snowman")[:1]
    ['snowmen']
    """
    return list(dict.fromkeys(form for form in _forms(word) if len(form) > 1 and form != word))


def _forms(word: str) -> Iterator[str]:
    for singular, plural in _IRREGULAR.items():
        for one, other in ((singular, plural), (plural, singular)):
            if word.endswith(one):
                yield word[: -len(one)] + other
    if len(word) < _SHORTEST:
        return
    if word.endswith("s") and not word.endswith("ss"):
        yield from _singulars(word)
        return
    if word.endswith("y"):
        yield f"{word[:-1]}ies"
    elif word.endswith("f"):
        yield f"{word[:-1]}ves"
    elif word.endswith("fe"):
        yield f"{word[:-2]}ves"
    yield f"{word}s"
    yield f"{word}es"


def _singulars(word: str) -> Iterator[str]:
    if word.endswith("ies"):
        yield f"{word[:-3]}y"
    elif word.endswith("ves"):
        yield from (f"{word[:-3]}f", f"{word[:-3]}fe")
    yield word[:-1]
    if word.endswith("es"):
        yield word[:-2]


class WordList:
    """The vocabulary of a collection, with the number of captions that have each word.

    Distances are computed for all words of similar length at once.

    Parameters
    ----------
    words : list of str
        Distinct.
    counts : list of int

    Examples
    --------
    >>> WordList(["frog", "fog", "dog", "apple"], [3, 1, 2, 9]).close_to("frgo")
    ['frog']
    """

    def __init__(self, words: Sequence[str], counts: Sequence[int]) -> None:
        self.words = list(words)
        self._counts = np.array(counts, dtype=np.int64)
        self._lengths = np.array([len(word) for word in self.words], dtype=np.int64)

    def close_to(self, word: str, most: int = 3) -> list[str]:
        """The words with the smallest edit distance, if that is small; the most likely first.

        A distance of 1 is small for words of three to seven letters, of 2 for longer ones. Words of fewer than
        four letters are never close: another word of three letters is rarely meant. At equal distance words with
        the same first letter come first, then those that more captions have.
        """
        limit = 0 if len(word) < _SHORTEST else 1 if len(word) < 8 else 2
        near = np.flatnonzero((np.abs(self._lengths - len(word)) <= limit) & (self._lengths > _SHORTEST))
        if not limit or not len(near):
            return []
        distances = edit_distances(word, [self.words[i] for i in near])
        best = near[distances == distances.min()]
        if distances.min() > limit:
            return []
        other_start = np.array([self.words[i][0] != word[0] for i in best])
        order = np.lexsort((best, -self._counts[best], other_start))
        return [self.words[i] for i in best[order][:most]]


def edit_distances(word: str, others: Sequence[str]) -> NDArray[np.int64]:
    """Edit distances (insert, delete, replace, exchange neighbours) of a word to each of many others.

    Parameters
    ----------
    word : str
    others : n strings

    Returns
    -------
    int array of shape (n,)

    Notes
    -----
    The optimal string alignment distance. The usual table of dynamic programming, in which each entry is
    an array with one number for each of the other words.

    Examples
    --------
    >>> edit_distances("frog", ["frog", "forg", "fog", "dog"])
    array([0, 1, 1, 2])
    """
    lengths = np.array([len(other) for other in others], dtype=np.int64)
    width = int(lengths.max(initial=0))
    letters = np.zeros((width, len(others)), dtype=np.uint32)
    for column, other in enumerate(others):
        letters[: len(other), column] = np.frombuffer(other.encode("utf-32-le", "surrogatepass"), np.uint32)
    before_last = last = np.tile(np.arange(width + 1)[:, None], (1, len(others)))
    for i, letter in enumerate(map(ord, word), 1):
        row = np.empty_like(last)
        row[0] = i
        for j in range(1, width + 1):
            differs = letters[j - 1] != letter
            row[j] = np.minimum(np.minimum(last[j], row[j - 1]) + 1, last[j - 1] + differs)
            if i > 1 and j > 1:
                swapped = _swapped(letters, j, letter, ord(word[i - 2]))
                row[j] = np.where(swapped, np.minimum(row[j], before_last[j - 2] + 1), row[j])
        before_last, last = last, row
    distances: NDArray[np.int64] = last[lengths, np.arange(len(others))]
    return distances


def _swapped(letters: NDArray[np.uint32], j: int, letter: int, previous: int) -> BoolArray:
    swapped: BoolArray = (letters[j - 2] == letter) & (letters[j - 1] == previous)
    return swapped
