"""Filters as they are typed: ``group=arrow``, ``year>=1990``, or JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import typer

__all__ = ["parse_where"]

_OPERATORS = {"=": "eq", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_TYPED = re.compile(r"\s*([^=!<>]+?)\s*(==|!=|<=|>=|=|<|>)\s*(.*?)\s*", re.DOTALL)


def parse_where(values: Sequence[str] | None) -> dict[str, Any] | None:
    """One filter out of all that were given, every one of which must hold.

    Examples
    --------
    >>> parse_where(["group=arrow", "year>=1990"])
    {'and': [{'group': {'eq': 'arrow'}}, {'year': {'ge': 1990}}]}
    >>> parse_where(['{"tag": {"in": ["a", "b"]}}'])
    {'tag': {'in': ['a', 'b']}}
    >>> parse_where(["name=NaN"])
    {'name': {'eq': 'NaN'}}
    """
    found = [_parse(value) for value in values or ()]
    if not found:
        return None
    return found[0] if len(found) == 1 else {"and": found}


def _parse(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise typer.BadParameter(f"--where: this is no JSON ({error}): {text!r}") from error
        return dict(value)
    match = _TYPED.fullmatch(text)
    if match is None:
        raise typer.BadParameter(
            f"--where is written FIELD=VALUE (or != < <= > >=), or as JSON, got {text!r}"
        )
    field, operator, value = match.groups()
    return {field: {_OPERATORS[operator]: _value(value)}}


def _value(text: str) -> Any:
    """Numbers, true, false and quoted strings are JSON; anything else is the word itself."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, list | dict) or (isinstance(value, float) and not math.isfinite(value)):
        return text
    return value
