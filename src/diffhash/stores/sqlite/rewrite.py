"""Writing a collection anew within its file: without what was removed, or with other codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import InputError, ParameterError
from ...hashers.base import BaseHasher
from ...native.checks import MAX_BITS
from ...types import CodeArray
from ..ids import Ids, check_kind, read_ids
from . import segments
from .database import Database
from .schema import NAMES, codes_stream, removals_stream
from .snapshot import State
from .string_ids import pack_names

__all__ = ["check_bits", "encode_anew", "store_model", "write_anew"]

_BLOCK = 200_000


def check_bits(hasher: BaseHasher, *, caller: str) -> None:
    """Refuse a model whose codes could be stored but not searched."""
    if hasher.n_bits > MAX_BITS:
        raise ParameterError(
            f"{caller}: a collection holds codes of at most {MAX_BITS} bits, the model makes {hasher.n_bits}. "
            "Fit one with fewer bits. Nothing was written."
        )


def write_anew(db: Database, state: State, codes: Mapping[str, CodeArray] | None = None) -> None:
    """Write all streams again, in the order of their entries; within a transaction.

    ``codes`` by modality are those of the objects that are there, in order; by default their own.
    Who has read the file before has to read it again: its generation goes up.
    """
    kept = []
    for number, modality in enumerate(state.modalities):
        shelf = state.shelves[modality]
        positions = shelf.positions()
        keys = shelf.keys[positions]
        kept.append(keys)
        block = shelf.codes_at(positions) if codes is None else codes[modality]
        segments.clear(db, codes_stream(number))
        segments.clear(db, removals_stream(number))
        segments.append(db, codes_stream(number), 0, keys, np.ascontiguousarray(block).tobytes())
    if state.id_kind == "str":
        segments.clear(db, NAMES)
        keys = np.unique(np.concatenate(kept))
        for begin in range(0, len(keys), _BLOCK):
            block_keys = keys[begin : begin + _BLOCK]
            segments.append(db, NAMES, begin, block_keys, pack_names(state.names.of(block_keys)))
    db.execute("UPDATE meta SET value = value + 1 WHERE name = 'generation'")


def encode_anew(state: State, hasher: BaseHasher, features: Any, *, caller: str) -> dict[str, CodeArray]:
    """Codes of everything that is stored, by a new model; refuses if features of something are missing."""
    if set(hasher.modalities_) != set(state.modalities):
        raise ParameterError(
            f"{caller}: the collection has the modalities {', '.join(map(repr, state.modalities))}, "
            f"the new model {', '.join(map(repr, hasher.modalities_))}. Fit it on the same ones."
        )
    if not isinstance(features, Mapping):
        raise InputError(f"{caller}: features must be a dict of (ids, features) by modality.")
    codes = {}
    for modality in state.modalities:
        shelf = state.shelves[modality]
        wanted = shelf.keys[shelf.positions()]
        given = features.get(modality)
        if given is None and not len(wanted):
            given = [], np.empty((0, hasher.n_features_in_[modality]))
        if given is None:
            raise InputError(
                f"{caller}: features of modality {modality!r} are missing. Without them its codes cannot be "
                "made anew, and old ones do not fit the new model. Nothing was changed."
            )
        try:
            ids, X = given
        except (TypeError, ValueError):
            raise InputError(f"{caller}: features[{modality!r}] must be (ids, features).") from None
        chosen = read_ids(ids, caller=caller, unique=True)
        check_kind(chosen, state.id_kind, caller=caller)
        rows = _rows(state, chosen, wanted, modality, caller)
        encoded = hasher.encode(X, modality=modality)
        if len(encoded) != len(chosen):
            raise InputError(
                f"{caller}: modality {modality!r} has {len(chosen)} ids and {len(encoded)} rows of features."
            )
        codes[modality] = encoded[rows]
    return codes


def _rows(state: State, ids: Ids, wanted: Any, modality: str, caller: str) -> Any:
    """The row of each wanted key among the ids."""
    if ids.kind == "str":
        keys = np.array([state.names.by_name.get(name, -1) for name in ids.names], dtype=np.int64)
    else:
        keys = ids.numbers
    order = np.argsort(keys, kind="stable")
    places = np.minimum(np.searchsorted(keys, wanted, sorter=order), max(len(keys) - 1, 0))
    missing = wanted if not len(keys) else wanted[keys[order[places]] != wanted]
    if len(missing):
        raise InputError(
            f"{caller}: features of {len(missing)} stored objects of modality {modality!r} are missing, "
            f"of {state.ids_of(missing[:1])[0]!r} for one. Nothing was changed."
        )
    if len(keys) != len(wanted):
        raise InputError(
            f"{caller}: modality {modality!r} has {len(wanted)} stored objects, features of {len(keys)} were given. "
            "Add new objects after the refit. Nothing was changed."
        )
    return order[places] if len(keys) else order


def store_model(db: Database, hasher: BaseHasher) -> None:
    """Replace the model; within a transaction."""
    db.execute("UPDATE meta SET value = ? WHERE name = 'model'", (hasher.model_.to_bytes(),))
    db.execute("UPDATE meta SET value = ? WHERE name = 'n_bits'", (int(hasher.n_bits),))
