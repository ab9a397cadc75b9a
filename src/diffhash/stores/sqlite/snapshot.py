"""The content of a collection in memory, read from its file and kept up to date with it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codes import code_bytes
from ...errors import CodeError, CollectionFileError
from ...native.argument_checks import MAX_BITS
from ...types import BoolArray
from ..ids import Ids
from . import segments
from .database import Database
from .modality_codes import ModalityCodes, code_block, from_parts
from .segments import STRING_IDS, codes_stream, removals_stream
from .string_ids import StringIds

__all__ = ["Snapshot"]


class Snapshot:
    """Codes by modality, string ids, and the description of a collection.

    Attributes
    ----------
    identity : str
        Random name of the collection; another file has another one.
    generation : int
        Counts how often the streams were rewritten. Positions are valid within one generation.
    n_bits : int
    modalities : tuple of str
    id_kind : str
        "int", "str", or "" before the first object is added.
    next_key : int
        Key of the next object that gets none from the user.
    modality_codes : dict of ModalityCodes by modality
    string_ids : StringIds
    """

    def __init__(self, db: Database) -> None:
        meta = _read_meta(db)
        self.identity: str = meta["identity"]
        self.generation: int = meta["generation"]
        self.n_bits: int = meta["n_bits"]
        self.modalities: tuple[str, ...] = meta["modalities"]
        self.id_kind: str = meta["id_kind"]
        self.next_key: int = meta["next_key"]
        self.string_ids = StringIds()
        self.modality_codes: dict[str, ModalityCodes] = {}
        try:
            for number, modality in enumerate(self.modalities):
                parts = ((part.keys, part.data) for part in segments.read(db, codes_stream(number), 0))
                self.modality_codes[modality] = from_parts(self.n_bits, parts)
            self._read_string_ids(db)
            self._read_removals(db)
        except (ValueError, CodeError) as error:
            raise _damaged(db, error) from error

    def refresh(self, db: Database) -> Snapshot:
        """Read what others have written since. Returns a new snapshot if the streams were rewritten."""
        meta = self._read_own_meta(db)
        if meta["generation"] != self.generation:
            return Snapshot(db)
        self.id_kind, self.next_key = meta["id_kind"], meta["next_key"]
        width = code_bytes(self.n_bits)
        try:
            # String ids come first: a search in another thread may find a new code at once and reads its id.
            self._read_string_ids(db)
            for number, modality in enumerate(self.modalities):
                stored = self.modality_codes[modality]
                for part in segments.read(db, codes_stream(number), stored.n_positions):
                    codes = code_block(part.data, len(part.keys), width)
                    stored.add(codes[part.skip :], part.keys[part.skip :])
            self._read_removals(db)
        except (ValueError, CodeError) as error:
            raise _damaged(db, error) from error
        return self

    def reread(self, db: Database) -> Snapshot:
        """A new snapshot of the same collection; this one may be incomplete."""
        self._read_own_meta(db)
        return Snapshot(db)

    def _read_own_meta(self, db: Database) -> dict[str, Any]:
        """The description of the collection; an error if the file holds another collection now."""
        meta = _read_meta(db)
        if meta["identity"] != self.identity:
            raise CollectionFileError(
                f"Collection: {db.path} was replaced by another collection while it was open. Open it again."
            )
        return meta

    def _read_string_ids(self, db: Database) -> None:
        for part in segments.read(db, STRING_IDS, len(self.string_ids)):
            self.string_ids.append(part.keys, part.data, part.skip)

    def _read_removals(self, db: Database) -> None:
        for number, modality in enumerate(self.modalities):
            stored = self.modality_codes[modality]
            for part in segments.read(db, removals_stream(number), stored.n_removals):
                positions = part.keys[part.skip :]
                if positions.min() < 0 or positions.max() >= stored.n_positions:
                    raise ValueError("a code was removed that never existed")
                stored.remove(positions)

    def ids_of(self, keys: NDArray[np.int64]) -> list[Any]:
        """Ids of keys, as Python ints or strings."""
        return self.string_ids.of(keys) if self.id_kind == "str" else keys.tolist()

    def keys_of(self, ids: Ids) -> NDArray[np.int64]:
        """Keys of ids. A string that was never stored gets -1, which is not the key of any object."""
        return self.string_ids.keys_of(ids.strings) if ids.kind == "str" else ids.numbers

    def count(self) -> int:
        """Number of objects; one with codes in several modalities counts once."""
        filled = [stored for stored in self.modality_codes.values() if len(stored)]
        if len(filled) < 2:
            return sum(map(len, filled))
        return len(np.unique(np.concatenate([stored.keys[stored.positions()] for stored in filled])))

    def has_any(self, keys: NDArray[np.int64]) -> BoolArray:
        """Tell which keys have a code in any modality."""
        found = np.zeros(len(keys), dtype=np.bool_)
        for stored in self.modality_codes.values():
            found |= stored.find(keys) >= 0
        return found


def _read_meta(db: Database) -> dict[str, Any]:
    """The table ``meta`` without the model, checked."""
    meta = dict(db.execute("SELECT name, value FROM meta WHERE name <> 'model'").fetchall())
    try:
        modalities = json.loads(meta["modalities"])
        whole = all(type(meta[name]) is int for name in ("generation", "next_key", "n_bits"))
        in_range = whole and 1 <= meta["n_bits"] <= MAX_BITS and meta["id_kind"] in ("", "int", "str")
        named = isinstance(modalities, list) and all(isinstance(m, str) and m for m in modalities)
        if not in_range or not named or not modalities or len(set(modalities)) != len(modalities):
            raise ValueError("values out of range")
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise CollectionFileError(
            f"Collection.open: {db.path} is damaged: its description cannot be read ({error!r})."
        ) from error
    return {**meta, "modalities": tuple(modalities)}


def _damaged(db: Database, error: Exception) -> CollectionFileError:
    if isinstance(error, CollectionFileError):
        return error
    return CollectionFileError(f"Collection: {db.path} is damaged: {error}. Take the file from a backup.")
