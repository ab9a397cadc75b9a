"""Payloads as JSON: which values are allowed, and how they are written."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import InputError

__all__ = ["check_values", "checked_json", "encode_payloads", "to_json"]

_MAX_DEPTH = 100
_FLAT_TYPES = frozenset({str, float, bool, type(None)})


def _plain(value: Any) -> Any:
    """NumPy numbers as Python numbers; the JSON encoder calls this for types that it does not know."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")


#: Compact JSON, in which equal values are equal texts. It is part of the file format.
to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode


def checked_json(payload: dict[str, Any]) -> str:
    """The text of a payload; TypeError or ValueError if no payload can have these values."""
    check_values(payload)
    return to_json(payload)


def check_values(payload: Any) -> None:
    """Raise a TypeError or ValueError if no payload can have these values."""
    if not _is_flat(payload):
        _check(payload, 0)


def encode_payloads(payloads: Any, count: int, *, caller: str) -> list[str | None]:
    """Payloads as JSON texts; None for an object without one."""
    if payloads is None:
        return [None] * count
    # An array without dimensions says that it can be iterated over, and then refuses.
    single = isinstance(payloads, Mapping | str) or getattr(payloads, "ndim", 1) == 0
    if single or not isinstance(payloads, Iterable):
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
        text = checked_json(payload)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{caller}: payload {row} must be a dict of values that JSON can hold, with strings as keys ({error})."
        ) from error
    return text


def _encode_all(payloads: list[Any]) -> list[str]:
    """JSON texts of all payloads with one call of the encoder; a call for each takes three times as long."""
    for payload in payloads:
        check_values(payload)
    # A random word is put between the payloads, and the text is split there.
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
        raise ValueError("a payload contains the separator")
    return texts


def _is_flat(payload: Any) -> bool:
    """Whether a payload is a flat dict of plain values. Nearly all are, and need no further check."""
    if type(payload) is not dict:
        return False
    for key, item in payload.items():
        kind = type(item)
        if type(key) is not str or (
            kind not in _FLAT_TYPES and (kind is not int or not -(2**63) <= item < 2**63)
        ):
            return False
    return True


def _check(value: Any, depth: int) -> None:
    """Raise an error for values that JSON would change silently or could not restore."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a string")
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
