"""What the words of a query match: known words, other forms of them, and close words in place of unknown ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .caption_words import words_of
from .close_words import WordList, other_forms

__all__ = ["WordMatch", "WordQuery", "match_words"]

#: Words of a query that are looked up; more are ignored.
_MAX_WORDS = 64
#: How much of a word is matched by another form of it, and by the first, second and third close word.
_OTHER_FORM, _CLOSE = 0.9, (0.8, 0.7, 0.6)
#: With fewer captions no word is common: half of them are too few to tell.
_MIN_CAPTIONS = 20


@dataclass(frozen=True)
class WordMatch:
    """Which words of a query captions contain; :meth:`Collection.match_words` returns it.

    Attributes
    ----------
    words : tuple of str
        The words of the query: in lower case and without accents.
    unknown : tuple of str
        The ones that no caption contains.
    searched_for : dict of tuples of str by unknown word
        What is searched for in their place: another form, or close words. Words that have none are left out.
    common : tuple of str
        Words of the query that more than half of the captions contain, of at least 20. They say nothing about a
        caption (their inverse document frequency is not positive), so they are no match by themselves, unless
        the query consists of such words only.
    """

    words: tuple[str, ...]
    unknown: tuple[str, ...]
    searched_for: dict[str, tuple[str, ...]] = field(default_factory=dict)
    common: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The words that no caption contains, and that no other word replaces."""
        return tuple(word for word in self.unknown if word not in self.searched_for)

    @property
    def found(self) -> bool:
        """Whether there is anything to search for: a word that is not common, or common words alone."""
        n_matched = len(self.words) - len(self.missing)
        return n_matched > (len(self.common) if self.missing else 0)


@dataclass(frozen=True)
class WordQuery:
    """A query for the word index.

    Attributes
    ----------
    match : WordMatch
    groups : tuple of dicts
        For each word that can be matched: the words of captions that match it, and how well (at most 1). Empty
        if there is nothing to search for.
    weights : tuple of float
        The weight of each group: rare words weigh more (inverse document frequency).
    total : float
        Weight of all words of the query, also of those that nothing matches.
    telling : tuple of bool
        Which groups make a match by themselves: those of words that are not common, or all if there are no others.
    """

    match: WordMatch
    groups: tuple[Mapping[str, float], ...]
    weights: tuple[float, ...]
    total: float
    telling: tuple[bool, ...]

    def share(self, caption: str) -> float:
        """How much of the query a caption has, by weight: from 0 to 1."""
        words = set(words_of(caption))
        have = (
            weight * max((value for word, value in group.items() if word in words), default=0.0)
            for group, weight in zip(self.groups, self.weights, strict=True)
        )
        return sum(have) / self.total if self.total else 0.0


def match_words(
    text: str,
    n_captions: int,
    count: Callable[[Iterable[str]], Mapping[str, int]],
    count_any: Callable[[Iterable[str]], int],
    word_list: Callable[[], WordList],
) -> WordQuery:
    """Look the words of a text up.

    Parameters
    ----------
    text : str
    n_captions : int
    count : function
        Gives the number of captions that have each of some words; words without captions are left out.
    count_any : function
        Gives the number of captions that have at least one of some words. It takes longer than ``count``, so it is
        called only if the counts of single words do not tell whether more than half of the captions have one.
    word_list : function
        Gives the whole vocabulary. It is called only if a word is unknown and has no other form.
    """
    words = list(dict.fromkeys(words_of(text)))[:_MAX_WORDS]
    forms = {word: other_forms(word) for word in words}
    counts = count(dict.fromkeys(form for word in words for form in (word, *forms[word])))
    groups, weights, telling, searched_for, common, total = [], [], [], {}, [], 0.0
    for word in words:
        group = {word: 1.0} if word in counts else {}
        group |= {form: _OTHER_FORM for form in forms[word] if form in counts}
        if not group:
            close = word_list().close_to(word, len(_CLOSE))
            group = dict(zip(close, _CLOSE, strict=False))
            counts = {**counts, **count(close)}
        n_with = _count_with({form: counts[form] for form in group if form in counts}, n_captions, count_any)
        weight = _rarity(n_with, n_captions)
        total += weight
        is_common = n_captions >= _MIN_CAPTIONS and 2 * n_with > n_captions
        if is_common:
            common.append(word)
        if group:
            groups.append(group)
            weights.append(weight)
            telling.append(not is_common)
            if word not in group:
                searched_for[word] = tuple(group)
    unknown = tuple(word for word in words if word not in counts)
    match = WordMatch(tuple(words), unknown, searched_for, tuple(common))
    if not match.found:
        return WordQuery(match, (), (), total, ())
    if not any(telling):
        telling = [True] * len(groups)
    return WordQuery(match, tuple(groups), tuple(weights), total, tuple(telling))


def _count_with(counts: Mapping[str, int], n_captions: int, count_any: Callable[[Iterable[str]], int]) -> int:
    """How many captions have at least one of some words: at least the largest count, at most the sum.

    The sum counts a caption with two of the words twice. It is enough if it is at most half of the captions, or if one
    word alone is in more than half.
    """
    upper, lower = sum(counts.values()), max(counts.values(), default=0)
    if 2 * lower <= n_captions < 2 * upper:
        return count_any(counts)
    return min(upper, n_captions)


def _rarity(n_with: int, n_captions: int) -> float:
    """Inverse document frequency, as in BM25; never negative."""
    return math.log(1 + (n_captions - n_with + 0.5) / (n_with + 0.5))
