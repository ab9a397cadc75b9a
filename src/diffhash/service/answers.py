"""Answers as ASGI messages, with the headers that every answer has."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import orjson

from .problems import RefusedError

__all__ = [
    "HEADERS",
    "Message",
    "Receive",
    "Scope",
    "Send",
    "json_bytes",
    "respond",
    "respond_json",
    "respond_problem",
]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: No script, style or frame from elsewhere, and none inside the page; no guessing of types; nothing is told to others.
HEADERS: list[tuple[bytes, bytes]] = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        b"connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
_JSON_HEADERS = [*HEADERS, (b"content-type", b"application/json")]


def json_bytes(value: Any) -> bytes:
    """Plain values and hits as JSON."""
    try:
        # orjson writes dataclasses: hits need not become dicts first.
        return orjson.dumps(value)
    except TypeError:
        # Lists in payloads may have whole numbers of more than 64 bits, which orjson refuses.
        return json.dumps(value, default=vars, ensure_ascii=False).encode()


async def respond(
    send: Send, status: int, body: bytes, kind: bytes, more: list[tuple[bytes, bytes]] | None = None
) -> None:
    """Send a complete answer."""
    headers = [*HEADERS, (b"content-type", kind), (b"content-length", str(len(body)).encode()), *(more or ())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def respond_json(send: Send, body: bytes) -> None:
    """Send JSON with status 200."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [*_JSON_HEADERS, length]})
    await send({"type": "http.response.body", "body": body})


async def respond_problem(send: Send, problem: RefusedError) -> None:
    """Send an error."""
    await respond(send, problem.status, orjson.dumps(problem.body), b"application/json", problem.headers)
