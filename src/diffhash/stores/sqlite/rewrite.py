"""Rewriting the streams of a collection: without removed objects, or with codes of a new model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...codes import code_bytes
from ...errors import InputError, ParameterError
from ...model import HashModel
from ...types import CodeArray
from ..fused_objects import check_can_fuse, fuse_objects
from ..ids import Ids, check_kind, read_ids
from . import segments
from .database import Database
from .description import next_generation, set_meta
from .segments import STRING_IDS, codes_stream, removals_stream
from .snapshot import Snapshot
from .string_ids import pack_strings

__all__ = ["encode_all", "rewrite_streams"]

_BLOCK = 200_000


def rewrite_streams(db: Database, snapshot: Snapshot, codes: Mapping[str, CodeArray] | None = None) -> None:
    """Write all streams again without removed entries; within a transaction.

    ``codes`` by modality are the new codes of the stored objects, in order; by default the codes stay.
    The generation goes up, so that everyone who has read the file reads it again.
    """
    kept = []
    for number, modality in enumerate(snapshot.modalities):
        stored = snapshot.modality_codes[modality]
        positions = stored.positions()
        keys = stored.keys[positions]
        kept.append(keys)
        block = stored.codes_at(positions) if codes is None else codes[modality]
        segments.clear(db, codes_stream(number))
        segments.clear(db, removals_stream(number))
        segments.append(db, codes_stream(number), 0, keys, np.ascontiguousarray(block).tobytes())
    if snapshot.id_kind == "str":
        segments.clear(db, STRING_IDS)
        keys = np.unique(np.concatenate(kept))
        for begin in range(0, len(keys), _BLOCK):
            block_keys = keys[begin : begin + _BLOCK]
            segments.append(db, STRING_IDS, begin, block_keys, pack_strings(snapshot.ids_of(block_keys)))
    set_meta(db, {"generation": next_generation(snapshot.generation)})


def encode_all(snapshot: Snapshot, model: HashModel, features: Any, *, caller: str) -> dict[str, CodeArray]:
    """Codes of all stored objects, made by a new model; an error if features are missing."""
    if set(model.modalities) != set(snapshot.model_modalities):
        raise ParameterError(
            f"{caller}: the collection has the modalities {', '.join(map(repr, snapshot.model_modalities))}, "
            f"the new model {', '.join(map(repr, model.modalities))}. Fit it on the same ones."
        )
    if snapshot.fused is not None:
        check_can_fuse(model, snapshot.fused, caller=caller)
    if not isinstance(features, Mapping):
        raise InputError(f"{caller}: features must be a dict of (ids, features) by modality.")
    codes = {}
    for modality in snapshot.modalities:
        stored = snapshot.modality_codes[modality]
        wanted = stored.keys[stored.positions()]
        given = features.get(modality)
        if given is None and not len(wanted):
            codes[modality] = np.zeros((0, code_bytes(model.n_bits)), np.uint8)
            continue
        if given is None:
            raise InputError(
                f"{caller}: features of modality {modality!r} are missing. Without them its objects cannot be "
                "encoded again, and their old codes do not fit the new model. Nothing was changed."
            )
        try:
            ids, X = given
        except (TypeError, ValueError):
            raise InputError(f"{caller}: features[{modality!r}] must be (ids, features).") from None
        if modality == snapshot.fused:
            fused = fuse_objects(model, X, ids, raw=False, caller=caller)
            ids, encoded = fused.ids, fused.codes
        else:
            encoded = model.encode(X, modality=modality)
        chosen = read_ids(ids, caller=caller, unique=True)
        check_kind(chosen, snapshot.id_kind, caller=caller)
        rows = _rows(snapshot, chosen, wanted, modality, caller)
        if len(encoded) != len(chosen):
            raise InputError(
                f"{caller}: modality {modality!r} has {len(chosen)} ids and {len(encoded)} rows of features."
            )
        codes[modality] = encoded[rows]
    return codes


def _rows(snapshot: Snapshot, ids: Ids, wanted: Any, modality: str, caller: str) -> Any:
    """The row of each wanted key among the ids."""
    keys = snapshot.keys_of(ids)
    order = np.argsort(keys, kind="stable")
    places = np.minimum(np.searchsorted(keys, wanted, sorter=order), max(len(keys) - 1, 0))
    missing = wanted if not len(keys) else wanted[keys[order[places]] != wanted]
    if len(missing):
        raise InputError(
            f"{caller}: features of {len(missing)} stored objects of modality {modality!r} are missing, "
            f"for example of {snapshot.ids_of(missing[:1])[0]!r}. Nothing was changed."
        )
    if len(keys) != len(wanted):
        raise InputError(
            f"{caller}: modality {modality!r} has {len(wanted)} stored objects, features of {len(keys)} were given. "
            "Add new objects after the refit. Nothing was changed."
        )
    return order[places] if len(keys) else order
