"""Parts of the OpenAPI document: operations, parameters, bodies and answers."""

from __future__ import annotations

from typing import Any

from .bodies import JSON
from .requests import ErrorAnswer, Options

__all__ = [
    "REFERENCE",
    "json_body",
    "named",
    "operation",
    "option_parameters",
    "parameter",
    "reference",
    "status_text",
]

REFERENCE = "#/components/schemas/{model}"
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


def option_parameters() -> list[dict[str, Any]]:
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
                **parameter(name, plain, text),
                **(
                    {}
                    if name in ("modality", "into", "rank")
                    else {"schema": None, "content": {JSON: {"schema": plain}}}
                ),
            }
        )
    return [{key: value for key, value in each.items() if value is not None} for each in found]


def parameter(name: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    """A parameter in the query string."""
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": text}


def operation(
    summary: str,
    answer: dict[str, Any] | None,
    statuses: tuple[int, ...],
    kinds: tuple[str, ...] = (JSON,),
    *,
    body: dict[str, Any] | None = None,
    open_to_all: bool = False,
) -> dict[str, Any]:
    """An operation: what it answers, in which types, and with which errors."""
    schema = {"type": "string", "format": "binary"} if answer is None else answer
    responses: dict[str, Any] = {
        "200": {"description": "The answer.", "content": {kind: {"schema": schema} for kind in kinds}}
    }
    for status in sorted({*statuses, *(() if open_to_all else (401, 403))}):
        content = {JSON: {"schema": reference(ErrorAnswer)}}
        responses[str(status)] = {"description": _STATUS[status], "content": content}
        if status in (429, 503):
            responses[str(status)]["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    described: dict[str, Any] = {"summary": summary, "responses": responses}
    if body is not None:
        described["requestBody"] = body
    if open_to_all:
        described["security"] = []
    return described


def json_body(model: Any) -> dict[str, Any]:
    """A body in JSON, with the examples of its class."""
    examples = model.model_config["json_schema_extra"]["examples"]
    shown = {f"example {number}": {"value": value} for number, value in enumerate(examples, 1)}
    return {"required": True, "content": {JSON: {"schema": reference(model), "examples": shown}}}


def reference(model: Any) -> dict[str, Any]:
    """A reference to the schema of a class."""
    return {"$ref": REFERENCE.format(model=model.__name__)}


def named(*names: str) -> dict[str, Any]:
    """An object with these fields, and maybe others."""
    return {"type": "object", "required": list(names)}


def status_text() -> dict[str, Any]:
    """An object with a status."""
    return {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
