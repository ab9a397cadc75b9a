"""The content of a collection in memory, read from its file and kept up to date with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codes import code_bytes
from ...errors import CollectionFileError
from ...types import BoolArray
from ..ids import Ids
from . import segments
from .database import Database
from .description import Description, read_description
from .modality_codes import ModalityCodes, code_block, from_parts
from .segments import STRING_IDS, codes_stream, removals_stream
from .sqlite_errors import damage_is_reported
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
    has_model : bool
        False if the codes were made elsewhere.
    modalities : tuple of str
    fused : str or None
        The one of them that holds fused codes.
    id_kind : str
        "int", "str", or "" before the first object is added.
    next_key : int
        Key of the next object that gets none from the user.
    modality_codes : dict of ModalityCodes by modality
    string_ids : StringIds
    words : tuple of str
        Payload fields of the word index; empty if there is none.
    """

    def __init__(self, db: Database) -> None:
        described = read_description(db)
        self.identity = described.identity
        self.generation = described.generation
        self.n_bits = described.n_bits
        self.has_model = described.has_model
        self.modalities = described.modalities
        self.fused = described.fused
        self.id_kind = described.id_kind
        self.next_key = described.next_key
        self.words = described.words
        self.string_ids = StringIds()
        self.modality_codes: dict[str, ModalityCodes] = {}
        self._path = db.path
        with damage_is_reported(db.path):
            for number, modality in enumerate(self.modalities):
                parts = self._code_segments(db, described, number, 0)
                self.modality_codes[modality] = from_parts(
                    self.n_bits, ((part.keys, part.data) for part in parts)
                )
            self._read_string_ids(db, described)
            self._read_removals(db, described)

    @property
    def model_modalities(self) -> tuple[str, ...]:
        """Modalities that the model encodes: all but the one of fused codes."""
        return tuple(name for name in self.modalities if name != self.fused)

    def refresh(self, db: Database) -> Snapshot:
        """Read what others have written since. Returns a new snapshot if the streams were rewritten."""
        described = self._read_own_description(db)
        if described.generation != self.generation:
            return Snapshot(db)
        self.id_kind, self.next_key = described.id_kind, described.next_key
        self.words = described.words
        width = code_bytes(self.n_bits)
        with damage_is_reported(db.path):
            # String ids come first: a search in another thread may find a new code at once and reads its id.
            self._read_string_ids(db, described)
            for number, modality in enumerate(self.modalities):
                stored = self.modality_codes[modality]
                for part in self._code_segments(db, described, number, stored.n_positions):
                    codes = code_block(part.data, len(part.keys), width)
                    stored.add(codes[part.skip :], part.keys[part.skip :])
            self._read_removals(db, described)
        return self

    def reread(self, db: Database) -> Snapshot:
        """A new snapshot of the same collection; this one may be incomplete."""
        self._read_own_description(db)
        return Snapshot(db)

    def _read_own_description(self, db: Database) -> Description:
        """The description of the collection; an error if the file holds another collection now."""
        described = read_description(db)
        if described.identity != self.identity:
            raise CollectionFileError(
                f"Collection: {db.path} was replaced by another collection while it was open. Open it again."
            )
        return described

    def _code_segments(
        self, db: Database, described: Description, number: int, known: int
    ) -> Iterator[segments.Segment]:
        stream = codes_stream(number)
        return segments.read(db, stream, known, width=code_bytes(self.n_bits), total=described.total(stream))

    def _read_string_ids(self, db: Database, described: Description) -> None:
        total = described.total(STRING_IDS)
        for part in segments.read(db, STRING_IDS, len(self.string_ids), width=None, total=total):
            self.string_ids.append(part.keys, part.data, part.skip)
        # Otherwise the next string id would get a number in use, which shows only after it is written.
        if self.string_ids.last_key >= described.next_key:
            raise ValueError("the number of the next string id is in use already")

    def _read_removals(self, db: Database, described: Description) -> None:
        for number, modality in enumerate(self.modalities):
            stored, stream = self.modality_codes[modality], removals_stream(number)
            parts = segments.read(
                db,
                stream,
                stored.n_removals,
                width=0,
                most=stored.n_positions,
                total=described.total(stream),
            )
            for part in parts:
                positions = part.keys[part.skip :]
                if positions.min() < 0 or positions.max() >= stored.n_positions:
                    raise ValueError("a code was removed that never existed")
                stored.remove(positions)

    def ids_of(self, keys: NDArray[np.int64]) -> list[Any]:
        """Ids of keys, as Python ints or strings."""
        if self.id_kind != "str":
            return list(keys.tolist())
        with damage_is_reported(self._path):
            return self.string_ids.of(keys)

    def keys_of(self, ids: Ids) -> NDArray[np.int64]:
        """Keys of ids. A string that was never stored gets -1, which is not the key of any object."""
        if ids.kind != "str":
            return ids.numbers
        with damage_is_reported(self._path):
            return self.string_ids.keys_of(ids.strings)

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
