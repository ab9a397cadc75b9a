"""Searching the captions of a collection by their words, alone and together with codes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...search import HammingIndex
from ...types import BoolArray, CodeArray
from ...validation import check_count
from ..caption_words import caption_of
from ..close_words import WordList
from ..filter_syntax import parse
from ..protocol import Hit
from ..rank_fusion import fuse_rankings
from ..ranking import Judgement
from ..word_match import WordMatch, WordQuery, match_words
from .database import Database
from .modality_codes import ModalityCodes
from .payloads import fetch_payloads
from .reading import ReadMixin
from .snapshot import Snapshot
from .word_index import count_captions, count_captions_with, document_counts, matching_keys, read_word_list

__all__ = [
    "NO_WORDS",
    "Entry",
    "NearestCodes",
    "SearchedCodes",
    "WordMixin",
    "WordRanking",
    "fused_entries",
    "fusion_depth",
    "no_words_error",
]

#: At least so many of the nearest codes, and of the best captions, take part in the fusion. So the hits of a
#: search for a few objects are the first hits of a search for more.
_DEPTH = 100
#: Captions that are tried in one go whether they may be found.
_BLOCK = 1000
#: Words that more captions than this have are not looked for if the query has rarer ones.
_FREQUENT = 10_000


class WordRanking(NamedTuple):
    """Objects whose captions match a query, best first, and the share of the query that they have.

    Captions that match equally well have the same rank, so that codes decide between them.
    """

    keys: NDArray[np.int64]
    shares: NDArray[np.float64]
    ranks: NDArray[np.int64]


NO_WORDS = WordRanking(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0, dtype=np.int64))


class NearestCodes(NamedTuple):
    """The nearest codes of one query: keys, distances, and numbers of modalities; nearest first."""

    keys: NDArray[np.int64]
    distances: NDArray[np.uint16]
    sources: NDArray[np.int64]


class SearchedCodes(NamedTuple):
    """The codes that a search looks at: all of each modality, or with a filter some of them."""

    stored: Sequence[ModalityCodes]
    indexes: Sequence[HammingIndex]
    filtered: bool

    def has(self, keys: NDArray[np.int64]) -> BoolArray:
        """Which objects have a code there."""
        found = np.zeros(len(keys), dtype=np.bool_)
        for codes, index in zip(self.stored, self.indexes, strict=True):
            positions = codes.find(keys)
            if self.filtered and len(index):
                places = np.minimum(np.searchsorted(index.ids, positions), len(index) - 1)
                found |= index.ids[places] == positions
            elif not self.filtered:
                found |= positions >= 0
        return found


class Entry(NamedTuple):
    """A hit before its id and payload are read."""

    key: int
    distance: int | None
    source: int
    found_by: str
    score: float


def fusion_depth(k: int) -> int:
    """How many of the nearest codes are fused with words."""
    return max(k, _DEPTH)


def no_words_error(caller: str) -> InputError:
    """The error if a collection has no word index."""
    return InputError(
        f"{caller}: this collection has no word index. Make one: collection.index_words('caption')."
    )


class WordMixin(ReadMixin):
    """The part of a collection that searches words."""

    _cached_words: tuple[int, WordList] | None = None

    @property
    def word_fields(self) -> tuple[str, ...]:
        """Payload fields whose words can be searched; empty if there is no word index."""
        with self._reading() as snapshot:
            return snapshot.words

    def match_words(self, text: str) -> WordMatch:
        """Tell which words of a text the captions contain, and what is searched for in place of the others.

        Parameters
        ----------
        text : str

        Returns
        -------
        WordMatch

        Examples
        --------
        >>> import diffhash as dh, numpy as np, pathlib, tempfile
        >>> x = np.random.default_rng(0).normal(size=(200, 8))
        >>> hasher = dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :4]}, dh.Pairs.aligned(200))
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.dh"
        >>> with dh.Collection.create(path, hasher, words="caption") as c:
        ...     _ = c.add(x[:2], modality="x", payloads=[{"caption": "A green frog"}, {"caption": "Red apple"}])
        ...     match = c.match_words("two frogs, red aple")
        >>> match.unknown, match.searched_for
        (('two', 'frogs', 'aple'), {'frogs': ('frog',), 'aple': ('apple',)})
        """
        caller = "Collection.match_words"
        if not isinstance(text, str):
            raise InputError(f"{caller}: expected a text, got {type(text).__name__}.")
        with self._reading() as snapshot:
            if not snapshot.words:
                raise no_words_error(caller)
            return self._word_query(text).match

    def search_words(
        self,
        texts: Sequence[str],
        *,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
    ) -> list[list[Hit]]:
        """Find objects by the words of their captions alone, without codes.

        Captions with more of the query, by the rarity of its words, come first; then the order is by BM25.
        Singular and plural forms match each other. A word that no caption contains is replaced by close
        ones: see :meth:`match_words`. A word that is in more than half of the captions, such as "a", is no match by
        itself, unless the query has only such words.

        Parameters
        ----------
        texts : list of str
        into, k, where
            See :meth:`search`. Objects without a code in ``into`` are not found.

        Returns
        -------
        list of lists of Hit
            ``distance`` is None and ``found_by`` is "words".
        """
        caller = "Collection.search_words"
        texts = _as_texts(texts, caller)
        k = check_count(k, "k", caller=caller)
        node = None if where is None else parse(where, caller=caller)
        with self._close_waits(), self._reading() as snapshot:
            if not snapshot.words:
                raise no_words_error(caller)
            names = self._chosen(into, snapshot, caller)
            stored = [snapshot.modality_codes[name] for name in names]
            indexes = [self._index(snapshot, name, node) for name in names]
            searched = SearchedCodes(stored, indexes, node is not None)
            rankings = [self._rank_by_words(snapshot, text, searched, k) for text in texts]
            no_keys = np.empty(0, dtype=np.int64)
            none = NearestCodes(no_keys, np.empty(0, dtype=np.uint16), no_keys)
            found = [fused_entries(self._db, stored, None, none, words, k) for words in rankings]
            return self._read_entries(snapshot, names, found)

    def _word_query(self, text: str) -> WordQuery:
        """The words of a text, looked up; within a transaction."""
        return match_words(
            text,
            count_captions(self._db),
            lambda words: document_counts(self._db, words),
            lambda words: count_captions_with(self._db, words),
            self._word_list,
        )

    def _word_list(self) -> WordList:
        """The vocabulary of the current content."""
        if self._cached_words is None or self._cached_words[0] != self._version:
            self._cached_words = self._version, read_word_list(self._db)
        return self._cached_words[1]

    def _rank_by_words(self, snapshot: Snapshot, text: str, searched: SearchedCodes, k: int) -> WordRanking:
        """Objects whose captions match a text, best first; within a transaction."""
        query = self._word_query(text)
        if not query.groups:
            return NO_WORDS
        groups = _without_frequent(query, document_counts(self._db, {w for g in query.groups for w in g}))
        depth = fusion_depth(k)
        best = _first(matching_keys(self._db, groups, all_groups=True), searched, depth)
        if len(groups) > 1:
            best += _first(matching_keys(self._db, groups, all_groups=False), searched, depth)
        # The first score of a caption counts; it is in the second list, too, if it has all words.
        score_of = dict(reversed(best))
        keys = np.array(list(dict.fromkeys(key for key, _ in best)), dtype=np.int64)
        payloads = fetch_payloads(self._db, keys)
        captions = (caption_of(payloads.get(key, {}), snapshot.words) for key in keys.tolist())
        shares = np.array([query.share(caption) for caption in captions])
        order = np.argsort(-shares, kind="stable")[:depth]
        scores = np.array([score_of[key] for key in keys[order].tolist()])
        return WordRanking(keys[order], shares[order], _ranks(shares[order], scores))

    def _read_entries(
        self,
        snapshot: Snapshot,
        modalities: Sequence[str],
        found: list[list[Entry]],
        judgements: Sequence[Judgement] = (),
    ) -> list[list[Hit]]:
        """Hits with ids and payloads; within a transaction. What only words found has no chance."""

        def chance(entry: Entry) -> float | None:
            if entry.found_by == "words" or entry.distance is None or not judgements:
                return None
            return judgements[entry.source].chance(entry.distance)

        keys = np.array([entry.key for entries in found for entry in entries], dtype=np.int64)
        payloads = fetch_payloads(self._db, keys)
        ids = iter(snapshot.ids_of(keys))
        return [
            [
                Hit(
                    next(ids),
                    e.distance,
                    payloads.get(e.key, {}),
                    modalities[e.source],
                    chance(e),
                    e.score,
                    e.found_by,
                )
                for e in entries
            ]
            for entries in found
        ]


def _as_texts(texts: Any, caller: str) -> list[str]:
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InputError(f"{caller}: expected a list of texts, got {type(texts).__name__}.")
    listed = list(texts)
    for text in listed:
        if not isinstance(text, str):
            raise InputError(f"{caller}: expected a list of texts, got one with {type(text).__name__}.")
    return listed


def _without_frequent(query: WordQuery, counts: Mapping[str, int]) -> list[list[str]]:
    """The groups of words to look for. Common ones are no match; very frequent ones say little and take long."""
    groups = [list(group) for group, telling in zip(query.groups, query.telling, strict=True) if telling]
    rare = [group for group in groups if sum(counts.get(word, 0) for word in group) <= _FREQUENT]
    return rare or groups


def _first(
    matches: Iterator[tuple[int, float]], searched: SearchedCodes, count: int
) -> list[tuple[int, float]]:
    """The first matches, keys and scores, that may be found."""
    found: list[tuple[int, float]] = []
    while len(found) < count and (block := list(islice(matches, _BLOCK))):
        found += compress(block, searched.has(np.array([key for key, _ in block], dtype=np.int64)))
    return found[:count]


def _ranks(shares: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Ranks from 0 of captions in order; those with the same share and score have the rank of the first."""
    places = np.arange(len(shares))
    is_new = np.ones(len(shares), dtype=np.bool_)
    is_new[1:] = (np.diff(shares) != 0) | (np.diff(scores) != 0)
    return np.maximum.accumulate(np.where(is_new, places, 0))


