"""Payloads as JSON: what a payload may hold, and its one way to be written."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import InputError

__all__ = ["encode_payloads", "to_json"]

_DEEPEST = 100
_SIMPLE = frozenset({str, float, bool, type(None)})


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's; for the encoder, which asks about what it does not know."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")


#: Payloads as they stand in the file: compact, and each value written in one way only.
to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode


def encode_payloads(payloads: Any, count: int, *, caller: str) -> list[str | None]:
    """Payloads as JSON texts; None where there is none to store."""
    if payloads is None:
        return [None] * count
    if isinstance(payloads, Mapping | str) or not isinstance(payloads, Iterable):
        raise InputError(f"{caller}: payloads must be a list of dicts, got {type(payloads).__name__}.")
    payloads = list(payloads)
    if len(payloads) != count:
        raise InputError(f"{caller}: {count} items need {count} payloads, got {len(payloads)}.")
    try:
        texts = _encode_all([payload for payload in payloads if payload is not None])
    except (TypeError, ValueError, RecursionError):
        texts = [_encode(payload, row, caller) for row, payload in enumerate(payloads) if payload is not None]
    following = iter(texts)
    return [None if payload is None else next(following) for payload in payloads]


def _encode(payload: Any, row: int, caller: str) -> str:
    try:
        _check(payload, 0)
        text = to_json(payload)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{caller}: payload {row} must be a dict of what JSON can hold, with strings as keys ({error})."
        ) from error
    return text


def _encode_all(payloads: list[Any]) -> list[str]:
    """JSON texts, in one call of the encoder: a call for each would take three times as long."""
    for payload in payloads:
        if not _is_simple(payload):
            _check(payload, 0)
    # A word that is in no payload goes between them, and the text is cut there.
    word = secrets.token_hex(16)
    mixed: list[Any] = [word] * (2 * len(payloads))
    mixed[::2] = payloads
    text = to_json(mixed)
    text.encode()
    texts = text[1:].split(f',"{word}",')
    if not payloads:
        return []
    texts[-1] = texts[-1].removesuffix(f',"{word}"]')
    if len(texts) != len(payloads):
        raise ValueError("the word was in a payload")
    return texts


def _is_simple(payload: Any) -> bool:
    """Whether a payload is plain and flat: nearly all are, and need no further look."""
    if type(payload) is not dict:
        return False
    for key, item in payload.items():
        kind = type(item)
        if type(key) is not str or (
            kind not in _SIMPLE and (kind is not int or not -(2**63) <= item < 2**63)
        ):
            return False
    return True


def _check(value: Any, depth: int) -> None:
    """Refuse what JSON would silently change, or could not bring back."""
    if depth > _DEEPEST:
        raise ValueError(f"nested deeper than {_DEEPEST} levels")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is no string")
            if isinstance(item, dict | list | tuple):
                _check(item, depth + 1)
            elif isinstance(item, int | np.integer) and not -(2**63) <= item < 2**63:
                raise ValueError(f"{item} does not fit 64 bits: store it as a string")
    elif depth and isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, dict | list | tuple):
                _check(item, depth + 1)
    else:
        raise TypeError(f"it is of type {type(value).__name__}")
