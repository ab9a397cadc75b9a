"""A search as values: its checked query, and the scan of indexes that answers it without a lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...search import HammingIndex, RangeResult, asymmetric_search
from ...types import CodeArray, FloatArray
from ...validation import as_array, check_count
from ..filter_syntax import Node, parse
from ..ranking import Judgement, check_options
from ..search_options import SearchOptions
from .snapshot import Snapshot
from .word_search import WordRanking, fusion_depth, no_words_error

__all__ = ["Found", "Query", "Scan", "checked_query", "uses_words", "without_silent"]

#: Number of codes times number of queries. A scan of that size takes about as long as a second transaction.
_SMALL_SCAN = 20_000


class Query(NamedTuple):
    """Checked arguments of a search. If k is None, all within the radius are wanted.

    ``leave_out`` is the key of an object that must not be found.
    """

    codes: CodeArray
    into: str | None
    k: int | None
    where: Node | None
    caller: str
    radius: int | None = None
    leave_out: int | None = None
    options: SearchOptions = SearchOptions()
    #: Projections of the queries, to rank by them.
    values: FloatArray | None = None


class Found(NamedTuple):
    """The best positions of one modality for each query, best first; arrays of shape (q, k)."""

    ids: NDArray[np.int64]
    distances: NDArray[np.uint16]
    scores: FloatArray


class Scan(NamedTuple):
    """What a search scans without the lock: one index for each modality; its ids are positions."""

    query: Query
    modalities: tuple[str, ...]
    indexes: tuple[HammingIndex, ...]
    #: Version of the content that the indexes hold.
    version: int
    #: What the calibration says about hits in each modality.
    judgements: tuple[Judgement, ...]
    #: Divisors of the values of the queries; None to rank by distance.
    scale: FloatArray | None = None
    #: For each query the objects whose captions match it; None if words are not searched.
    words: list[WordRanking] | None = None

    def run(self) -> list[Found]:
        """Nearest positions in each modality."""
        query = self.query
        if query.k is None:
            assert query.radius is not None  # _query checks it
            return [_as_rows(index.within(query.codes, query.radius)) for index in self.indexes]
        k = query.k if query.leave_out is None else query.k + 1
        if self.words is not None:
            k = fusion_depth(k)
        found = []
        for index, judgement in zip(self.indexes, self.judgements, strict=True):
            if self.scale is None or query.values is None:
                near = index.search(query.codes, k)
                found.append(Found(near.ids, near.distances, 0.0 - near.distances))
            else:
                best = asymmetric_search(index, query.values, k, scale=self.scale, radius=judgement.radius)
                found.append(Found(best.ids, best.distances, 0.0 - best.scores))
        return found

    def is_small(self) -> bool:
        """Whether it is faster to scan within the transaction."""
        return sum(map(len, self.indexes)) * len(self.query.codes) <= _SMALL_SCAN


def checked_query(codes: Any, options: SearchOptions, *, caller: str) -> Query:
    """The query of a search; an error if its arguments are not valid."""
    check_options(options, caller=caller)
    k = None if options.k is None else check_count(options.k, "k", caller=caller)
    radius = options.radius
    if radius is not None or k is None:
        radius = check_count(radius, "radius", caller=caller, minimum=0)
    node = None if options.where is None else parse(options.where, caller=caller)
    array = np.atleast_2d(as_array(codes, f"{caller}: codes"))
    return Query(array, options.into, k, node, caller, radius, options=options)


def _as_rows(found: RangeResult) -> Found:
    """A row for each query; those with fewer hits than others end in positions at an impossible distance."""
    counts = np.diff(found.offsets)
    filled = np.arange(counts.max(initial=0)) < counts[:, None]
    ids = np.zeros(filled.shape, dtype=np.int64)
    distances = np.full(filled.shape, np.iinfo(np.uint16).max, dtype=np.uint16)
    ids[filled], distances[filled] = found.ids, found.distances
    return Found(ids, distances, 0.0 - distances)


def uses_words(snapshot: Snapshot, query: Query) -> bool:
    """Whether a search also matches the words of captions."""
    options = query.options
    if options.words and not snapshot.words:
        raise no_words_error(query.caller)
    if options.words and options.texts is None:
        raise InputError(f"{query.caller}: words=True needs queries that are texts.")
    # Strings may also be the names of pictures. Only for featurizers of texts it is known which ones are silent.
    asked = options.words is True or (options.words is None and options.silent is not None)
    return asked and bool(snapshot.words)


def without_silent(rows: Iterable[Any], silent: tuple[bool, ...] | None) -> Iterator[Any]:
    """Rows of results, without results for queries whose codes say nothing."""
    for number, row in enumerate(rows):
        yield ([],) * 5 if silent is not None and silent[number] else row