def fused_entries(
    db: Database,
    stored: Sequence[ModalityCodes],
    code: CodeArray | None,
    nearest: NearestCodes,
    words: WordRanking,
    k: int,
) -> list[Entry]:
    """The first k in one order of the nearest codes and the best captions of a query; within a transaction.

    An entry is a code: an object with codes in two modalities has two.
    """
    starts = np.cumsum([0, *(codes.n_positions for codes in stored)])
    by_codes = nearest.keys.copy()
    for number, codes in enumerate(stored):
        own = nearest.sources == number
        by_codes[own] = starts[number] + codes.find(nearest.keys[own])
    places = [codes.find(words.keys) for codes in stored]
    has_code = [np.flatnonzero(found >= 0) for found in places]
    by_words = np.concatenate([starts[n] + places[n][rows] for n, rows in enumerate(has_code)])
    rows = np.concatenate(has_code)
    fused = fuse_rankings(
        by_codes, _captioned(db, nearest.keys), by_words, words.ranks[rows], words.shares[rows]
    )
    sources = np.searchsorted(starts, fused.entries, side="right") - 1
    columns = (fused.entries, sources, fused.by_codes, fused.by_words, fused.scores)
    entries = []
    for entry, source, in_codes, in_words, score in zip(
        *(column[:k].tolist() for column in columns), strict=True
    ):
        position = np.array([entry - starts[source]])
        distance = None if code is None else _distance(stored[source].codes_at(position)[0], code)
        found_by = "both" if in_codes and in_words else "codes" if in_codes else "words"
        entries.append(Entry(int(stored[source].keys[position[0]]), distance, source, found_by, score))
    return entries


def _distance(code: CodeArray, query: CodeArray) -> int:
    return int.from_bytes(np.bitwise_xor(code, query).tobytes(), "little").bit_count()


def _captioned(db: Database, keys: NDArray[np.int64]) -> BoolArray:
    """Which objects have a caption in the word index."""
    listed = json.dumps(np.unique(keys).tolist())
    rows = db.execute(
        "SELECT d.id FROM json_each(?) AS wanted JOIN words_docsize AS d ON d.id = wanted.value", (listed,)
    )
    return np.isin(keys, [key for (key,) in rows])
