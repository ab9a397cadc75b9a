"""Names of files and methods as they are given to the commands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

__all__ = ["MethodName", "by_name", "for_all", "settings_of"]


class MethodName(StrEnum):
    """Methods by the names they have on the command line."""

    refined = "refined"
    diff = "diff"
    kernel = "kernel"
    boosted = "boosted"


def by_name(values: Sequence[str] | None, option: str) -> dict[str, str]:
    """``NAME=FILE`` options as a dict.

    Examples
    --------
    >>> by_name(["image=a.npy", "text=b.npz#t=1"], "--view")
    {'image': 'a.npy', 'text': 'b.npz#t=1'}
    """
    found: dict[str, str] = {}
    for value in values or ():
        name, equals, file = value.partition("=")
        if not equals or not name or not file:
            raise typer.BadParameter(f"{option} is written {option} NAME=FILE, got {value!r}")
        if name in found:
            raise typer.BadParameter(f"{option} names {name!r} twice")
        found[name] = file
    return found


def for_all(values: Sequence[str] | None, names: Sequence[str], option: str) -> dict[str, str]:
    """``[NAME=]FILE`` options as a dict: a file without a name stands for every name.

    Examples
    --------
    >>> for_all(["l.csv#class"], ["image", "text"], "--labels")
    {'image': 'l.csv#class', 'text': 'l.csv#class'}
    """
    values = list(values or ())
    if len(values) == 1 and not any(values[0].startswith(f"{name}=") for name in names):
        name, equals, _ = values[0].partition("=")
        # A file may have a "=" in its name; a modality that is not there may have been meant.
        if not equals or Path(values[0].partition("#")[0]).exists():
            return dict.fromkeys(names, values[0])
    found = by_name(values, option)
    for name in found:
        if name not in names:
            raise typer.BadParameter(f"{option} names {name!r}, which is none of {', '.join(names)}")
    return found


def settings_of(values: Sequence[str] | None) -> dict[str, Any]:
    """``--set`` options: values are JSON, or words.

    Examples
    --------
    >>> settings_of(["n_landmarks=500", "features=linear"])
    {'n_landmarks': 500, 'features': 'linear'}
    """
    return {name: _json_or_word(value) for name, value in by_name(values, "--set").items()}


def _json_or_word(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
