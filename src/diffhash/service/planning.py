"""How a request is answered: checks, limits, and which queries can share a pass over the codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from ..codes import code_bytes
from ..errors import CodeError, InputError, ParameterError
from ..stores.filter_syntax import parse as parse_filter
from .asking import Answer, Group, ask_fused, ask_item, ask_pictures, ask_texts, ask_views
from .bodies import decode_picture
from .requests import BatchSearch, Options, SearchRequest
from .settings import Limits

__all__ = ["Plan", "check_number_of_hits", "checked_k", "code_of", "plan_batch", "plan_search"]


@dataclass(frozen=True)
class Plan:
    """How a request is answered: in a group with others, or by a function of its own, in another thread."""

    group: Group | None = None
    queries: Sequence[Any] = ()
    function: Callable[[Any], list[Answer]] | None = None


def plan_search(request: SearchRequest, n_bits: int, limits: Limits) -> Plan:
    """How one query is answered; errors of the request are raised here."""
    given = request.model_fields_set & {"text", "picture", "vector", "vectors", "code", "item"}
    kinds = [name for name in given if getattr(request, name) is not None]
    if not kinds:
        raise ParameterError("Give one of text, picture, vector, vectors, code and item.")
    k = checked_k(request, 1, limits)
    if kinds == ["code"]:
        assert request.code is not None
        return Plan(_group("codes", request, k), [code_of(request.code, n_bits)])
    if kinds == ["vector"]:
        assert request.vector is not None
        return Plan(_group("vectors", request, k, len(request.vector)), [request.vector])
    if "code" in kinds or ("item" in kinds and len(kinds) > 1):
        raise ParameterError("A code, and an item, is a query by itself. Leave the others out.")
    if kinds == ["item"]:
        return Plan(function=lambda store: [ask_item(store, request, k)])
    if kinds == ["text"]:
        return Plan(function=lambda store: ask_texts(store, request, [request.text or ""], k))
    if kinds == ["picture"]:
        return Plan(function=lambda store: ask_pictures(store, request, [_picture(request, limits)], k))
    picture = None if request.picture is None else _picture(request, limits)
    return Plan(function=lambda store: ask_fused(store, request, k, picture))


def _picture(request: SearchRequest, limits: Limits) -> bytes:
    return decode_picture(request.picture or "", limits.picture_pixels)


def plan_batch(request: BatchSearch, n_bits: int, limits: Limits, array: Any = None) -> Plan:
    """How many queries are answered. ``array`` are vectors, or with type uint8 codes, from a body that is not JSON."""
    kinds = [n for n in ("views", "texts", "vectors", "codes") if getattr(request, n) is not None]
    if kinds == ["views", "texts"]:
        kinds = ["views"]  # the words of fused queries
    if len(kinds) + (array is not None) != 1:
        raise ParameterError("Give one of texts, vectors, views and codes; texts may go with views.")
    kind = kinds[0] if kinds else "codes" if array.dtype == np.uint8 else "vectors"
    queries: Sequence[Any]
    if array is not None:
        queries = array
    elif kind == "views":
        assert request.views is not None
        queries = next(iter(request.views.values()))
    else:
        queries = getattr(request, kind)
    if len(queries) > limits.batch:
        raise ParameterError(f"A request may have {limits.batch:,} queries, got {len(queries):,}.")
    k = checked_k(request, len(queries), limits)
    if request.arrays and (kind != "codes" or request.into is None or request.radius is not None):
        raise ParameterError("arrays needs codes and into, and goes without a radius.")
    if kind == "codes":
        codes = [code_of(code, n_bits) for code in queries] if array is None else _code_rows(queries, n_bits)
        return Plan(_group("arrays" if request.arrays else "codes", request, k), codes)
    if kind == "vectors":
        widths = {len(vector) for vector in queries} or {0}
        if len(widths) > 1:
            raise InputError("All vectors of a request must have the same length.")
        dtype = "f8" if array is None else array.dtype.str
        return Plan(_group("vectors", request, k, widths.pop(), dtype), list(queries))
    if kind == "texts":
        return Plan(function=lambda store: ask_texts(store, request, list(queries), k))
    return Plan(function=lambda store: ask_views(store, request, k))


def checked_k(request: Options, n_queries: int, limits: Limits) -> int:
    """How many hits to ask for; one more than allowed if everything within a radius is wanted."""
    if request.where is not None:
        parse_filter(request.where, caller="search")
    allowed = limits.hits // max(n_queries, 1)
    if request.k is None:
        if request.radius is None:
            raise ParameterError("k may be null only with a radius.")
        return allowed + 1
    if request.k > limits.k:
        raise ParameterError(f"k may be {limits.k:,} at most, got {request.k:,}.")
    if request.k > allowed:
        raise ParameterError(
            f"A request may ask for {limits.hits:,} hits, got {n_queries:,} queries with k = {request.k:,}."
        )
    return request.k


def check_number_of_hits(answers: Sequence[Answer], request: Options, limits: Limits) -> None:
    """Raise if there are more hits within a radius than an answer may have."""
    allowed = limits.hits // max(len(answers), 1)
    if request.k is None and any(len(answer.hits) > allowed for answer in answers):
        raise ParameterError(
            f"More than {allowed:,} objects are within the radius of a query. Use a smaller one, or k."
        )


def _group(kind: str, request: Options, k: int, width: int = 0, dtype: str = "f8") -> Group:
    where = None if request.where is None else orjson.dumps(request.where, option=orjson.OPT_SORT_KEYS)
    return Group(
        kind,
        request.modality,
        request.into,
        k,
        where,
        request.radius,
        request.max_false_matches,
        request.expected_matches,
        "hamming" if request.k is None else request.rank,
        width,
        dtype,
    )


def code_of(text: str, n_bits: int) -> bytes:
    """The bytes of a code in hexadecimal digits."""
    code = bytes.fromhex(text)
    if len(code) != code_bytes(n_bits):
        raise CodeError(
            f"A code of {n_bits} bits has {2 * code_bytes(n_bits)} hexadecimal digits, got {len(text)}."
        )
    return code


def _code_rows(array: Any, n_bits: int) -> list[bytes]:
    if array.shape[1] != code_bytes(n_bits):
        raise CodeError(f"Codes of {n_bits} bits have {code_bytes(n_bits)} bytes, got {array.shape[1]}.")
    return [row.tobytes() for row in array]
