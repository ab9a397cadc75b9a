"""Options that several commands have, and how their values are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..native.checks import MAX_BITS

__all__ = [
    "Aligned",
    "AsJson",
    "Bits",
    "Debug",
    "Ids",
    "Labels",
    "Method",
    "MethodName",
    "Negatives",
    "PairsFile",
    "Sample",
    "Seed",
    "Settings",
    "Views",
    "by_name",
    "for_all",
    "settings_of",
]


class MethodName(StrEnum):
    """Methods by the names they have on the command line."""

    refined = "refined"
    diff = "diff"
    kernel = "kernel"
    boosted = "boosted"


_BELONG = "What belongs together"
_LEARN = "Learning"

Views = Annotated[
    list[str] | None,
    typer.Option(
        "--view",
        metavar="NAME=FILE",
        help="Features of one modality: .npy, .npz#array, .parquet, .csv or .jsonl (#column). Repeat for each.",
    ),
]
PairsFile = Annotated[
    str | None,
    typer.Option(
        "--pairs",
        metavar="FILE",
        help="Table of two columns: row numbers from 0, or ids with --ids.",
        rich_help_panel=_BELONG,
    ),
]
Negatives = Annotated[
    str | None,
    typer.Option(
        "--negatives",
        metavar="FILE",
        help="Table of pairs that do not belong together. Default: every other pair.",
        rich_help_panel=_BELONG,
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        metavar="[NAME=]FILE",
        help="Labels of the rows (FILE#COLUMN): one file for all views, or one for each.",
        rich_help_panel=_BELONG,
    ),
]
Ids = Annotated[
    list[str] | None,
    typer.Option(
        "--ids",
        metavar="[NAME=]FILE",
        help="Ids of the rows (FILE#COLUMN): one file for all views, or one for each.",
        rich_help_panel=_BELONG,
    ),
]
Aligned = Annotated[
    bool,
    typer.Option(
        "--aligned",
        help="Row r of every view is one object. Default where the numbers of rows agree.",
        rich_help_panel=_BELONG,
    ),
]
Method = Annotated[MethodName, typer.Option(help="How to learn.", rich_help_panel=_LEARN)]
Bits = Annotated[int, typer.Option(min=1, max=MAX_BITS, help="Length of the codes.", rich_help_panel=_LEARN)]
Sample = Annotated[
    int,
    typer.Option(
        min=0, help="Learn from at most this many objects, drawn at random; 0: all.", rich_help_panel=_LEARN
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Of everything random.", rich_help_panel=_LEARN)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Another parameter of the method, such as n_landmarks=500.",
        rich_help_panel=_LEARN,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


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
