"""The routes of the page in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from .bodies import JSON, PICTURES
from .openapi_parts import named, operation, parameter
from .requests import Options

__all__ = ["page_paths"]

_TEXT = {"type": "string"}
_QUERIES = {
    "q": (_TEXT, "A query in words."),
    "item": (_TEXT, "A stored object as the query: its id."),
    "draw": (
        {"type": "string", "pattern": r"^(\d{1,3}\.\d{1,3}([-_]\d{1,3}\.\d{1,3})*)?$"},
        "A drawing as the query: points x.y of whole numbers below 1000, joined by -; strokes are joined by _.",
    ),
}
_DIRECTION = {
    "modality": "Modality of the query.",
    "into": "Modality that is searched; all of them if it is left out.",
    "fold": "For the page: 1 if results with equal codes are shown once.",
    "tab": "For the page: which tab is shown.",
}
_HIT = {
    "type": "object",
    "required": ["id", "distance", "payload", "modality", "chance", "found_by", "code"],
    "properties": {
        "id": {"type": ["integer", "string"]},
        "distance": {"type": ["integer", "null"]},
        "payload": {"type": "object"},
        "modality": _TEXT,
        "chance": {"type": ["number", "null"]},
        "found_by": {"enum": ["codes", "words", "both"]},
        "code": {
            "type": ["string", "null"],
            "description": "The code that was found, in hexadecimal digits.",
        },
    },
}
_ASKED = {
    **named("kind", "modality", "into", "code"),
    "properties": {"kind": {"enum": ["text", "item", "drawing", "picture", "none"]}},
}
_FOUND = {
    **named("asked", "hits", "more", "reason", "notes", "searched", "objects", "seconds"),
    "properties": {
        "asked": _ASKED,
        "hits": {"type": "array", "items": _HIT},
        "more": {"type": "boolean"},
        "searched": {"type": "integer", "description": "Number of codes that were compared with the query."},
    },
}


def page_paths() -> dict[str, Any]:
    """What the page asks: programs may ask it, too."""
    picture = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in PICTURES}
    queries = [parameter(name, schema, text) for name, (schema, text) in _QUERIES.items()]
    return {
        "/v1/find": {
            "get": {
                **operation(
                    "Search with a question that is an address: words, an object, a drawing; or the first objects.",
                    _FOUND,
                    (404, 422, 429, 501, 503),
                ),
                "parameters": [*queries, *_options()],
            },
            "post": {
                **operation(
                    "Search with the picture in the body.",
                    _FOUND,
                    (400, 408, 413, 415, 422, 429, 501, 503),
                    body={"required": True, "content": picture},
                ),
                "parameters": _options(),
            },
        },
        "/v1/page": {
            "get": operation(
                "What can be typed and drawn, and sizes.",
                named("objects", "n_bits", "modalities", "has_model", "captions", "calibrated"),
                (429, 503),
            )
        },
        "/v1/bits": {
            "get": operation(
                "How often each bit is one, from a sample.", named("sampled", "n_bits", "shares"), (429, 503)
            )
        },
    }


def _options() -> list[dict[str, Any]]:
    """Direction, number of hits and filter, in the query string."""
    found = [parameter(name, _TEXT, text) for name, text in _DIRECTION.items()]
    found.append(parameter("k", {"type": "integer", "minimum": 1}, "Number of hits; 24 if it is left out."))
    found.append(parameter("skip", {"type": "integer", "minimum": 0}, "Hits that were shown already."))
    for name, schema in Options.model_json_schema()["properties"].items():
        if name in ("radius", "where"):
            plain = {
                key: value for key, value in schema.items() if key not in ("title", "description", "default")
            }
            as_json = parameter(name, {}, f"As JSON. {schema.get('description', '')}".strip())
            del as_json["schema"]
            found.append({**as_json, "content": {JSON: {"schema": plain}}})
    return found
