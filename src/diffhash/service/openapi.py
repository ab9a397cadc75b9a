"""The OpenAPI document. It is made of the same classes that check requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import models_json_schema

from ..codes import code_bytes
from .bodies import ARROW, JSON, NPY, PICTURES
from .openapi_page import page_paths
from .openapi_parts import (
    REFERENCE,
    json_body,
    named,
    operation,
    option_parameters,
    parameter,
    reference,
    status_text,
)
from .requests import (
    AddRequest,
    BatchAnswer,
    BatchSearch,
    DeleteRequest,
    ErrorAnswer,
    GetRequest,
    LimitRequest,
    SearchAnswer,
    SearchRequest,
)
from .state import State

__all__ = ["describe_api"]

_REQUESTS = (SearchRequest, BatchSearch, GetRequest, DeleteRequest, AddRequest, LimitRequest)
_ANSWERS = (SearchAnswer, BatchAnswer, ErrorAnswer)
_ID = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "Id of an object. If the ids of the store are whole numbers, so is this.",
    "schema": {"type": "string", "minLength": 1},
    "example": "7",
}
_OBJECT = {"type": "object"}
_ITEM = {
    "type": "object",
    "required": ["id", "codes", "payload"],
    "properties": {
        "id": {"type": ["integer", "string"]},
        "codes": {"type": "object", "additionalProperties": {"type": "string"}},
        "payload": _OBJECT,
    },
}


def describe_api(state: State) -> dict[str, Any]:
    """The document for this service."""
    store = state.store.current
    modes: list[Any] = [(model, "validation") for model in _REQUESTS]
    modes += [(model, "serialization") for model in _ANSWERS]
    _, schemas = models_json_schema(modes, ref_template=REFERENCE)
    components: dict[str, Any] = {"schemas": schemas["$defs"]}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "diffhash",
            "version": "1",
            "description": "Search one kind of data with another through codes of a few bytes.",
        },
        "paths": _with_examples(_paths(), store.modalities, code_bytes(store.n_bits)),
        "components": components,
    }
    if state.settings.token is not None:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _with_examples(paths: dict[str, Any], modalities: Sequence[str], width: int) -> dict[str, Any]:
    """Examples that fit this store: its modalities, and codes of the right length."""
    one, other = modalities[0], modalities[min(1, len(modalities) - 1)]
    code = "0f" * width
    examples: dict[tuple[str, str], list[dict[str, Any]]] = {
        ("/v1/search", "post"): [
            {"code": code, "into": one, "k": 3},
            {"code": code, "into": other, "radius": 9},
        ],
        ("/v1/search/batch", "post"): [{"codes": [code, code], "into": one, "k": 3}],
        ("/v1/items", "post"): [{"modality": one, "codes": [code], "payloads": [{"year": 1990}]}],
        ("/v1/items", "put"): [{"modality": one, "codes": [code], "ids": [12], "payloads": [{"year": 1990}]}],
        ("/v1/limit", "post"): [{"max_false_matches": 0.5, "modality": other, "into": one}],
    }
    for (path, method), values in examples.items():
        if path in paths:
            shown = {f"example {number}": {"value": value} for number, value in enumerate(values, 1)}
            paths[path][method]["requestBody"]["content"][JSON]["examples"] = shown
    return paths


def _paths() -> dict[str, Any]:
    paths: dict[str, Any] = {
        "/healthz": {"get": operation("Whether the process runs.", status_text(), (), open_to_all=True)},
        "/readyz": {
            "get": operation("Whether searches are answered.", status_text(), (503,), open_to_all=True)
        },
        "/metrics": {
            "get": {
                **operation("Counts for Prometheus.", None, ()),
                "responses": {
                    "200": {
                        "description": "Counts.",
                        "content": {"text/plain": {"schema": {"type": "string"}}},
                    }
                },
            }
        },
        "/v1/search": {"post": _search()},
        "/v1/search/batch": {"post": _batch()},
        "/v1/collection": {
            "get": operation(
                "Sizes, modalities, the model, and limits.", named("n_objects", "n_bits"), (429, 503)
            )
        },
        "/v1/count": {"get": operation("Number of objects.", named("objects", "id_kind"), (429, 503))},
        "/v1/fields": {
            "get": operation(
                "Fields of the payloads, from a sample, and their most frequent values.",
                named("sampled", "objects", "fields"),
                (429, 503),
            )
        },
        "/v1/evaluation": {
            "get": operation(
                "How good searches are, from the calibration of the model.",
                named("calibrated", "directions"),
                (429, 503),
            )
        },
        "/v1/model": {
            "get": operation(
                "The model, as a file (.dhm).", None, (422, 429, 503), ("application/octet-stream",)
            )
        },
        "/v1/limit": {
            "post": operation(
                "The radius within which a query has at most so many wrong hits.",
                named("radius", "false_matches"),
                (400, 408, 413, 415, 422, 429, 503),
                body=json_body(LimitRequest),
            )
        },
        "/v1/ids": {
            "get": {
                **operation("Ids of all objects.", named("ids"), (422, 429, 503)),
                "parameters": [parameter("modality", {"type": "string"}, "Only objects with this modality.")],
            }
        },
        "/v1/items/{id}": {
            "get": {**operation("One object.", _ITEM, (404, 422, 429, 503)), "parameters": [_ID]}
        },
        "/v1/thumbnails/{id}": {
            "get": {
                **operation("The small picture of an object.", None, (404, 422, 429, 503), PICTURES[:2]),
                "parameters": [_ID],
            }
        },
        "/v1/get": {
            "post": operation(
                "Objects by their ids.",
                {**named("items"), "properties": {"items": {"type": "array", "items": _ITEM}}},
                (400, 404, 408, 413, 415, 422, 429, 503),
                body=json_body(GetRequest),
            )
        },
    }
    # A service that only reads has these routes too: it refuses them with 403.
    _add_writes(paths)
    return {**paths, **page_paths()}


def _add_writes(paths: dict[str, Any]) -> None:
    statuses = (400, 403, 408, 409, 413, 415, 422, 429, 501, 503)
    written = {**named("ids"), "properties": {"added": {"type": "array", "items": {"type": "boolean"}}}}
    options = [
        parameter("modality", {"type": "string"}, "Modality, if the body is not JSON."),
        parameter("unless_within", {"type": "integer", "minimum": 0}, "As in JSON, if the body is not JSON."),
    ]
    rows = {**json_body(AddRequest)["content"], **_array_bodies()}
    body = {"required": True, "content": rows}
    paths["/v1/items"] = {
        "post": {**operation("Add objects.", written, statuses, body=body), "parameters": options},
        "put": {**operation("Add or replace objects.", written, statuses, body=body), "parameters": options},
    }
    paths["/v1/delete"] = {
        "post": operation("Remove objects.", named("deleted"), statuses, body=json_body(DeleteRequest))
    }
    paths["/v1/items/{id}"]["delete"] = {
        **operation("Remove one object.", named("deleted"), (403, 404, 422, 429, 503)),
        "parameters": [_ID],
    }


def _search() -> dict[str, Any]:
    pictures = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in PICTURES}
    content = {**json_body(SearchRequest)["content"], **pictures}
    return {
        **operation(
            "Search with one query: a text, a picture, a vector, a code, or a stored item; or several, fused.",
            reference(SearchAnswer),
            (400, 404, 408, 413, 415, 422, 429, 501, 503),
            body={"required": True, "content": content},
        ),
        "parameters": option_parameters(),
    }


def _batch() -> dict[str, Any]:
    content = {**json_body(BatchSearch)["content"], **_array_bodies()}
    arrays = parameter("arrays", {"type": "boolean"}, "As in JSON, if the body is not JSON.")
    return {
        **operation(
            "Search with many queries of one kind.",
            reference(BatchAnswer),
            (400, 404, 408, 413, 415, 422, 429, 501, 503),
            body={"required": True, "content": content},
        ),
        "parameters": [*option_parameters(), arrays],
    }


def _array_bodies() -> dict[str, Any]:
    return {kind: {"schema": {"type": "string", "format": "binary"}} for kind in (NPY, ARROW)}
