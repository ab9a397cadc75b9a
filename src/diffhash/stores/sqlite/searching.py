"""Searching a collection.

A search has three steps. Under the lock it takes the indexes to scan, together with the version of
the content. Without the lock it scans them, so that threads search in parallel. Under the lock again
it reads ids and payloads. If the content changed in between, it starts again, so an answer always
comes from one version. A small scan is done under the lock, in the first transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...codes import check_codes
from ...errors import DiffhashError, InputError, UnknownIdError
from ...model import HashModel
from ...search import HammingIndex
from ...search.calibration import FalseMatchLimit
from ...types import CodeArray, FloatArray
from ...validation import check_count, known_modality
from ..filter_syntax import Node, parse
from ..ids import read_ids
from ..protocol import Hit, Id
from ..ranking import check_options, judge, match_limit, ranking_scale
from ..search_options import SearchOptions
from .payloads import fetch_payloads
from .scan import Found, Query, Scan, checked_query, uses_words, without_silent
from .snapshot import Snapshot
from .word_search import (
    NearestCodes,
    SearchedCodes,
    WordMixin,
    fused_entries,
)

__all__ = ["SearchMixin"]

#: Number of scans without the lock. If the content changes during each of them, the next one holds the lock.
_UNLOCKED_SCANS = 2
#: Makes the query of a search within its transaction; None if its codes are of a model that was replaced.
_MakeQuery: TypeAlias = Callable[[Snapshot], Query | None]


class SearchMixin(WordMixin):
    """The part of a collection that searches."""

    def search_codes(
        self,
        codes: CodeArray,
        *,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        radius: int | None = None,
        modality: str | None = None,
        max_false_matches: float | None = None,
        expected_matches: float | None = None,
    ) -> list[list[Hit]]:
        """Find the objects nearest to packed codes, uint8 of shape (q, bytes); see :meth:`search`.

        ``modality`` is that of the queries. It is needed for chances and for ``max_false_matches``.
        """
        caller = "Collection.search_codes"
        if modality is not None:
            known_modality(modality, self.modalities, caller=caller)
        options = SearchOptions(
            into,
            k,
            where,
            radius,
            modality=modality,
            max_false_matches=max_false_matches,
            expected_matches=expected_matches,
        )
        return self._search_query(codes, options, caller=caller)

    def within_codes(
        self,
        codes: CodeArray,
        *,
        radius: int,
        into: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[list[Hit]]:
        """Find all objects within a radius of packed codes, uint8 of shape (q, bytes); see :meth:`within`."""
        return self._search_query(
            codes, SearchOptions(into, None, where, radius), caller="Collection.within_codes"
        )

    def _search_query(self, codes: Any, options: SearchOptions, *, caller: str) -> list[list[Hit]]:
        query = checked_query(codes, options, caller=caller)
        hits = self._search(lambda _: query)
        assert hits is not None  # there is always a query
        return hits

    def search_item(
        self,
        id: Id,  # noqa: A002 - it is called id everywhere else too
        *,
        modality: str | None = None,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        radius: int | None = None,
        max_false_matches: float | None = None,
        expected_matches: float | None = None,
    ) -> list[Hit]:
        """Find the objects nearest to a stored one, which is itself left out.

        Parameters
        ----------
        id : int or str
        modality : str, optional
            The query is the object's code in this modality; by default the one that is not searched in.
        into, k, where, radius, max_false_matches, expected_matches
            See :meth:`search`.

        Returns
        -------
        list of Hit
        """
        caller = "Collection.search_item"
        queries: dict[int, Query] = {}

        def make_query(snapshot: Snapshot) -> Query:
            try:
                code, name, key = self._stored_query(snapshot, id, modality, into, caller)
            except UnknownIdError:
                # If it was removed after the search began, its code is still the query, unless the model is new.
                if snapshot.generation not in queries:
                    raise
            else:
                options = SearchOptions(
                    into,
                    k,
                    where,
                    radius,
                    modality=name,
                    max_false_matches=max_false_matches,
                    expected_matches=expected_matches,
                )
                query = checked_query(code, options, caller=caller)
                queries[snapshot.generation] = query._replace(leave_out=key)
            return queries[snapshot.generation]

        hits = self._search(make_query)
        assert hits is not None  # there is always a query
        return hits[0]

    def _stored_query(
        self, snapshot: Snapshot, id_: Id, modality: str | None, into: str | None, caller: str
    ) -> tuple[CodeArray, str, int]:
        """Code, its modality, and key of a stored object that is a query; within a transaction."""
        if into is not None:
            into = self._known_modality(into, snapshot, caller)
        (item,) = self.get([id_], modality=modality)
        (key,) = snapshot.keys_of(read_ids([id_], caller=caller, unique=True)).tolist()
        options = [m for m in item.codes if m != into] or list(item.codes)
        if len(options) > 1:
            raise InputError(
                f"{caller}: {id_!r} has codes of {', '.join(map(repr, options))}. "
                "Say which one is the query: modality=..."
            )
        return item.codes[options[0]], options[0], key

    def match_limit(
        self,
        max_false_matches: float,
        *,
        modality: str,
        into: str,
        where: Mapping[str, Any] | None = None,
    ) -> FalseMatchLimit:
        """The radius that a search with ``max_false_matches`` uses.

        Parameters
        ----------
        max_false_matches : float
        modality, into : str
            Modality of the query, and the one that is searched.
        where : dict, optional
            As for the search: fewer items allow a larger radius.

        Returns
        -------
        FalseMatchLimit
            ``radius``, and ``false_matches``: the upper bound of the mean number of wrong hits within it.

        Raises
        ------
        CalibrationError
            If this cannot be promised.
        """
        caller = "Collection.match_limit"
        options = SearchOptions(into, 1, where, modality=modality, max_false_matches=max_false_matches)
        check_options(options, caller=caller)
        node = None if where is None else parse(where, caller=caller)
        with self._reading() as snapshot:
            names = tuple(known_modality(m, snapshot.modalities, caller=caller) for m in (modality, into))
            n_items = len(self._index(snapshot, into, node))
            model = self._current_model(snapshot) if snapshot.has_model else None
            calibration = None if model is None else model.calibration
            couple = None if calibration is None else calibration.couple(*names)
            return match_limit(model, couple, (modality, into), n_items, max_false_matches, caller=caller)

    def search_arrays(
        self, codes: CodeArray, *, into: str, k: int = 10, where: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.uint16]]:
        """Find the nearest objects as arrays, without their payloads: the fast way for many queries.

        Parameters
        ----------
        codes : uint8 array of shape (q, bytes)
        into, k, where
            See :meth:`search`; ``into`` is one modality.

        Returns
        -------
        ids : array of shape (q, min(k, n))
            int64, or strings as objects.
        distances : uint16 array of the same shape
        """
        caller = "Collection.search_arrays"
        into = known_modality(into, self.modalities, caller=caller)
        k = check_count(k, "k", caller=caller)
        query = checked_query(codes, SearchOptions(into, k, where), caller=caller)
        snapshot, index = self._snapshot_and_index(into, query.where)
        check_codes(query.codes, n_bits=snapshot.n_bits, caller=caller)
        found = index.search(query.codes, k)
        # Keys and string ids are only ever appended to a snapshot: they can be read without the lock.
        keys = snapshot.modality_codes[into].keys[found.ids]
        if snapshot.id_kind != "str":
            return keys, found.distances
        ids = np.empty(keys.size, dtype=object)
        ids[:] = snapshot.ids_of(keys.ravel())
        return ids.reshape(keys.shape), found.distances

    def _search_encoded(
        self,
        model: HashModel,
        codes: CodeArray,
        options: SearchOptions,
        values: FloatArray | None = None,
    ) -> list[list[Hit]] | None:
        query = checked_query(codes, options, caller="Collection.search")._replace(values=values)
        return self._search(lambda snapshot: query if self._current_model(snapshot) is model else None)

    def _search(self, make_query: _MakeQuery) -> list[list[Hit]] | None:
        """The three steps of a search: take the indexes, scan them, read ids and payloads.

        Returns None if ``make_query`` does.
        """
        with self._close_waits():
            unlocked = _UNLOCKED_SCANS
            while True:
                with self._reading() as snapshot:
                    query = make_query(snapshot)
                    if query is None:
                        return None
                    scan = self._prepare_scan(snapshot, query)
                    if not unlocked or scan.is_small():
                        return self._hits(snapshot, scan, scan.run())
                found = scan.run()
                with self._reading() as snapshot:
                    if self._version == scan.version:
                        return self._hits(snapshot, scan, found)
                unlocked -= 1

    def _prepare_scan(self, snapshot: Snapshot, query: Query) -> Scan:
        """The indexes that a query searches; within a transaction."""
        check_codes(query.codes, n_bits=snapshot.n_bits, caller=query.caller)
        modalities = self._chosen(query.into, snapshot, query.caller)
        indexes = tuple(self._index(snapshot, modality, query.where) for modality in modalities)
        options = query.options
        model = self._judging_model(snapshot, options)
        sizes = [(name, len(index)) for name, index in zip(modalities, indexes, strict=True)]
        judgements = judge(model, sizes, options, caller=query.caller)
        scale = None
        if model is not None and query.values is not None:
            scale = ranking_scale(model, modalities, options, caller=query.caller)
        words = None
        if uses_words(snapshot, query):
            stored = [snapshot.modality_codes[name] for name in modalities]
            searched = SearchedCodes(stored, indexes, query.where is not None)
            words = [
                self._rank_by_words(snapshot, text, searched, query.k or 0) for text in options.texts or ()
            ]
        return Scan(query, modalities, indexes, self._version, tuple(judgements), scale, words)

    def _judging_model(self, snapshot: Snapshot, options: SearchOptions) -> HashModel | None:
        """The model whose calibration judges the hits; None if there is none. Within a transaction."""
        if options.modality is None or not snapshot.has_model:
            return None
        try:
            return self._current_model(snapshot)
        except DiffhashError:
            # Codes can be compared without a model that cannot be read. Only a promise needs it.
            if options.max_false_matches is None:
                return None
            raise

    def _snapshot_and_index(self, modality: str, where: Node | None) -> tuple[Snapshot, HammingIndex]:
        """The snapshot and one of its indexes; without a transaction if nothing must be read from the file."""
        with self._lock:
            snapshot = self._unchanged_snapshot()
            if snapshot is not None and (where is None or self._filters.get(modality, where) is not None):
                with self._stale_after_errors():
                    return snapshot, self._index(snapshot, modality, where)
            with self._reading() as snapshot:
                return snapshot, self._index(snapshot, modality, where)

    def _hits(self, snapshot: Snapshot, scan: Scan, found: list[Found]) -> list[list[Hit]]:
        """Hits with ids and payloads, nearest first over all modalities; within a transaction."""
        stored = [snapshot.modality_codes[modality] for modality in scan.modalities]
        keys = np.hstack([codes.keys[part.ids] for codes, part in zip(stored, found, strict=True)])
        distances = np.hstack([part.distances for part in found])
        scores = np.hstack([part.scores for part in found])
        sources = np.hstack([np.full(part.ids.shape, n) for n, part in enumerate(found)])
        if len(found) > 1:
            order = np.argsort(-scores, axis=1, kind="stable")
            keys, distances, scores, sources = (
                np.take_along_axis(a, order, axis=1) for a in (keys, distances, scores, sources)
            )
        if scan.words is not None:
            return self._fused_hits(snapshot, scan, keys, distances, sources)
        ids = np.array(snapshot.ids_of(keys.ravel()), dtype=object).reshape(keys.shape)
        payloads = fetch_payloads(self._db, keys)
        rows = zip(*(a.tolist() for a in (ids, keys, distances, scores, sources)), strict=True)
        # Plain lists: a call of a method for each hit would take longer than the rest.
        chances = [None if each.chances is None else each.chances.tolist() for each in scan.judgements]
        radii = [snapshot.n_bits if each.radius is None else each.radius for each in scan.judgements]
        leave_out = scan.query.leave_out
        return [
            [
                Hit(
                    id_,
                    distance,
                    payloads.get(key, {}),
                    scan.modalities[source],
                    None if (known := chances[source]) is None else known[distance],
                    score,
                )
                for id_, key, distance, score, source in zip(*row, strict=True)
                if key != leave_out and distance <= radii[source]
            ][: scan.query.k]
            for row in without_silent(rows, scan.query.options.silent)
        ]

    def _fused_hits(
        self,
        snapshot: Snapshot,
        scan: Scan,
        keys: NDArray[np.int64],
        distances: NDArray[np.uint16],
        sources: NDArray[np.int64],
    ) -> list[list[Hit]]:
        """Hits of queries that are texts, in the order by codes and by words; within a transaction."""
        stored = [snapshot.modality_codes[modality] for modality in scan.modalities]
        query, found = scan.query, []
        silent = query.options.silent or (False,) * len(keys)
        for row, words in enumerate(scan.words or ()):
            # A radius or a promise limits what codes find, and not what words find.
            near = np.array(
                [
                    not silent[row] and scan.judgements[source].allows(distance)
                    for source, distance in zip(sources[row].tolist(), distances[row].tolist(), strict=True)
                ],
                dtype=np.bool_,
            )
            nearest = NearestCodes(keys[row, near], distances[row, near], sources[row, near])
            code = None if silent[row] else query.codes[row]
            found.append(fused_entries(self._db, stored, code, nearest, words, query.k or 0))
        return self._read_entries(snapshot, scan.modalities, found, scan.judgements)
