"""Searching a collection.

A search has three steps. Under the lock it takes the indexes to scan, together with the version of
the content. Without the lock it scans them, so that threads search in parallel. Under the lock again
it reads ids and payloads. If the content changed in between, it starts again, so an answer always
comes from one version.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codes import check_codes
from ...errors import InputError
from ...model import HashModel
from ...search import HammingIndex, SearchResult
from ...types import CodeArray
from ...validation import check_count
from ..filter_syntax import Node, parse
from ..hashed import ModelReplacedError
from ..ids import read_ids
from ..protocol import Hit, Id
from .filter_sql import select_rows
from .payloads import fetch_payloads
from .reading import Reading
from .snapshot import Snapshot

__all__ = ["Searching"]

#: Number of scans without the lock. If the content changes during each of them, the next one holds the lock.
_UNLOCKED_SCANS = 2


@dataclass(frozen=True)
class _Query:
    """Checked arguments of a search.

    ``model`` is the model that made the codes; None if the user is responsible for that. ``leave_out``
    is the key of an object that must not be found.
    """

    codes: CodeArray
    into: str | None
    k: int
    where: Node | None
    caller: str
    model: HashModel | None = None
    leave_out: int | None = None


@dataclass(frozen=True)
class _Scan:
    """What a search scans without the lock: one index for each modality; its ids are positions."""

    modalities: tuple[str, ...]
    indexes: tuple[HammingIndex, ...]
    #: Version of the content that the indexes hold.
    version: int

    def run(self, query: _Query) -> list[SearchResult]:
        """Nearest positions in each modality."""
        k = query.k if query.leave_out is None else query.k + 1
        return [index.search(query.codes, k) for index in self.indexes]


class Searching(Reading):
    """The part of a collection that searches."""

    def search_codes(
        self,
        codes: CodeArray,
        *,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
    ) -> list[list[Hit]]:
        """Find the objects nearest to packed codes, uint8 of shape (q, bytes); see :meth:`search`."""
        return self._search(_query(codes, into, k, where, caller="Collection.search_codes"))

    def search_item(
        self,
        id: Id,  # noqa: A002 - it is called id everywhere else too
        *,
        modality: str | None = None,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
    ) -> list[Hit]:
        """Find the objects nearest to a stored one, which is itself left out.

        Parameters
        ----------
        id : int or str
        modality : str, optional
            The query is the object's code in this modality; by default the one that is not searched in.
        into, k, where
            See :meth:`search`.

        Returns
        -------
        list of Hit
        """
        caller = "Collection.search_item"
        while True:
            with self._reading() as snapshot:
                (item,) = self.get([id], modality=modality)
                (key,) = snapshot.keys_of(read_ids([id], caller=caller, unique=True)).tolist()
                model = self._current_model(snapshot)
            options = [m for m in item.codes if m != into] or list(item.codes)
            if len(options) > 1:
                raise InputError(
                    f"{caller}: {id!r} has codes of {', '.join(map(repr, options))}. "
                    "Say which one is the query: modality=..."
                )
            query = _query(item.codes[options[0]], into, k, where, caller=caller)
            with suppress(ModelReplacedError):
                return self._search(replace(query, model=model, leave_out=key))[0]

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
        query = _query(codes, into, k, where, caller="Collection.search_arrays")
        with self._reading() as snapshot:
            into = self._known_modality(into, snapshot, query.caller)
            scan = self._prepare_scan(snapshot, replace(query, into=into))
        (found,) = scan.run(query)
        # Keys and string ids are only ever appended to a snapshot: they can be read without the lock.
        keys = snapshot.modality_codes[into].keys[found.ids]
        if snapshot.id_kind != "str":
            return keys, found.distances
        ids = np.empty(keys.size, dtype=object)
        ids[:] = snapshot.string_ids.of(keys.ravel())
        return ids.reshape(keys.shape), found.distances

    def _search_encoded(
        self, model: HashModel, codes: CodeArray, into: str | None, k: int, where: Any
    ) -> list[list[Hit]]:
        query = _query(codes, into, k, where, caller="Collection.search")
        return self._search(replace(query, model=model))

    def _search(self, query: _Query) -> list[list[Hit]]:
        """The three steps of a search: take the indexes, scan them, read ids and payloads."""
        for _ in range(_UNLOCKED_SCANS):
            with self._reading() as snapshot:
                scan = self._prepare_scan(snapshot, query)
            found = scan.run(query)
            with self._reading() as snapshot:
                if self._version == scan.version:
                    return self._hits(snapshot, query, scan, found)
        with self._reading() as snapshot:
            scan = self._prepare_scan(snapshot, query)
            return self._hits(snapshot, query, scan, scan.run(query))

    def _prepare_scan(self, snapshot: Snapshot, query: _Query) -> _Scan:
        """The indexes that a query searches; within a transaction."""
        if query.model is not None and query.model is not self._current_model(snapshot):
            raise ModelReplacedError
        check_codes(query.codes, n_bits=snapshot.n_bits, caller=query.caller)
        modalities = self._chosen(query.into, snapshot, query.caller)
        indexes = tuple(self._index(snapshot, modality, query.where) for modality in modalities)
        return _Scan(modalities, indexes, self._version)

    def _index(self, snapshot: Snapshot, modality: str, where: Node | None) -> HammingIndex:
        """The index of a modality, or of the objects in it that match a filter; within a transaction."""
        stored = snapshot.modality_codes[modality]
        if where is None:
            return stored.index
        index = self._filters.get(modality, where)
        if index is None:
            index = stored.part(select_rows(self._db, where, stored))
            self._filters.put(modality, where, index)
        return index

    def _hits(
        self, snapshot: Snapshot, query: _Query, scan: _Scan, found: list[SearchResult]
    ) -> list[list[Hit]]:
        """Hits with ids and payloads, nearest first over all modalities; within a transaction."""
        stored = [snapshot.modality_codes[modality] for modality in scan.modalities]
        keys = np.hstack([codes.keys[part.ids] for codes, part in zip(stored, found, strict=True)])
        distances = np.hstack([part.distances for part in found])
        sources = np.hstack([np.full(part.ids.shape, n) for n, part in enumerate(found)])
        order = np.argsort(distances, axis=1, kind="stable")
        keys, distances, sources = (np.take_along_axis(a, order, axis=1) for a in (keys, distances, sources))
        ids = np.array(snapshot.ids_of(keys.ravel()), dtype=object).reshape(keys.shape)
        payloads = fetch_payloads(self._db, keys)
        rows = zip(ids.tolist(), keys.tolist(), distances.tolist(), sources.tolist(), strict=True)
        return [
            [
                Hit(id_, distance, payloads.get(key, {}), scan.modalities[source])
                for id_, key, distance, source in zip(*row, strict=True)
                if key != query.leave_out
            ][: query.k]
            for row in rows
        ]


def _query(codes: Any, into: str | None, k: Any, where: Any, *, caller: str) -> _Query:
    k = check_count(k, "k", caller=caller)
    node = None if where is None else parse(where, caller=caller)
    return _Query(np.atleast_2d(codes), into, k, node, caller)
