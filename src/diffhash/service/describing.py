"""What a service tells about its store: counts, fields of payloads, and the calibration of its model."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from ..errors import CalibrationError, UnsupportedCallError
from ..search.calibration import chance_at, false_match_limit
from ..stores import Item
from ..stores.engine_store import EngineStore
from ..workflows.model_files import describe_model
from .settings import ServeSettings

__all__ = ["describe_calibration", "describe_fields", "describe_item", "describe_store"]

#: Objects that are looked at to describe fields.
_SAMPLE = 1_000
#: Fields and values of a field that are listed.
_MOST_FIELDS, _MOST_VALUES = 100, 20
#: A longer text is not a value to choose from.
_LONGEST = 100
#: Mean numbers of wrong hits for which radii are listed.
_PROMISES = (0.01, 0.1, 1.0, 10.0)


def describe_store(store: Any, settings: ServeSettings, model_tag: str) -> dict[str, Any]:
    """Sizes, modalities, the model, and what the service allows."""
    model = None
    if store.has_model:
        model = describe_model(store.model).to_dict()
        model["calibrated"] = store.model.calibration is not None
        model["fuses"] = store.model.fusion_slopes is not None
    # Where the store is concerns nobody outside.
    hidden = ("path", "address", "model", "details")
    stats = {name: value for name, value in asdict(store.stats()).items() if name not in hidden}
    return {
        **stats,
        "modalities": list(store.modalities),
        "word_fields": list(store.word_fields),
        "caption_fields": _caption_fields(store),
        "next_id": _next_id(store),
        "model": model,
        "model_sha256": model_tag,
        "capabilities": asdict(store.capabilities),
        "writable": settings.writable,
        "limits": asdict(settings.limits),
    }


def _caption_fields(store: Any) -> list[str]:
    """Payload fields that are captions. A store without a word index remembers them for a copy in a file."""
    return list(store.description.words if isinstance(store, EngineStore) else store.word_fields)


def _next_id(store: Any) -> int | None:
    """The id of the next object that is added without one; None if the store cannot tell."""
    try:
        return int(store.next_id)
    except UnsupportedCallError:
        return None


def describe_item(item: Item) -> dict[str, Any]:
    """A stored object as plain values; codes in hexadecimal digits."""
    codes = {name: code.tobytes().hex() for name, code in item.codes.items()}
    return {"id": item.id, "codes": codes, "payload": item.payload}


def describe_fields(store: Any) -> dict[str, Any]:
    """Fields of the payloads of the first objects, and their most frequent values."""
    items: list[Item] = next(iter(store.iterate(batch=_SAMPLE)), [])
    kinds: dict[str, Counter[str]] = {}
    values: dict[str, Counter[Any]] = {}
    numbers: dict[str, list[float]] = {}
    for item in items:
        for name, value in item.payload.items():
            if name not in kinds and len(kinds) >= _MOST_FIELDS:
                continue
            kinds.setdefault(name, Counter())[_kind(value)] += 1
            if isinstance(value, str | bool) and len(str(value)) <= _LONGEST:
                values.setdefault(name, Counter())[value] += 1
            elif isinstance(value, int | float):
                numbers.setdefault(name, []).append(value)
    fields = []
    for name, found in kinds.items():
        listed = values.get(name, Counter()).most_common(_MOST_VALUES)
        about: dict[str, Any] = {"name": name, "kinds": dict(found)}
        about["values"] = [{"value": value, "count": count} for value, count in listed]
        if name in numbers:
            about |= {"smallest": min(numbers[name]), "largest": max(numbers[name])}
        fields.append(about)
    return {"sampled": len(items), "objects": len(store), "fields": fields}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "list" if isinstance(value, list) else "object"


def describe_calibration(store: Any) -> dict[str, Any]:
    """How good searches are in each direction, from the counts of held-out pairs in the model."""
    calibration = store.model.calibration if store.has_model else None
    if calibration is None:
        return {"calibrated": False, "directions": []}
    sizes = store.stats().n_codes
    directions = []
    for (query, into), couple in calibration.couples.items():
        n_items = int(sizes.get(into, 0))
        chances = chance_at(couple, n_items) if n_items else None
        directions.append(
            {
                "modality": query,
                "into": into,
                "items": n_items,
                "similar_pairs": couple.n_similar,
                "dissimilar_pairs": couple.n_dissimilar,
                "similar_by_distance": couple.counts[1, 0].tolist(),
                "dissimilar_by_distance": couple.counts[0, 0].tolist(),
                "recall_by_distance": couple.recall_hamming,
                "recall_by_values": couple.recall_asymmetric,
                "rank": "asymmetric" if couple.prefers_asymmetric else "hamming",
                "chance_by_distance": None if chances is None else chances.tolist(),
                "promises": [_promise(couple, n_items, wrong) for wrong in _PROMISES] if n_items else [],
            }
        )
    return {"calibrated": True, "directions": directions}


def _promise(couple: Any, n_items: int, wrong: float) -> dict[str, Any]:
    """The radius with at most so many wrong hits, and how many of the right ones are within it."""
    try:
        limit = false_match_limit(couple, n_items, wrong, caller="evaluation")
    except CalibrationError:
        return {"max_false_matches": wrong, "radius": None, "found": None}
    similar = couple.counts[1, 0]
    found = float(similar[: limit.radius + 1].sum() / max(similar.sum(), 1))
    return {"max_false_matches": wrong, "radius": limit.radius, "found": found}
