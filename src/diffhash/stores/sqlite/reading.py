"""Reading a collection: counts, objects by id, and all objects in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, UnknownIdError
from ...search import HammingIndex
from ...types import CodeArray
from ...validation import check_count
from ..filter_syntax import Node, by_similarity, fields_of, parse
from ..ids import check_kind, read_ids
from ..protocol import Item
from .filter_sql import field_has_value, sample_fields, select_rows
from .payloads import fetch_payloads
from .snapshot import Snapshot
from .stored_model import StoredModel

__all__ = ["ReadMixin"]


class ReadMixin(StoredModel):
    """The part of a collection that reads objects."""

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        return self._snapshot.n_bits

    @property
    def modalities(self) -> tuple[str, ...]:
        """Modalities of the model, and the one of fused codes if there is one."""
        return self._snapshot.modalities

    @property
    def fused_modality(self) -> str | None:
        """The modality that holds fused codes; None if there is none."""
        return self._snapshot.fused

    @property
    def id_kind(self) -> str:
        """Kind of the ids: "int", "str", or "" before the first object is added."""
        with self._reading() as snapshot:
            return snapshot.id_kind

    @property
    def next_id(self) -> int:
        """The id of the next object that is added without one, if ids are whole numbers."""
        with self._reading() as snapshot:
            return snapshot.next_key

    def __len__(self) -> int:
        with self._reading() as snapshot:
            if self._count is None:
                self._count = snapshot.count()
            return self._count

    def __contains__(self, id: object) -> bool:  # noqa: A002 - it is called id everywhere else too
        if isinstance(id, bool) or not isinstance(id, int | np.integer | str):
            return False
        try:
            ids = read_ids([id], caller="Collection", unique=True)
        except InputError:  # more than 64 bits, or not valid Unicode
            return False
        with self._reading() as snapshot:
            return ids.kind == snapshot.id_kind and bool(snapshot.has_any(snapshot.keys_of(ids))[0])

    def get(self, ids: Any, *, modality: str | None = None) -> list[Item]:
        """Objects by their ids.

        Parameters
        ----------
        ids : list of ids, or one id
        modality : str, optional
            Return only codes of this modality; by default all codes of an object.

        Returns
        -------
        list of Item
            In the order of the ids.

        Raises
        ------
        UnknownIdError
            If an id is not in the collection; ``id in collection`` tells whether it is.
        """
        caller = "Collection.get"
        wanted = read_ids(ids, caller=caller, unique=False)
        with self._reading() as snapshot:
            check_kind(wanted, snapshot.id_kind, caller=caller)
            items = self._items(snapshot, snapshot.keys_of(wanted), modality, caller)
        for row, item in enumerate(items):
            if not item.codes:
                raise UnknownIdError(
                    f"{caller}: there is no object with id {wanted[row]!r}"
                    + ("." if modality is None else f" in modality {modality!r}.")
                )
        return items

    def find(self, ids: Any) -> list[Item | None]:
        """Objects by their ids, in the order of the ids; None for an id that is not there."""
        caller = "Collection.find"
        wanted = read_ids(ids, caller=caller, unique=False)
        with self._reading() as snapshot:
            if wanted.kind != snapshot.id_kind:
                return [None] * len(wanted)
            items = self._items(snapshot, snapshot.keys_of(wanted), None, caller)
        return [item if item.codes else None for item in items]

    def ids(self, modality: str | None = None) -> list[Any]:
        """Ids of all objects, or of those with one modality, in the order in which they were added."""
        with self._reading() as snapshot:
            chosen = self._chosen(modality, snapshot, "Collection.ids")
            stored = [snapshot.modality_codes[name] for name in chosen]
            return snapshot.ids_of(_distinct([codes.keys[codes.positions()] for codes in stored]))

    def iterate(self, modality: str | None = None, batch: int = 10_000) -> Iterator[list[Item]]:
        """All objects in blocks, in the order in which they were added.

        Parameters
        ----------
        modality : str, optional
            Return only objects that have this modality, and only its codes.
        batch : int
            Maximum number of objects in a block.

        Yields
        ------
        list of Item
            Objects that are removed during the iteration are left out. Objects that are added during
            the iteration may be missing.
        """
        caller = "Collection.iterate"
        batch = check_count(batch, "batch", caller=caller)
        with self._reading() as snapshot:
            stored = [snapshot.modality_codes[m] for m in self._chosen(modality, snapshot, caller)]
            keys = _distinct([codes.keys[codes.positions()] for codes in stored])
        for begin in range(0, len(keys), batch):
            with self._reading() as snapshot:
                items = self._items(snapshot, keys[begin : begin + batch], modality, caller)
            items = [item for item in items if item.codes]
            if items:
                yield items

    def unknown_fields(self, where: Mapping[str, Any]) -> dict[str, list[str]]:
        """Tell which fields of a filter no payload has, and which fields could be meant.

        Parameters
        ----------
        where : dict
            A filter, as :meth:`search` takes it.

        Returns
        -------
        dict of lists of str by field
            The fields of (a sample of) the payloads, the most similar name first. Fields that a payload has, with
            a value that is not None, are left out.
        """
        node = parse(where, caller="Collection.unknown_fields")
        with self._reading():
            missing = [name for name in sorted(fields_of(node)) if not field_has_value(self._db, name)]
            known = sample_fields(self._db) if missing else []
        return {name: by_similarity(name, known) for name in missing}

    def _items(
        self, snapshot: Snapshot, keys: NDArray[np.int64], modality: str | None, caller: str
    ) -> list[Item]:
        """Objects by key; an unknown key gives an object without codes."""
        codes: list[dict[str, CodeArray]] = [{} for _ in keys]
        for name in self._chosen(modality, snapshot, caller):
            stored = snapshot.modality_codes[name]
            positions = stored.find(keys)
            rows = np.flatnonzero(positions >= 0)
            for row, code in zip(rows.tolist(), stored.codes_at(positions[rows]), strict=True):
                codes[row][name] = code
        known = [row for row, found in enumerate(codes) if found]
        ids: list[Any] = [None] * len(keys)
        for row, id_ in zip(known, snapshot.ids_of(keys[known]), strict=True):
            ids[row] = id_
        payloads = fetch_payloads(self._db, keys)
        return [
            Item(i, c, payloads.get(key, {})) for i, c, key in zip(ids, codes, keys.tolist(), strict=True)
        ]

    def _index(self, snapshot: Snapshot, modality: str, where: Node | None) -> HammingIndex:
        """The index of a modality, or of the objects in it that match a filter; within a transaction."""
        stored = snapshot.modality_codes[modality]
        if where is None:
            return stored.index
        index = self._filters.get(modality, where)
        if index is None:
            index = stored.index_of_rows(select_rows(self._db, where, stored))
            self._filters.put(modality, where, index)
        return index

    def _chosen(self, modality: str | None, snapshot: Snapshot, caller: str) -> tuple[str, ...]:
        """The given modality, or all if it is None."""
        return (
            snapshot.modalities if modality is None else (self._known_modality(modality, snapshot, caller),)
        )


def _distinct(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Each key once, in the order of its first occurrence."""
    if len(parts) == 1:
        return parts[0]
    keys = np.concatenate(parts)
    return keys[np.sort(np.unique(keys, return_index=True)[1])]
