"""Adding, replacing and removing: one transaction each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codes import check_codes, check_padding
from ...errors import FilterError, InputError
from ...native.checks import as_codes
from ...types import CodeArray
from ..ids import Ids, check_kind, read_ids
from ..protocol import Id
from . import segments
from .payloads import delete_payloads, encode_payloads, index_field, store_payloads
from .schema import NAMES, codes_stream, removals_stream
from .snapshot import State
from .string_ids import pack_names
from .transactions import Session

__all__ = ["Writing"]

_LAST = np.iinfo(np.int64).max
#: Names in one segment, at most.
_NAMES = 200_000


class Writing(Session):
    """The part of a collection that writes."""

    def add_codes(
        self,
        codes: CodeArray,
        *,
        modality: str,
        ids: Sequence[Id] | None = None,
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store objects by their packed codes, uint8 of shape (n, bytes); the rest as for :meth:`add`."""
        return self._put(codes, modality, ids, payloads, replace=False, caller="Collection.add")

    def upsert_codes(
        self,
        codes: CodeArray,
        *,
        modality: str,
        ids: Sequence[Id],
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store objects by their packed codes, in place of what their ids have in this modality."""
        if ids is None:
            raise InputError(
                "Collection.upsert: ids are needed, to know what to replace. Use add for new objects."
            )
        return self._put(codes, modality, ids, payloads, replace=True, caller="Collection.upsert")

    def _put(
        self, codes: Any, modality: str, ids: Any, payloads: Any, *, replace: bool, caller: str
    ) -> list[Any]:
        codes = as_codes(codes, caller=caller, name="codes")
        given = None if ids is None else read_ids(ids, caller=caller, unique=True)
        if given is not None and len(given) != len(codes):
            raise InputError(f"{caller}: {len(codes)} objects need {len(codes)} ids, got {len(given)}.")
        texts = encode_payloads(payloads, len(codes), caller=caller)
        with self._writing(caller) as (state, after):
            modality = self._modality(modality, state, caller)
            check_padding(check_codes(codes, n_bits=state.n_bits, caller=caller), state.n_bits, caller=caller)
            if not len(codes):
                return []
            keys, names = _keys_for(state, given, len(codes), caller)
            shelf, number = state.shelves[modality], state.modalities.index(modality)
            old = shelf.find(keys)
            there = np.flatnonzero(old >= 0)
            if len(there) and not replace:
                known = state.ids_of(keys[there[:1]])[0]
                raise InputError(
                    f"{caller}: id {known!r} is there already in modality {modality!r}. "
                    "Nothing was added. Use upsert to replace it."
                )
            gone = old[there]
            segments.append(self._db, removals_stream(number), shelf.n_removals, gone, b"")
            packed = self._append_names(state, names)
            segments.append(self._db, codes_stream(number), shelf.n_positions, keys, codes.tobytes())
            store_payloads(self._db, keys, texts)
            kind = "int" if given is None else given.kind
            next_key = max(state.next_key, min(int(keys.max()), _LAST - 1) + 1)
            self._set_meta({"id_kind": kind, "next_key": next_key})

            def apply() -> None:
                state.id_kind, state.next_key = kind, next_key
                for block, data in packed:
                    state.names.append(block, data)
                    state.n_names += len(block)
                shelf.add(codes, keys)
                shelf.remove(gone)

            after.append(apply)
        return keys.tolist() if given is None or kind == "int" else list(given.names)

    def _append_names(self, state: State, names: dict[str, int]) -> list[tuple[NDArray[np.int64], bytes]]:
        """Store the names that are new; gives what the state has to take in."""
        packed = []
        listed, new = list(names), np.array(list(names.values()), dtype=np.int64)
        for begin in range(0, len(listed), _NAMES):
            block, data = new[begin : begin + _NAMES], pack_names(listed[begin : begin + _NAMES])
            segments.append(self._db, NAMES, state.n_names + begin, block, data)
            packed.append((block, data))
        return packed

    def _set_meta(self, values: Mapping[str, Any]) -> None:
        self._db.executemany(
            "UPDATE meta SET value = ? WHERE name = ?", [(value, name) for name, value in values.items()]
        )

    def delete(self, ids: Any, *, modality: str | None = None) -> int:
        """Remove objects, or their codes of one modality.

        Parameters
        ----------
        ids : list of ids, or one id
            Those that are not there are passed over.
        modality : str, optional
            By default all of them. An object's payload goes with its last code.

        Returns
        -------
        int
            How many of the ids had something to remove.
        """
        caller = "Collection.delete"
        wanted = read_ids(ids, caller=caller, unique=False)
        with self._writing(caller) as (state, after):
            check_kind(wanted, state.id_kind, caller=caller)
            chosen = state.modalities if modality is None else (self._modality(modality, state, caller),)
            keys = np.unique(_known_keys(state, wanted))
            hit, left = np.zeros(len(keys), dtype=np.bool_), np.zeros(len(keys), dtype=np.bool_)
            for number, name in enumerate(state.modalities):
                shelf = state.shelves[name]
                found = shelf.find(keys)
                if name not in chosen:
                    left |= found >= 0
                    continue
                hit |= found >= 0
                gone = found[found >= 0]
                segments.append(self._db, removals_stream(number), shelf.n_removals, gone, b"")
                after.append(lambda shelf=shelf, gone=gone: shelf.remove(gone))  # type: ignore[misc]
            delete_payloads(self._db, keys[hit & ~left])
        return int(hit.sum())

    def index_payload(self, field: str) -> None:
        """Index a payload field: filters on it need no pass over all payloads any more.

        It costs room in the file, and time when objects are added.
        """
        caller = "Collection.index_payload"
        try:
            if not isinstance(field, str):
                raise TypeError
            field.encode()
        except (TypeError, UnicodeEncodeError):
            raise FilterError(f"{caller}: a field is named by a string, got {field!r}.") from None
        with self._writing(caller):
            index_field(self._db, field)


def _keys_for(
    state: State, given: Ids | None, count: int, caller: str
) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Keys of objects to be stored, and those of the names that are new."""
    if given is None:
        if state.id_kind == "str":
            raise InputError(f"{caller}: the ids of this collection are strings. Give ids.")
        if state.next_key > _LAST - count:
            raise InputError(f"{caller}: no whole numbers are left above {state.next_key - 1}. Give ids.")
        return np.arange(state.next_key, state.next_key + count), {}
    check_kind(given, state.id_kind, caller=caller)
    if given.kind != "str":
        return given.numbers, {}
    by_name, new, keys = state.names.by_name, {}, np.empty(count, dtype=np.int64)
    next_key = state.next_key
    for row, name in enumerate(given.names):
        key = by_name.get(name)
        if key is None:
            key = new[name] = next_key
            next_key += 1
        keys[row] = key
    return keys, new


def _known_keys(state: State, ids: Ids) -> NDArray[np.int64]:
    """Keys of ids, without those of names that were never stored."""
    if ids.kind != "str":
        return ids.numbers
    found = (state.names.key(name) for name in ids.names)
    return np.array([key for key in found if key is not None], dtype=np.int64)
