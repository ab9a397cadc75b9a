"""The OpenAPI document. It is made of the same classes that check requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import models_json_schema

from ..codes import code_bytes
from .bodies import ARROW, JSON, NPY, PICTURES
from .requests import (
    AddRequest,
    BatchAnswer,
    BatchSearch,
    DeleteRequest,
    ErrorAnswer,
    GetRequest,
    LimitRequest,
    Options,
    SearchAnswer,
    SearchRequest,
)
from .state import State

__all__ = ["describe_api"]

_REFERENCE = "#/components/schemas/{model}"
_REQUESTS = (SearchRequest, BatchSearch, GetRequest, DeleteRequest, AddRequest, LimitRequest)
_ANSWERS = (SearchAnswer, BatchAnswer, ErrorAnswer)
_STATUS = {
    400: "The body is not JSON, or it is incomplete.",
    401: "A valid token is needed.",
    403: "The token, the host name or the origin does not allow this; or the service does not write.",
    404: "There is no such object.",
    408: "The request did not arrive in time.",
    409: "The store has another model than the one in the request.",
    413: "The body is too long.",
    415: "The body has a type that is not known here.",
    422: "The request is not valid, or it asks for more than a limit.",
    429: "Too many requests wait. Try again later.",
    501: "The service lacks a package for this.",
    503: "The service is too busy, stops, or cannot use its store. Try again later.",
}
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
    _, schemas = models_json_schema(modes, ref_template=_REFERENCE)
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
            named = {f"example {number}": {"value": value} for number, value in enumerate(values, 1)}
            paths[path][method]["requestBody"]["content"][JSON]["examples"] = named
    return paths


def _paths() -> dict[str, Any]:
    paths: dict[str, Any] = {
        "/healthz": {"get": _operation("Whether the process runs.", _status_text(), (), open_to_all=True)},
        "/readyz": {
            "get": _operation("Whether searches are answered.", _status_text(), (503,), open_to_all=True)
        },
        "/metrics": {
            "get": {
                **_operation("Counts for Prometheus.", None, ()),
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
            "get": _operation(
                "Sizes, modalities, the model, and limits.", _named("n_objects", "n_bits"), (429, 503)
            )
        },
        "/v1/count": {"get": _operation("Number of objects.", _named("objects", "id_kind"), (429, 503))},
        "/v1/fields": {
            "get": _operation(
                "Fields of the payloads, from a sample, and their most frequent values.",
                _named("sampled", "objects", "fields"),
                (429, 503),
            )
        },
        "/v1/evaluation": {
            "get": _operation(
                "How good searches are, from the calibration of the model.",
                _named("calibrated", "directions"),
                (429, 503),
            )
        },
        "/v1/model": {
            "get": _operation(
                "The model, as a file (.dhm).", None, (422, 429, 503), ("application/octet-stream",)
            )
        },
        "/v1/limit": {
            "post": _operation(
                "The radius within which a query has at most so many wrong hits.",
                _named("radius", "false_matches"),
                (400, 408, 413, 415, 422, 429, 503),
                body=_json_body(LimitRequest),
            )
        },
        "/v1/ids": {
            "get": {
                **_operation("Ids of all objects.", _named("ids"), (422, 429, 503)),
                "parameters": [
                    _parameter("modality", {"type": "string"}, "Only objects with this modality.")
                ],
            }
        },
        "/v1/items/{id}": {
            "get": {**_operation("One object.", _ITEM, (404, 422, 429, 503)), "parameters": [_ID]}
        },
        "/v1/thumbnails/{id}": {
            "get": {
                **_operation("The small picture of an object.", None, (404, 422, 429, 503), PICTURES[:2]),
                "parameters": [_ID],
            }
        },
        "/v1/get": {
            "post": _operation(
                "Objects by their ids.",
                {**_named("items"), "properties": {"items": {"type": "array", "items": _ITEM}}},
                (400, 404, 408, 413, 415, 422, 429, 503),
                body=_json_body(GetRequest),
            )
        },
    }
    # A service that only reads has these routes too: it refuses them with 403.
    _add_writes(paths)
    return paths


def _add_writes(paths: dict[str, Any]) -> None:
    statuses = (400, 403, 408, 409, 413, 415, 422, 429, 501, 503)
    written = {**_named("ids"), "properties": {"added": {"type": "array", "items": {"type": "boolean"}}}}
    options = [
        _parameter("modality", {"type": "string"}, "Modality, if the body is not JSON."),
        _parameter(
            "unless_within", {"type": "integer", "minimum": 0}, "As in JSON, if the body is not JSON."
        ),
    ]
    rows = {**_json_body(AddRequest)["content"], **_array_bodies()}
    body = {"required": True, "content": rows}
    paths["/v1/items"] = {
        "post": {**_operation("Add objects.", written, statuses, body=body), "parameters": options},
        "put": {**_operation("Add or replace objects.", written, statuses, body=body), "parameters": options},
    }
    paths["/v1/delete"] = {
        "post": _operation("Remove objects.", _named("deleted"), statuses, body=_json_body(DeleteRequest))
    }
    paths["/v1/items/{id}"]["delete"] = {
        **_operation("Remove one object.", _named("deleted"), (403, 404, 422, 429, 503)),
        "parameters": [_ID],
    }


def _search() -> dict[str, Any]:
    pictures = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in PICTURES}
    content = {**_json_body(SearchRequest)["content"], **pictures}
    return {
        **_operation(
            "Search with one query: a text, a picture, a vector, a code, or a stored item; or several, fused.",
            _reference(SearchAnswer),
            (400, 404, 408, 413, 415, 422, 429, 501, 503),
            body={"required": True, "content": content},
        ),
        "parameters": _option_parameters(),
    }


def _batch() -> dict[str, Any]:
    content = {**_json_body(BatchSearch)["content"], **_array_bodies()}
    arrays = _parameter("arrays", {"type": "boolean"}, "As in JSON, if the body is not JSON.")
    return {
        **_operation(
            "Search with many queries of one kind.",
            _reference(BatchAnswer),
            (400, 404, 408, 413, 415, 422, 429, 501, 503),
            body={"required": True, "content": content},
        ),
        "parameters": [*_option_parameters(), arrays],
    }


def _array_bodies() -> dict[str, Any]:
    return {kind: {"schema": {"type": "string", "format": "binary"}} for kind in (NPY, ARROW)}


def _option_parameters() -> list[dict[str, Any]]:
    """Options in the query string, for bodies that are not JSON."""
    schemas = Options.model_json_schema()["properties"]
    found = []
    for name, schema in schemas.items():
        plain = {
            key: value for key, value in schema.items() if key not in ("title", "description", "default")
        }
        text = "If the body is not JSON: as JSON. " + schema.get("description", "")
        # Values that are not plain text are JSON texts there.
        found.append(
            {
                **_parameter(name, plain, text),
                **(
                    {}
                    if name in ("modality", "into", "rank")
                    else {"schema": None, "content": {JSON: {"schema": plain}}}
                ),
            }
        )
    return [{key: value for key, value in each.items() if value is not None} for each in found]


def _parameter(name: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": text}


def _operation(
    summary: str,
    answer: dict[str, Any] | None,
    statuses: tuple[int, ...],
    kinds: tuple[str, ...] = (JSON,),
    *,
    body: dict[str, Any] | None = None,
    open_to_all: bool = False,
) -> dict[str, Any]:
    schema = {"type": "string", "format": "binary"} if answer is None else answer
    responses: dict[str, Any] = {
        "200": {"description": "The answer.", "content": {kind: {"schema": schema} for kind in kinds}}
    }
    for status in sorted({*statuses, *(() if open_to_all else (401, 403))}):
        content = {JSON: {"schema": _reference(ErrorAnswer)}}
        responses[str(status)] = {"description": _STATUS[status], "content": content}
        if status in (429, 503):
            responses[str(status)]["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    operation: dict[str, Any] = {"summary": summary, "responses": responses}
    if body is not None:
        operation["requestBody"] = body
    if open_to_all:
        operation["security"] = []
    return operation


def _json_body(model: Any) -> dict[str, Any]:
    examples = model.model_config["json_schema_extra"]["examples"]
    named = {f"example {number}": {"value": value} for number, value in enumerate(examples, 1)}
    return {"required": True, "content": {JSON: {"schema": _reference(model), "examples": named}}}


def _reference(model: Any) -> dict[str, Any]:
    return {"$ref": _REFERENCE.format(model=model.__name__)}


def _named(*names: str) -> dict[str, Any]:
    return {"type": "object", "required": list(names)}


def _status_text() -> dict[str, Any]:
    return {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
