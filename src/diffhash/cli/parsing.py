"""Values of options as they are typed: ``NAME=FILE``, settings, and filters."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

__all__ = [
    "file_or_files_by_couple",
    "file_or_files_by_name",
    "files_by_name",
    "parse_settings",
    "parse_where",
]

_OPERATORS = {"=": "eq", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_TYPED = re.compile(r"\s*([^=!<>]+?)\s*(==|!=|<=|>=|=|<|>)\s*(.*?)\s*", re.DOTALL)


def files_by_name(values: Sequence[str] | None, option: str, value_name: str = "FILE") -> dict[str, str]:
    """``NAME=FILE`` options as a dict. Messages call the value ``value_name``.

    Examples
    --------
    >>> files_by_name(["image=a.npy", "text=b.npz#t=1"], "--view")
    {'image': 'a.npy', 'text': 'b.npz#t=1'}
    """
    found: dict[str, str] = {}
    for value in values or ():
        name, equals, file = value.partition("=")
        if not equals or not name or not file:
            raise typer.BadParameter(f"write {option} NAME={value_name}, got {value!r}")
        if name in found:
            raise typer.BadParameter(f"{option} names {name!r} twice")
        found[name] = file
    return found


def file_or_files_by_name(
    values: Sequence[str] | None, names: Sequence[str], option: str
) -> str | dict[str, str] | None:
    """``[NAME=]FILE`` options: one file for all names, or a dict.

    Examples
    --------
    >>> file_or_files_by_name(["l.csv#class"], ["image", "text"], "--labels")
    'l.csv#class'
    >>> file_or_files_by_name(["image=l.csv"], ["image", "text"], "--labels")
    {'image': 'l.csv'}
    """
    if not values:
        return None
    only = values[0] if len(values) == 1 else None
    if only is not None and not any(only.startswith(f"{name}=") for name in names):
        # The name of a file may contain "=". If there is no such file, an unknown modality was meant.
        file_exists = _exists(only.partition("#")[0])
        if "=" not in only or file_exists:
            return only
    return files_by_name(values, option)


def file_or_files_by_couple(
    values: Sequence[str] | None, names: Sequence[str], option: str
) -> str | dict[tuple[str, ...], str] | None:
    """``[A:B=]FILE`` options: one file, or a dict of files by couple of modalities.

    Examples
    --------
    >>> file_or_files_by_couple(["p.csv"], ["image", "text"], "--pairs")
    'p.csv'
    >>> file_or_files_by_couple(["image:text=p.csv"], ["image", "text"], "--pairs")
    {('image', 'text'): 'p.csv'}
    """
    if not values:
        return None
    couples = {f"{a}:{b}=": (a, b) for a in names for b in names}
    found: dict[tuple[str, ...], str] = {}
    for value in values:
        prefix = next((prefix for prefix in couples if value.startswith(prefix)), None)
        if prefix is None:
            if len(values) == 1 and ("=" not in value or _exists(value.partition("#")[0])):
                return value
            example = f"{names[0]}:{names[-1]}=FILE" if names else "A:B=FILE"
            raise typer.BadParameter(
                f"write {option} {example} with two of {', '.join(names)}, got {value!r}"
            )
        couple = couples[prefix]
        if couple in found or couple[::-1] in found:
            raise typer.BadParameter(f"{option} names {couple[0]}:{couple[1]} twice")
        found[couple] = value.removeprefix(prefix)
    return found


def _exists(name: str) -> bool:
    """Whether there is such a file; a name that the system refuses has none."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def parse_settings(values: Sequence[str] | None) -> dict[str, Any]:
    """``--set`` options: values are JSON, or words.

    Examples
    --------
    >>> parse_settings(["n_landmarks=500", "features=linear"])
    {'n_landmarks': 500, 'features': 'linear'}
    """
    return {name: _json_or_word(value) for name, value in files_by_name(values, "--set", "VALUE").items()}


def _json_or_word(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def parse_where(values: Sequence[str] | None) -> dict[str, Any] | None:
    """One filter from all ``--where`` options: each of them must hold.

    Examples
    --------
    >>> parse_where(["group=arrow", "year>=1990"])
    {'and': [{'group': {'eq': 'arrow'}}, {'year': {'ge': 1990}}]}
    >>> parse_where(['{"tag": {"in": ["a", "b"]}}'])
    {'tag': {'in': ['a', 'b']}}
    >>> parse_where(["name=NaN"])
    {'name': {'eq': 'NaN'}}
    """
    found = [_parse_filter(value) for value in values or ()]
    if not found:
        return None
    return found[0] if len(found) == 1 else {"and": found}


def _parse_filter(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise typer.BadParameter(f"--where: this is not JSON ({error}): {text!r}") from error
        return dict(value)
    match = _TYPED.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"write --where FIELD=VALUE (or != < <= > >=), or JSON, got {text!r}")
    field, operator, value = match.groups()
    return {field: {_OPERATORS[operator]: _filter_value(value)}}


def _filter_value(text: str) -> Any:
    """Numbers, true, false and quoted strings are JSON; anything else is the word itself."""
    value = _json_or_word(text)
    if isinstance(value, list | dict) or (isinstance(value, float) and not math.isfinite(value)):
        return text
    return value
