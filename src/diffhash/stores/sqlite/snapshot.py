"""What a collection holds in memory, read from its file and kept in step with it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codes import code_bytes
from ...errors import CodeError, CollectionFileError
from ...native.checks import MAX_BITS
from . import segments
from .database import Database
from .modality_codes import ModalityCodes, code_block, from_parts
from .schema import STRING_IDS, codes_stream, removals_stream
from .string_ids import StringIds

__all__ = ["Snapshot"]


class Snapshot:
    """Shelves by modality, names, and the description of a collection."""

    def __init__(self, db: Database) -> None:
        meta = _read_meta(db)
        self.identity: str = meta["identity"]
        self.generation: int = meta["generation"]
        self.n_bits: int = meta["n_bits"]
        self.modalities: tuple[str, ...] = meta["modalities"]
        self._describe(meta)
        self.string_ids = StringIds()
        self.n_string_ids = 0
        self.modality_codes: dict[str, ModalityCodes] = {}
        try:
            for number, modality in enumerate(self.modalities):
                parts = ((s.keys, s.data) for s in segments.read(db, codes_stream(number), 0))
                self.modality_codes[modality] = from_parts(self.n_bits, parts)
            self._read_string_ids(db)
            self._read_removals(db)
        except (ValueError, CodeError) as error:
            raise _damaged(db, error) from error

    def _describe(self, meta: dict[str, Any]) -> None:
        self.id_kind: str = meta["id_kind"]
        self.next_key: int = meta["next_key"]

    def _read_own(self, db: Database) -> dict[str, Any]:
        """The description, if it is still that of the same collection."""
        meta = _read_meta(db)
        if meta["identity"] != self.identity:
            raise CollectionFileError(
                f"Collection: {db.path} was replaced by another collection while it was open. Open it again."
            )
        return meta

    def replaced(self, db: Database) -> Snapshot:
        """A new snapshot of the same collection, whatever became of this one."""
        self._read_own(db)
        return Snapshot(db)

    def refresh(self, db: Database) -> Snapshot:
        """Take in what others have written since; gives a new snapshot where that cannot be done."""
        meta = self._read_own(db)
        if meta["generation"] != self.generation:
            return Snapshot(db)
        self._describe(meta)
        width = code_bytes(self.n_bits)
        try:
            for number, modality in enumerate(self.modalities):
                stored = self.modality_codes[modality]
                for part in segments.read(db, codes_stream(number), stored.n_positions):
                    codes = code_block(part.data, len(part.keys), width)
                    stored.add(codes[part.skip :], part.keys[part.skip :])
            self._read_string_ids(db)
            self._read_removals(db)
        except (ValueError, CodeError) as error:
            raise _damaged(db, error) from error
        return self

    def _read_string_ids(self, db: Database) -> None:
        for part in segments.read(db, STRING_IDS, self.n_string_ids):
            self.string_ids.append(part.keys, part.data, part.skip)
            self.n_string_ids += len(part.keys) - part.skip

    def _read_removals(self, db: Database) -> None:
        for number, modality in enumerate(self.modalities):
            stored = self.modality_codes[modality]
            for part in segments.read(db, removals_stream(number), stored.n_removals):
                positions = part.keys[part.skip :]
                if positions.min() < 0 or positions.max() >= stored.n_positions:
                    raise ValueError("a code was removed that never was")
                stored.remove(positions)

    def ids_of(self, keys: NDArray[np.int64]) -> list[Any]:
        """Ids of keys, as Python's ints or strings."""
        return self.string_ids.of(keys) if self.id_kind == "str" else keys.tolist()

    def count(self) -> int:
        """Objects: what is stored in several modalities under one id counts once."""
        modality_codes = [stored for stored in self.modality_codes.values() if len(stored)]
        if len(modality_codes) < 2:
            return sum(map(len, modality_codes))
        return len(np.unique(np.concatenate([stored.keys[stored.positions()] for stored in modality_codes])))

    def has_any(self, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which keys have a code in any modality."""
        found = np.zeros(len(keys), dtype=np.bool_)
        for stored in self.modality_codes.values():
            found |= stored.find(keys) >= 0
        return found


def _read_meta(db: Database) -> dict[str, Any]:
    """Everything in ``meta`` but the model, checked."""
    meta = dict(db.execute("SELECT name, value FROM meta WHERE name <> 'model'").fetchall())
    try:
        modalities = json.loads(meta["modalities"])
        whole = all(type(meta[name]) is int for name in ("generation", "next_key", "n_bits"))
        fits = whole and 1 <= meta["n_bits"] <= MAX_BITS and meta["id_kind"] in ("", "int", "str")
        named = isinstance(modalities, list) and all(isinstance(m, str) and m for m in modalities)
        if not fits or not named or not modalities or len(set(modalities)) != len(modalities):
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
