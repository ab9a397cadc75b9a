"""Requests that write, as calls of the store."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codes import code_bytes
from ..errors import InputError, ParameterError
from ..stores import AddedIds
from .arrow_body import ArrowRows
from .asking import check_text_modality, modality_of_length
from .bodies import decode_picture
from .planning import code_of
from .requests import AddRequest
from .settings import Limits

__all__ = ["write_objects"]

_KINDS = ("codes", "vectors", "texts", "pictures", "views")


def write_objects(
    store: Any, request: AddRequest, limits: Limits, *, replace: bool, rows: ArrowRows | None = None
) -> dict[str, Any]:
    """Add or replace objects. ``rows`` are vectors, ids and payloads of a body that is not JSON."""
    kinds = [name for name in _KINDS if getattr(request, name) is not None]
    if len(kinds) + (rows is not None) != 1:
        raise ParameterError("Give one of codes, vectors, texts, pictures and views.")
    kind = kinds[0] if kinds else "vectors"
    given: Any = rows.vectors if rows is not None else getattr(request, kind)
    ids = rows.ids if rows is not None and rows.ids is not None else request.ids
    payloads = rows.payloads if rows is not None and rows.payloads is not None else request.payloads
    count = max(map(len, given.values())) if kind == "views" else len(given)
    if count > limits.write_batch:
        raise ParameterError(f"A request may write {limits.write_batch:,} objects, got {count:,}.")
    if isinstance(ids, dict) and kind != "views":
        raise InputError("ids by modality go with views.")
    if replace and ids is None:
        raise InputError("ids are needed to know which objects to replace. Use POST for new objects.")
    if replace and request.unless_within is not None:
        raise ParameterError("unless_within goes with new objects: use POST.")
    options: dict[str, Any] = {"ids": ids, "payloads": payloads}
    if not replace:
        options["unless_within"] = request.unless_within
    write = _write_function(store, kind, replace)
    written = write(
        _objects(store, request, kind, given, limits),
        modality=_modality(store, request, kind, given),
        **options,
    )
    answer: dict[str, Any] = {"ids": list(written)}
    if isinstance(written, AddedIds):
        answer["added"] = written.added.tolist()
    return answer


def _write_function(store: Any, kind: str, replace: bool) -> Any:
    if kind == "codes":
        return store.upsert_codes if replace else store.add_codes
    if kind in ("vectors", "views"):
        return store.upsert if replace else store.add
    if not replace:
        return store.add_raw

    def upsert_raw(raw: Any, *, modality: str, ids: Any, payloads: Any) -> Any:
        features = store.model.featurize(raw, modality=modality)
        return store.upsert(features, modality=modality, ids=ids, payloads=payloads)

    return upsert_raw


def _objects(store: Any, request: AddRequest, kind: str, given: Any, limits: Limits) -> Any:
    """What is stored, as the store takes it."""
    if kind == "codes":
        packed = b"".join(code_of(code, store.n_bits) for code in given)
        return np.frombuffer(packed, dtype=np.uint8).reshape(len(given), code_bytes(store.n_bits))
    if kind == "vectors":
        return _rows(given)
    if kind == "views":
        assert request.views is not None
        return {name: _rows(vectors) for name, vectors in request.views.items()}
    if kind == "pictures":
        return [decode_picture(text, limits.picture_pixels) for text in given]
    return given


def _rows(vectors: Any) -> Any:
    if isinstance(vectors, np.ndarray):
        return vectors
    widths = {len(vector) for vector in vectors}
    if len(widths) > 1:
        raise InputError("All vectors of a request must have the same length.")
    return np.array(vectors, dtype=np.float64).reshape(len(vectors), widths.pop() if widths else 0)


def _modality(store: Any, request: AddRequest, kind: str, given: Any) -> str | None:
    if kind == "texts" or kind == "pictures":
        return check_text_modality(store, request.modality, words=kind == "texts")
    if kind == "vectors" and request.modality is None and len(given):
        return modality_of_length(store, len(given[0]))
    if kind == "codes" and request.modality is None:
        raise ParameterError("Say the modality of the codes.")
    return request.modality
