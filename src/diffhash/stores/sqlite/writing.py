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
from ..payload_json import encode_payloads
from ..protocol import Id
from . import segments
from .payloads import delete_payloads, index_field, store_payloads
from .schema import STRING_IDS, codes_stream, removals_stream
from .snapshot import Snapshot
from .string_ids import pack_strings
from .transactions import Transactions

__all__ = ["Writing"]

_LAST = np.iinfo(np.int64).max
#: StringIds in one segment, at most.
_NAMES = 200_000


class Writing(Transactions):
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
        with self._writing(caller) as (snapshot, after):
            modality = self._known_modality(modality, snapshot, caller)
            check_padding(
                check_codes(codes, n_bits=snapshot.n_bits, caller=caller), snapshot.n_bits, caller=caller
            )
            if not len(codes):
                return []
            keys, names = _keys_for(snapshot, given, len(codes), caller)
            stored, number = snapshot.modality_codes[modality], snapshot.modalities.index(modality)
            old = stored.find(keys)
            there = np.flatnonzero(old >= 0)
            if len(there) and not replace:
                known = snapshot.ids_of(keys[there[:1]])[0]
                raise InputError(
                    f"{caller}: id {known!r} is there already in modality {modality!r}. "
                    "Nothing was added. Use upsert to replace it."
                )
            gone = old[there]
            segments.append(self._db, removals_stream(number), stored.n_removals, gone, b"")
            packed = self._append_string_ids(snapshot, names)
            segments.append(self._db, codes_stream(number), stored.n_positions, keys, codes.tobytes())
            store_payloads(self._db, keys, texts)
            kind = "int" if given is None else given.kind
            next_key = max(snapshot.next_key, min(int(keys.max()), _LAST - 1) + 1)
            self._set_meta({"id_kind": kind, "next_key": next_key})

            def apply() -> None:
                snapshot.id_kind, snapshot.next_key = kind, next_key
                for block, data in packed:
                    snapshot.string_ids.append(block, data)
                    snapshot.n_string_ids += len(block)
                stored.add(codes, keys)
                stored.remove(gone)

            after.append(apply)
        return keys.tolist() if given is None or kind == "int" else list(given.strings)

    def _append_string_ids(
        self, snapshot: Snapshot, names: dict[str, int]
    ) -> list[tuple[NDArray[np.int64], bytes]]:
        """Store the names that are new; gives what the snapshot has to take in."""
        packed = []
        listed, new = list(names), np.array(list(names.values()), dtype=np.int64)
        for begin in range(0, len(listed), _NAMES):
            block, data = new[begin : begin + _NAMES], pack_strings(listed[begin : begin + _NAMES])
            segments.append(self._db, STRING_IDS, snapshot.n_string_ids + begin, block, data)
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
        with self._writing(caller) as (snapshot, after):
            check_kind(wanted, snapshot.id_kind, caller=caller)
            chosen = (
                snapshot.modalities
                if modality is None
                else (self._known_modality(modality, snapshot, caller),)
            )
            keys = np.unique(_known_keys(snapshot, wanted))
            hit, left = np.zeros(len(keys), dtype=np.bool_), np.zeros(len(keys), dtype=np.bool_)
            for number, name in enumerate(snapshot.modalities):
                stored = snapshot.modality_codes[name]
                found = stored.find(keys)
                if name not in chosen:
                    left |= found >= 0
                    continue
                hit |= found >= 0
                gone = found[found >= 0]
                segments.append(self._db, removals_stream(number), stored.n_removals, gone, b"")
                after.append(lambda stored=stored, gone=gone: stored.remove(gone))  # type: ignore[misc]
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
    snapshot: Snapshot, given: Ids | None, count: int, caller: str
) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Keys of objects to be stored, and those of the names that are new."""
    if given is None:
        if snapshot.id_kind == "str":
            raise InputError(f"{caller}: the ids of this collection are strings. Give ids.")
        if snapshot.next_key > _LAST - count:
            raise InputError(f"{caller}: no whole numbers are left above {snapshot.next_key - 1}. Give ids.")
        return np.arange(snapshot.next_key, snapshot.next_key + count), {}
    check_kind(given, snapshot.id_kind, caller=caller)
    if given.kind != "str":
        return given.numbers, {}
    keys_by_id, new, keys = snapshot.string_ids.keys_by_id, {}, np.empty(count, dtype=np.int64)
    next_key = snapshot.next_key
    for row, name in enumerate(given.strings):
        key = keys_by_id.get(name)
        if key is None:
            key = new[name] = next_key
            next_key += 1
        keys[row] = key
    return keys, new


def _known_keys(snapshot: Snapshot, ids: Ids) -> NDArray[np.int64]:
    """Keys of ids, without those of names that were never stored."""
    if ids.kind != "str":
        return ids.numbers
    found = (snapshot.string_ids.key(name) for name in ids.strings)
    return np.array([key for key in found if key is not None], dtype=np.int64)
