"""Finding: by code, by stored object, by id, and one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, UnknownIdError
from ...native.checks import as_count
from ...search import HammingIndex
from ...types import CodeArray
from ..filter_syntax import parse
from ..ids import Ids, check_kind, read_ids
from ..protocol import Hit, Id, Item
from .filter_sql import select_rows
from .payloads import fetch_payloads
from .snapshot import Snapshot
from .transactions import Transactions

__all__ = ["Searching"]


class Searching(Transactions):
    """The part of a collection that reads."""

    def search_codes(
        self,
        codes: CodeArray,
        *,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
    ) -> list[list[Hit]]:
        """Find the nearest objects of packed codes, uint8 of shape (q, bytes); the rest as for :meth:`search`."""
        return self._hits(codes, into, k, where, "Collection.search_codes")

    def _hits(
        self, codes: Any, into: str | None, k: Any, where: Any, caller: str, leave_out: int | None = None
    ) -> list[list[Hit]]:
        k = as_count(k, "k", 1, caller=caller)
        codes = np.atleast_2d(codes)
        with self._reading() as snapshot:
            chosen = snapshot.modalities if into is None else (self._known_modality(into, snapshot, caller),)
            more = k if leave_out is None else k + 1
            keys, distances, sources = [], [], []
            for number, modality in enumerate(chosen):
                result = self._index(snapshot, modality, where, caller).search(codes, more)
                keys.append(snapshot.modality_codes[modality].keys[result.ids])
                distances.append(result.distances)
                sources.append(np.full(result.ids.shape, number))
            key, distance = np.hstack(keys), np.hstack(distances)
            source = np.hstack(sources)
            order = np.argsort(distance, axis=1, kind="stable")
            key, distance, source = (np.take_along_axis(a, order, axis=1) for a in (key, distance, source))
            flat = key.ravel()
            ids = snapshot.ids_of(flat)
            payloads = fetch_payloads(self._db, flat)
        hits = []
        width = key.shape[1]
        for query in range(len(codes)):
            row = slice(query * width, (query + 1) * width)
            found = zip(
                ids[row], key[query].tolist(), distance[query].tolist(), source[query].tolist(), strict=True
            )
            hits.append(
                [Hit(i, d, payloads.get(n, {}), chosen[s]) for i, n, d, s in found if n != leave_out][:k]
            )
        return hits

    def search_item(
        self,
        id: Id,  # noqa: A002 - it is called id everywhere else too
        *,
        modality: str | None = None,
        into: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
    ) -> list[Hit]:
        """Find the nearest objects of a stored one, itself left out.

        Parameters
        ----------
        id : int or str
        modality : str, optional
            Of its code that is the query; by default the one that is not searched in.
        into, k, where
            As for :meth:`search`.

        Returns
        -------
        list of Hit
        """
        caller = "Collection.search_item"
        (item,) = self.get([id], modality=modality)
        options = [m for m in item.codes if m != into] or list(item.codes)
        if len(options) > 1:
            raise InputError(
                f"{caller}: {id!r} has codes of {', '.join(map(repr, options))}. "
                "Say which one is the query: modality=..."
            )
        with self._reading() as snapshot:
            own = int(_keys_of(snapshot, read_ids([id], caller=caller, unique=True))[0])
            return self._hits(item.codes[options[0]][np.newaxis], into, k, where, caller, leave_out=own)[0]

    def search_arrays(
        self, codes: CodeArray, *, into: str, k: int = 10, where: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[Any], NDArray[np.uint16]]:
        """Find the nearest objects as arrays, without their payloads: the fast way for many queries.

        Parameters
        ----------
        codes : uint8 array of shape (q, bytes)
        into, k, where
            As for :meth:`search`; ``into`` is one modality.

        Returns
        -------
        ids : array of shape (q, min(k, n))
            int64, or strings as objects.
        distances : uint16 array of the same shape
        """
        caller = "Collection.search_arrays"
        with self._lock:
            self._check_open()
            with self._db.errors():
                changed = self._db.version() != self._data_version
            if changed or self._snapshot_stale:
                with self._reading():
                    pass
            snapshot = self._snapshot
            into = self._known_modality(into, snapshot, caller)
            with self._stale_after_errors():
                index = self._index(snapshot, into, where, caller)
        # Others may search, or this collection may be added to, while this runs.
        result = index.search(codes, k)
        keys = snapshot.modality_codes[into].keys[result.ids]
        if snapshot.id_kind != "str":
            return keys, result.distances
        names = np.empty(keys.size, dtype=object)
        names[:] = snapshot.string_ids.of(keys.ravel())
        return names.reshape(keys.shape), result.distances

    def _index(self, snapshot: Snapshot, modality: str, where: Any, caller: str) -> HammingIndex:
        """The index of a modality, or of what a filter leaves of it; its ids are positions."""
        stored = snapshot.modality_codes[modality]
        if where is None:
            return stored.index
        node = parse(where, caller=caller)
        index = self._filters.get(modality, repr(node))
        if index is None:
            with self._reading() as now:
                index = stored.part(select_rows(self._db, node, stored))
                if now is snapshot:
                    self._filters.put(modality, repr(node), index)
        return index

    def get(self, ids: Any, *, modality: str | None = None) -> list[Item]:
        """Objects by their ids.

        Parameters
        ----------
        ids : list of ids, or one id
        modality : str, optional
            Give only codes of this one; by default all that an object has.

        Returns
        -------
        list of Item
            In the order of the ids. An id that is not there is an error (``id in collection`` tells).
        """
        caller = "Collection.get"
        wanted = read_ids(ids, caller=caller, unique=False)
        with self._reading() as snapshot:
            check_kind(wanted, snapshot.id_kind, caller=caller)
            keys = _keys_of(snapshot, wanted)
            items = self._items(snapshot, keys, modality, caller)
        for row, item in enumerate(items):
            if not item.codes:
                raise UnknownIdError(
                    f"{caller}: there is no object with id {wanted[row]!r}"
                    + ("." if modality is None else f" in modality {modality!r}.")
                )
        return items

    def _items(
        self, snapshot: Snapshot, keys: NDArray[np.int64], modality: str | None, caller: str
    ) -> list[Item]:
        chosen = (
            snapshot.modalities if modality is None else (self._known_modality(modality, snapshot, caller),)
        )
        codes: list[dict[str, CodeArray]] = [{} for _ in keys]
        for name in chosen:
            stored = snapshot.modality_codes[name]
            positions = stored.find(keys)
            there = np.flatnonzero(positions >= 0)
            found = stored.codes_at(positions[there])
            for row, code in zip(there.tolist(), found, strict=True):
                codes[row][name] = code
        known = np.array([bool(held) for held in codes], dtype=np.bool_)
        ids: list[Any] = [None] * len(keys)
        for row, name in zip(np.flatnonzero(known).tolist(), snapshot.ids_of(keys[known]), strict=True):
            ids[row] = name
        payloads = fetch_payloads(self._db, keys)
        return [Item(i, c, payloads.get(n, {})) for i, c, n in zip(ids, codes, keys.tolist(), strict=True)]

    def __contains__(self, id: object) -> bool:  # noqa: A002
        if isinstance(id, bool) or not isinstance(id, int | np.integer | str):
            return False
        try:
            ids = read_ids([id], caller="Collection", unique=True)
        except InputError:  # more than 64 bits, or half a character
            return False
        with self._reading() as snapshot:
            return ids.kind == snapshot.id_kind and bool(snapshot.has_any(_keys_of(snapshot, ids))[0])

    def iterate(self, modality: str | None = None, batch: int = 10_000) -> Iterator[list[Item]]:
        """All objects in blocks, in the order in which they were added.

        Parameters
        ----------
        modality : str, optional
            Only objects that have it, and only its codes.
        batch : int
            Objects in a block.

        Yields
        ------
        list of Item
            What is removed meanwhile is left out; what is added meanwhile need not come.
        """
        caller = "Collection.iterate"
        batch = as_count(batch, "batch", 1, caller=caller)
        with self._reading() as snapshot:
            chosen = (
                snapshot.modalities
                if modality is None
                else (self._known_modality(modality, snapshot, caller),)
            )
            parts = [snapshot.modality_codes[m].keys[snapshot.modality_codes[m].positions()] for m in chosen]
        keys = parts[0] if len(parts) == 1 else _in_order(np.concatenate(parts))
        for begin in range(0, len(keys), batch):
            with self._reading() as snapshot:
                items = self._items(snapshot, keys[begin : begin + batch], modality, caller)
            items = [item for item in items if item.codes]
            if items:
                yield items


def _in_order(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each key once, where it comes first."""
    return keys[np.sort(np.unique(keys, return_index=True)[1])]


def _keys_of(snapshot: Snapshot, ids: Ids) -> NDArray[np.int64]:
    """Keys of ids; a name that was never stored gets one that no object has."""
    if ids.kind != "str":
        return ids.numbers
    return np.array([snapshot.string_ids.keys_by_id.get(name, -1) for name in ids.strings], dtype=np.int64)
