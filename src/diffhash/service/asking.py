"""Requests as calls of the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import orjson

from ..codes import code_bytes
from ..errors import InputError, ParameterError
from ..featurizers.base import recognized, takes_texts
from ..stores import Hit
from ..stores.fused_objects import Features
from ..types import CodeArray
from ..workflows.query_notes import (
    filter_notes,
    no_match_reason,
    raw_modalities,
    usual_modalities,
    why_nothing,
    word_notes,
)
from .requests import BatchSearch, Options, SearchRequest

__all__ = [
    "Answer",
    "Group",
    "ask_fused",
    "ask_group",
    "ask_item",
    "ask_pictures",
    "ask_texts",
    "ask_views",
    "check_text_modality",
    "modality_of_length",
    "with_fields",
]


class Group(NamedTuple):
    """What queries of one pass have in common. ``where`` is JSON, so that it can be compared."""

    kind: str  # "codes", "vectors" or "arrays"
    modality: str | None
    into: str | None
    k: int
    where: bytes | None
    radius: int | None
    max_false_matches: float | None
    expected_matches: float | None
    rank: str
    #: Numbers of a vector and their type, so that vectors of a group make an array.
    width: int
    dtype: str


class Answer(NamedTuple):
    """What is known about one query."""

    hits: Sequence[Any]
    reason: str | None = None
    notes: tuple[str, ...] = ()


def ask_group(store: Any, group: Group, queries: list[Any]) -> list[Answer]:
    """Answer the queries of a group with one pass over the codes."""
    where = None if group.where is None else orjson.loads(group.where)
    modality = group.modality
    if group.kind == "vectors":
        rows = np.array(queries, dtype=group.dtype).reshape(len(queries), group.width)
        modality = modality or modality_of_length(store, group.width)
        found = store.search(
            rows,
            modality=modality,
            into=group.into,
            k=group.k,
            where=where,
            radius=group.radius,
            max_false_matches=group.max_false_matches,
            expected_matches=group.expected_matches,
            rank=group.rank,
        )
    else:
        width = code_bytes(store.n_bits)
        codes = np.frombuffer(b"".join(queries), dtype=np.uint8).reshape(len(queries), width)
        if group.kind == "arrays":
            return _ask_arrays(store, codes, group, where)
        judged = {"modality": modality} if modality is not None else {}
        for name in ("max_false_matches", "expected_matches"):
            if getattr(group, name) is not None:
                judged[name] = getattr(group, name)
        found = store.search_codes(
            codes, into=group.into, k=group.k, where=where, radius=group.radius, **judged
        )
    if all(found):
        return [Answer(hits) for hits in found]
    reason, notes = _why_empty(store, modality, group.into, where, group.max_false_matches)
    return [Answer(hits) if hits else Answer(hits, reason, notes) for hits in found]


def _ask_arrays(store: Any, codes: CodeArray, group: Group, where: Any) -> list[Answer]:
    """Ids and distances; a store without a faster way finds hits first."""
    if hasattr(store, "search_arrays"):
        ids, distances = store.search_arrays(codes, into=group.into, k=group.k, where=where)
        return [Answer(pair) for pair in zip(ids.tolist(), distances.tolist(), strict=True)]
    found = store.search_codes(codes, into=group.into, k=group.k, where=where)
    return [Answer(([hit.id for hit in hits], [hit.distance for hit in hits])) for hits in found]


def _why_empty(
    store: Any, modality: str | None, into: str | None, where: Any, max_false_matches: float | None
) -> tuple[str | None, tuple[str, ...]]:
    """Why a query found nothing, as far as that is known, and fields of the filter that do not exist."""
    reason = None
    if max_false_matches is not None and modality is not None and into is not None:
        limit = store.match_limit(max_false_matches, modality=modality, into=into, where=where)
        reason = why_nothing(limit, max_false_matches)
    notes = filter_notes(store, where) if where is not None and hasattr(store, "unknown_fields") else ()
    return reason, notes


def modality_of_length(store: Any, length: int) -> str:
    """The only modality whose vectors have this length."""
    sizes = store.model.n_features
    matching = [name for name, n in sizes.items() if n == length]
    if len(matching) == 1:
        return str(matching[0])
    described = ", ".join(f"{name} ({n:,} features)" for name, n in sizes.items())
    problem = "several modalities have" if matching else "no modality has"
    raise InputError(f"{problem} {length:,} features: {described}. Say modality.")


def check_text_modality(store: Any, modality: str | None, *, words: bool) -> str:
    """The modality of texts (or of pictures). A text never goes to a featurizer that may open a file of its name."""
    fitting = raw_modalities(store.model, words=words)
    what = "texts" if words else "pictures"
    if modality is None:
        usual = usual_modalities(store.model, words=words)
        if len(usual) == 1:
            return usual[0]
        raise InputError(
            f"several modalities take {what}: {', '.join(fitting)}. Say modality."
            if fitting
            else f"this collection was not built from {what}. Ask with vectors."
        )
    if modality not in fitting:
        raise InputError(
            f"modality {modality!r} does not take {what}. These do: {', '.join(fitting) or 'none'}."
        )
    return modality


def _options(request: Options, k: int) -> dict[str, Any]:
    return {
        "into": request.into,
        "k": k,
        "where": request.where,
        "radius": request.radius,
        "max_false_matches": request.max_false_matches,
        "expected_matches": request.expected_matches,
    }


def ask_item(store: Any, request: SearchRequest, k: int) -> Answer:
    """Search with a stored object."""
    hits = store.search_item(request.item, modality=request.modality, **_options(request, k))
    if hits:
        return Answer(hits)
    into, where = request.into, request.where
    return Answer(hits, *_why_empty(store, request.modality, into, where, request.max_false_matches))


def ask_texts(store: Any, request: Options, texts: list[str], k: int) -> list[Answer]:
    """Search with texts: by their codes, and by the words of captions if the store keeps them."""
    fields = store.word_fields
    texts_known = store.has_model and any(map(takes_texts, store.model.featurizers.values()))
    if not texts_known and fields and request.words is not False and request.modality is None:
        found = store.search_words(texts, into=request.into, k=k, where=request.where)
        known = [False] * len(texts)
        modality = None
    else:
        modality = check_text_modality(store, request.modality, words=True)
        found = store.search_raw(
            texts, modality=modality, **_options(request, k), rank=request.rank, words=request.words
        )
        known = recognized(store.model.featurizers[modality], texts).tolist()
    answers = []
    for text, hits, is_known in zip(texts, found, known, strict=True):
        match = store.match_words(text) if fields and request.words is not False else None
        reason = None if hits else no_match_reason(match, bool(is_known))
        notes: tuple[str, ...] = ()
        if match is not None and reason is None:
            notes = word_notes(match)
        if not hits and reason is None:
            why, more = _why_empty(store, modality, request.into, request.where, request.max_false_matches)
            reason, notes = why, notes + more
        answers.append(Answer(hits, reason, notes))
    return answers


def ask_pictures(store: Any, request: Options, pictures: list[bytes], k: int) -> list[Answer]:
    """Search with picture files that are in memory."""
    modality = check_text_modality(store, request.modality, words=False)
    found = store.search_raw(pictures, modality=modality, **_options(request, k), rank=request.rank)
    return [Answer(hits) for hits in found]


def ask_fused(store: Any, request: SearchRequest, k: int, picture: bytes | None) -> list[Answer]:
    """Search with a query of several modalities."""
    if request.modality is not None:
        raise ParameterError("A query of several modalities goes without modality.")
    query: dict[str, Any] = {}

    def put(name: str, value: Any) -> None:
        if name in query:
            raise ParameterError(f"The query has {name!r} twice. Give it once.")
        query[name] = value

    for name, vector in (request.vectors or {}).items():
        put(name, Features(np.array([vector])))
    if request.vector is not None:
        put(modality_of_length(store, len(request.vector)), Features(np.array([request.vector])))
    if request.text is not None:
        put(check_text_modality(store, None, words=True), [request.text])
    if picture is not None:
        put(check_text_modality(store, None, words=False), [picture])
    return _ask_mixed(store, request, query, k)


def ask_views(store: Any, request: BatchSearch, k: int) -> list[Answer]:
    """Search with many queries of several modalities: features, and texts of one more modality."""
    assert request.views is not None
    query: dict[str, Any] = {name: Features(np.array(_even(rows))) for name, rows in request.views.items()}
    if request.texts is not None:
        name = check_text_modality(store, request.modality, words=True)
        if name in query:
            raise ParameterError(f"The queries have {name!r} twice: as views, and as texts. Give it once.")
        query[name] = request.texts
    return _ask_mixed(store, request, query, k)


def _ask_mixed(store: Any, request: Options, query: dict[str, Any], k: int) -> list[Answer]:
    """Search with fused queries; words of their texts are matched with captions, too."""
    options = {**_options(request, k), "rank": request.rank}
    if all(isinstance(given, Features) for given in query.values()):
        found = store.search({name: given.rows for name, given in query.items()}, **options)
    else:
        found = store.search_raw(query, **options, words=request.words)
    return [Answer(hits) for hits in found]


def _even(rows: list[list[float]]) -> list[list[float]]:
    if len(set(map(len, rows))) > 1:
        raise InputError("All vectors of a request must have the same length.")
    return rows


def with_fields(hits: Sequence[Hit], fields: Sequence[str]) -> list[Hit]:
    """Hits with some fields of their payloads."""
    chosen = frozenset(fields)
    return [
        replace(hit, payload={name: value for name, value in hit.payload.items() if name in chosen})
        for hit in hits
    ]
