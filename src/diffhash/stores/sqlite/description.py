"""The description of a collection: the table ``meta`` without the model, read and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ...errors import CollectionFileError
from ...native.argument_checks import MAX_BITS
from .database import Database
from .schema import has_words_table
from .seal import description_checksum
from .totals import Total, read_totals

__all__ = ["Description", "next_generation", "read_description", "set_meta"]

_MAX_NUMBER = 2**63 - 1
#: Checksum of the model of a collection without a model, which has no bytes.
NO_MODEL = sha256(b"").hexdigest()


@dataclass(frozen=True)
class Description:
    """What a collection is, and how much of everything it has.

    Attributes
    ----------
    identity : str
        Random name of the collection; another file has another one.
    generation : int
        Counts how often the streams were rewritten.
    n_bits : int
    has_model : bool
        False if the codes were made elsewhere.
    modalities : tuple of str
    fused : str or None
        The one of them that holds fused codes.
    id_kind : str
        "int", "str", or "" before the first object is added.
    next_key : int
    totals : dict of Total by part, or None
        None in format 1, which has none.
    words : tuple of str
        Payload fields of the word index; empty if there is none.
    """

    identity: str
    generation: int
    n_bits: int
    has_model: bool
    modalities: tuple[str, ...]
    fused: str | None
    id_kind: str
    next_key: int
    totals: dict[int, Total] | None
    words: tuple[str, ...] = ()

    def total(self, part: int) -> Total | None:
        """Total of a part; None if the format has none."""
        return None if self.totals is None else self.totals.get(part, Total())


def read_description(db: Database) -> Description:
    """Read and check the description; within a transaction."""
    db.check_schema_unchanged()
    meta = dict(db.execute("SELECT name, value FROM meta WHERE name <> 'model'").fetchall())
    try:
        if db.format >= 2 and meta["checksum"] != description_checksum(db):
            raise ValueError("its checksum is wrong")
        modalities = json.loads(meta["modalities"])
        whole = all(type(meta[name]) is int for name in ("generation", "next_key", "n_bits"))
        named = isinstance(modalities, list) and all(isinstance(m, str) and m for m in modalities)
        if (
            not whole
            or not 1 <= meta["n_bits"] <= MAX_BITS
            or meta["next_key"] < 0
            or meta["id_kind"] not in ("", "int", "str")
            or not isinstance(meta["identity"], str)
        ):
            raise ValueError("values out of range")
        if not named or not modalities or len(set(modalities)) != len(modalities):
            raise ValueError("modalities without different names")
        if "fused" in meta and (meta["fused"] not in modalities or len(modalities) < 2):
            raise ValueError("fused codes of an unknown modality")
        words = _word_fields(db, meta.get("words"))
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise CollectionFileError(
            f"Collection.open: {db.path} is damaged: its description cannot be read ({error}). "
            "Take the file from a backup."
        ) from error
    return Description(
        identity=meta["identity"],
        generation=meta["generation"],
        n_bits=meta["n_bits"],
        has_model=db.format < 2 or meta.get("model_sha256") != NO_MODEL,
        modalities=tuple(modalities),
        fused=meta.get("fused"),
        id_kind=meta["id_kind"],
        next_key=meta["next_key"],
        totals=read_totals(db) if db.format >= 2 else None,
        words=words,
    )


def _word_fields(db: Database, stored: Any) -> tuple[str, ...]:
    """The payload fields of the word index; ValueError if they and the table of words do not go together."""
    if db.format < 2:
        return ()
    fields = [] if stored is None else json.loads(stored)
    if not isinstance(fields, list) or not all(isinstance(field, str) for field in fields):
        raise ValueError("fields of captions without names")
    if bool(fields) != has_words_table(db):
        raise ValueError("a word index without fields, or fields without a word index")
    return tuple(fields)


def set_meta(db: Database, values: Mapping[str, Any]) -> None:
    """Change values of the description; within a transaction."""
    db.executemany(
        "UPDATE meta SET value = ? WHERE name = ?", [(value, name) for name, value in values.items()]
    )


def next_generation(generation: int) -> int:
    """The number of the next generation. Only whether two numbers differ matters, so the last is followed by 0."""
    return 0 if generation >= _MAX_NUMBER else generation + 1
