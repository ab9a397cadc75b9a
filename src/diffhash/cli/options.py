"""Options that several commands have, and how their values are read."""

from __future__ import annotations

from typing import Annotated

import typer

from ..native.checks import MAX_BITS
from ..workflows.names import MethodName

__all__ = [
    "Aligned",
    "AsJson",
    "Bits",
    "Debug",
    "Ids",
    "Labels",
    "Method",
    "Negatives",
    "Overwrite",
    "PairsFile",
    "Sample",
    "Seed",
    "Settings",
    "Views",
]


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
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file if it is there.")]
