"""Adding, replacing and removing objects: one transaction each."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codes import check_codes, check_padding
from ...errors import CollectionBusyError, CollectionError, CollectionWriteError, InputError
from ...search.known_codes import KnownCodes, find_known
from ...types import CodeArray
from ...validation import check_count
from ..caption_words import check_fields
from ..ids import Ids, check_kind, read_ids
from ..payload_json import encode_payloads
from ..protocol import AddedIds, Id
from . import segments
from .description import set_meta
from .modality_codes import ModalityCodes
from .payloads import all_payloads, delete_payloads, index_field, store_payloads
from .reading import ReadMixin
from .rewrite import rewrite_streams
from .schema import make_words_table
from .segments import STRING_IDS, codes_stream, removals_stream
from .snapshot import Snapshot
from .string_ids import pack_strings
from .word_index import add_captions, remove_all_captions

__all__ = ["WriteMixin"]

_MAX_KEY = np.iinfo(np.int64).max
#: Maximum number of string ids in one segment.
_MAX_STRINGS = 200_000
#: Removed codes are freed when they are as many as those that are stored, and at least so many.
_FREE_FROM = 100_000


class WriteMixin(ReadMixin):
    """The part of a collection that writes."""

    def add_codes(
        self,
        codes: CodeArray,
        *,
        modality: str,
        ids: Sequence[Id] | None = None,
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
        unless_within: int | None = None,
    ) -> list[Any]:
        """Store objects by their packed codes, uint8 of shape (n, bytes); see :meth:`add`."""
        caller = "Collection.add"
        if unless_within is not None:
            unless_within = check_count(unless_within, "unless_within", caller=caller, minimum=0)
        return self._put(codes, modality, ids, payloads, replace=False, radius=unless_within, caller=caller)

    def upsert_codes(
        self,
        codes: CodeArray,
        *,
        modality: str,
        ids: Sequence[Id],
        payloads: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Any]:
        """Store objects by their packed codes and replace the codes that their ids have in this modality."""
        if ids is None:
            raise InputError(
                "Collection.upsert: ids are needed to know which objects to replace. Use add for new objects."
            )
        stored = self._put(codes, modality, ids, payloads, replace=True, caller="Collection.upsert")
        self._free_removed_codes("Collection.upsert")
        return stored

    def _put(
        self,
        codes: Any,
        modality: str,
        ids: Any,
        payloads: Any,
        *,
        replace: bool,
        caller: str,
        radius: int | None = None,
    ) -> list[Any]:
        codes = check_codes(codes, caller=caller)
        given = None if ids is None else read_ids(ids, caller=caller, unique=True)
        if given is not None and len(given) != len(codes):
            raise InputError(f"{caller}: {len(codes)} objects need {len(codes)} ids, got {len(given)}.")
        texts = encode_payloads(payloads, len(codes), caller=caller)
        objects = payloads if isinstance(payloads, list | tuple) else None
        with self._writing(caller) as (snapshot, after_commit):
            modality = self._known_modality(modality, snapshot, caller)
            check_codes(codes, n_bits=snapshot.n_bits, caller=caller)
            check_padding(codes, snapshot.n_bits, caller=caller)
            stored, number = snapshot.modality_codes[modality], snapshot.modalities.index(modality)
            known = None if radius is None else find_known(stored.index, codes, radius)
            if known is not None:
                rows = np.flatnonzero(known.new)
                codes, given = codes[rows], None if given is None else given.take(rows)
                texts = [texts[row] for row in rows]
                objects = None
            if not len(codes):
                return [] if known is None else _with_known_ids(snapshot, stored, known, [])
            keys, new_strings = _keys_to_store(snapshot, given, len(codes), caller)
            positions = stored.find(keys)
            present = np.flatnonzero(positions >= 0)
            if len(present) and not replace:
                taken = snapshot.ids_of(keys[present[:1]])[0]
                raise InputError(
                    f"{caller}: id {taken!r} exists already in modality {modality!r}. "
                    "Nothing was added. Use upsert to replace it."
                )
            replaced = positions[present]
            segments.append(self._db, removals_stream(number), stored.n_removals, replaced, b"")
            packed = self._append_string_ids(snapshot, new_strings)
            segments.append(self._db, codes_stream(number), stored.n_positions, keys, codes.tobytes())
            store_payloads(self._db, keys, texts, objects)
            id_kind = "int" if given is None else given.kind
            next_key = max(snapshot.next_key, min(int(keys.max()), _MAX_KEY - 1) + 1)
            set_meta(self._db, {"id_kind": id_kind, "next_key": next_key})

            def apply() -> None:
                snapshot.id_kind, snapshot.next_key = id_kind, next_key
                for block, data in packed:
                    snapshot.string_ids.append(block, data)
                stored.add(codes, keys)
                stored.remove(replaced)

            after_commit.append(apply)
            new_ids = keys.tolist() if given is None or id_kind == "int" else list(given.strings)
            return new_ids if known is None else _with_known_ids(snapshot, stored, known, new_ids)

    def _append_string_ids(
        self, snapshot: Snapshot, new: dict[str, int]
    ) -> list[tuple[NDArray[np.int64], bytes]]:
        """Store new string ids; returns the segments that the snapshot has to add."""
        packed = []
        strings, keys = list(new), np.array(list(new.values()), dtype=np.int64)
        for begin in range(0, len(strings), _MAX_STRINGS):
            part = slice(begin, begin + _MAX_STRINGS)
            packed.append((keys[part], pack_strings(strings[part])))
            segments.append(self._db, STRING_IDS, len(snapshot.string_ids) + begin, *packed[-1])
        return packed

    def delete(self, ids: Any, *, modality: str | None = None) -> int:
        """Remove objects, or their codes in one modality.

        Parameters
        ----------
        ids : list of ids, or one id
            Ids that are not in the collection are ignored; an id that is given twice counts once.
        modality : str, optional
            By default all modalities. When the last code of an object is removed, so is its payload.

        Returns
        -------
        int
            Number of ids that had a code to remove.

        Raises
        ------
        InputError
            If the ids are strings and those of the collection are whole numbers, or the reverse.

        Examples
        --------
        >>> import diffhash as dh, pathlib, tempfile
        >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
        >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200))
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "objects.dh"
        >>> with dh.Collection.create(path, hasher) as collection:
        ...     ids = collection.add(data.test.views["x"], modality="x", ids=range(10))
        ...     collection.delete([3, 4, 99]), len(collection)
        (2, 8)
        """
        caller = "Collection.delete"
        wanted = read_ids(ids, caller=caller, unique=False)
        with self._writing(caller) as (snapshot, after_commit):
            check_kind(wanted, snapshot.id_kind, caller=caller)
            chosen = self._chosen(modality, snapshot, caller)
            keys = np.unique(snapshot.keys_of(wanted))
            removed, kept = np.zeros(len(keys), dtype=np.bool_), np.zeros(len(keys), dtype=np.bool_)
            for number, name in enumerate(snapshot.modalities):
                stored = snapshot.modality_codes[name]
                positions = stored.find(keys)
                if name not in chosen:
                    kept |= positions >= 0
                    continue
                removed |= positions >= 0
                positions = positions[positions >= 0]
                segments.append(self._db, removals_stream(number), stored.n_removals, positions, b"")
                after_commit.append(partial(stored.remove, positions))
            delete_payloads(self._db, keys[removed & ~kept])
        self._free_removed_codes(caller)
        return int(removed.sum())

    def _free_removed_codes(self, caller: str) -> None:
        """Write the codes again without the removed ones, if those have become the larger part.

        So the memory and the file of a collection in which objects come and go stay bounded, and each removal costs
        the same on average.
        """
        with self._lock:
            codes = self._snapshot.modality_codes.values()
            n_removed = sum(stored.n_removals for stored in codes)
            if n_removed < max(_FREE_FROM, sum(map(len, codes))):
                return
            # What the caller asked for is stored. If the disk has no room for a copy now, the next removal tries again.
            with (
                contextlib.suppress(CollectionWriteError, CollectionBusyError),
                self._writing(caller) as (snapshot, after_commit),
            ):
                rewrite_streams(self._db, snapshot)
                after_commit.append(self._reload)

    def index_payload(self, field: str) -> None:
        """Index a payload field: filters on it then need no pass over all payloads.

        The index takes space in the file, and time when objects are added.
        """
        caller = "Collection.index_payload"
        (field,) = check_fields([field], caller=caller)
        with self._writing(caller):
            index_field(self._db, field)

    def index_words(self, fields: str | Sequence[str]) -> None:
        """Index the words of captions, so that they can be searched: :meth:`search_raw`, :meth:`search_words`.

        Parameters
        ----------
        fields : str or list of str
            Payload fields that are captions: strings, or lists of strings. They replace the fields that were
            indexed before. Captions that are added later are indexed too.

        Raises
        ------
        CollectionError
            If the file has format 1; :meth:`upgrade` changes that.
        """
        caller = "Collection.index_words"
        chosen = check_fields(fields, caller=caller)
        with self._writing(caller) as (snapshot, after_commit):
            if self._db.format < 2:
                raise CollectionError(
                    f"{caller}: {self.path} has format version 1, which cannot hold a word index. "
                    "Call upgrade() first."
                )
            if snapshot.words == chosen:
                return
            if snapshot.words:
                remove_all_captions(self._db)
            else:
                make_words_table(self._db)
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('words', ?)", (json.dumps(list(chosen)),))
            add_captions(self._db, chosen, all_payloads(self._db))

            def apply() -> None:
                snapshot.words = chosen

            after_commit.append(apply)


def _with_known_ids(
    snapshot: Snapshot, stored: ModalityCodes, known: KnownCodes, new_ids: list[Any]
) -> AddedIds:
    """The id of each row: its own if it was added, otherwise that of the known object."""
    ids: NDArray[Any] = np.empty(len(known.new), dtype=object)
    ids[known.new] = new_ids
    by_index = known.stored >= 0
    ids[by_index] = snapshot.ids_of(stored.keys[known.stored[by_index]])
    by_row = known.earlier >= 0
    ids[by_row] = ids[known.earlier[by_row]]
    return AddedIds(ids.tolist(), known.new)


def _keys_to_store(
    snapshot: Snapshot, given: Ids | None, count: int, caller: str
) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Keys of objects to be stored, and the keys of those string ids that are new."""
    if given is None:
        if snapshot.id_kind == "str":
            raise InputError(f"{caller}: the ids of this collection are strings. Give ids.")
        if snapshot.next_key > _MAX_KEY - count:
            raise InputError(f"{caller}: no whole numbers are left above {snapshot.next_key - 1}. Give ids.")
        return np.arange(snapshot.next_key, snapshot.next_key + count), {}
    check_kind(given, snapshot.id_kind, caller=caller)
    if given.kind != "str":
        return given.numbers, {}
    keys = snapshot.keys_of(given)
    unknown = np.flatnonzero(keys < 0)
    keys[unknown] = snapshot.next_key + np.arange(len(unknown))
    return keys, {given.strings[row]: int(keys[row]) for row in unknown}
