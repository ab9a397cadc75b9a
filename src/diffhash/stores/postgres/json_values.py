"""Texts and payloads as PostgreSQL can hold them, and back.

Text in PostgreSQL cannot contain NUL (code point 0), and ``jsonb`` forgets that a large number was a float. So code
point 0 is written as 1 1, and 1 as 1 2: different texts stay different, and their order stays the same. Floats of 1e16
and more are written with all their digits and ``.0``. Only the sign of ``-0.0`` is lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

__all__ = [
    "from_stored",
    "from_stored_text",
    "payloads_from_stored",
    "to_stored",
    "to_stored_text",
    "value_to_stored",
]

_ESCAPED = re.compile("\x01([\x01\x02])")
#: Payloads in which something may have to be written differently.
_SPECIAL = re.compile(r"\\u000[01]|\de\+")


def to_stored_text(text: str) -> str:
    """A text without NUL.

    Examples
    --------
    >>> to_stored_text("a" + chr(0) + "b") == "a" + chr(1) + chr(1) + "b"
    True
    """
    if "\0" not in text and "\x01" not in text:
        return text
    return text.replace("\x01", "\x01\x02").replace("\0", "\x01\x01")


def from_stored_text(text: str) -> str:
    """The inverse of :func:`to_stored_text`."""
    if "\x01" not in text:
        return text
    return _ESCAPED.sub(lambda match: "\0" if match[1] == "\x01" else "\x01", text)


def to_stored(payload: str) -> str:
    """The JSON text of a payload as it is stored."""
    return value_to_stored(json.loads(payload)) if _SPECIAL.search(payload) else payload


def value_to_stored(value: Any) -> str:
    """A value as JSON, as it is stored.

    Examples
    --------
    >>> value_to_stored({"n": 1e16, "a": [True, None, 0.5]})
    '{"n":10000000000000000.0,"a":[true,null,0.5]}'
    """
    if isinstance(value, dict):
        parts = (f"{_quoted(name)}:{value_to_stored(item)}" for name, item in value.items())
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(value_to_stored, value)) + "]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float) and abs(value) >= 1e16:
        return f"{int(value)}.0"
    return json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(to_stored_text(text), ensure_ascii=False)


def from_stored(text: str | None) -> dict[str, Any]:
    """The payload of a stored text; empty without one."""
    if text is None:
        return {}
    payload: dict[str, Any] = json.loads(text)
    return _restored(payload) if "\\u0001" in text else payload


def payloads_from_stored(texts: Sequence[str | None]) -> list[dict[str, Any]]:
    """Many payloads, in one call of the decoder, which takes half as long.

    Examples
    --------
    >>> payloads_from_stored(['{"n":1}', None])
    [{'n': 1}, {}]
    """
    text = "[" + ",".join("{}" if text is None else text for text in texts) + "]"
    payloads: list[dict[str, Any]] = json.loads(text)
    return _restored(payloads) if "\\u0001" in text else payloads


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        return {from_stored_text(name): _restored(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_restored(item) for item in value]
    return from_stored_text(value) if isinstance(value, str) else value
