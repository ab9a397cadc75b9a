"""``diffhash duplicates``: items of a collection that are nearly equal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..workflows.options import THUMBNAIL
from .options import OutputFlags, Overwrite
from .printing import print_json, print_table
from .progress import StepBar
from .terminal import echo, shown

if TYPE_CHECKING:
    from ..workflows import DuplicatesResult

__all__ = ["duplicates"]

_MAX_COLUMNS, _MAX_ROWS = 4, 10


def duplicates(
    *,
    collection: Annotated[
        str, typer.Argument(metavar="COLLECTION", help="A collection (.dh), or the address of one.")
    ],
    radius: Annotated[
        int, typer.Option("--radius", "-r", min=0, help="Largest number of different bits; 0: equal codes.")
    ],
    modality: Annotated[
        str | None,
        typer.Option(
            help="Compare codes of this modality. Default: the only one with codes.", show_default=False
        ),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(help="Compare with codes of this modality. Default: the same.", show_default=False),
    ] = None,
    count: Annotated[
        int, typer.Option("-k", "--count", min=0, help="How many clusters to show, the largest first.")
    ] = 20,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the pairs to a table: cluster, first, second, distance."),
    ] = None,
    overwrite: Overwrite = False,
    output: OutputFlags,
) -> None:
    """Find items of a collection that are nearly equal.

    All pairs of codes that differ in at most RADIUS bits are found. Items that pairs connect are a cluster.

    For example:

        diffhash duplicates photos.dh --modality image --radius 4

        diffhash duplicates photos.dh --modality image --radius 4 --csv pairs.csv --json
    """
    from .. import workflows

    with StepBar() as progress:
        result = workflows.duplicates(
            collection,
            radius=radius,
            modality=modality,
            into=into,
            count=count,
            csv=csv,
            overwrite=overwrite,
            progress=progress,
        )
    if output.as_json:
        print_json(_facts(result))
    else:
        _print(result)


def _facts(result: DuplicatesResult) -> dict[str, Any]:
    facts = result.to_dict()
    facts["largest"] = [
        [{"id": item.id, "payload": _fields(item.payload)} for item in cluster] for cluster in result.largest
    ]
    return facts


def _fields(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload without the thumbnail, which is long and says nothing in a terminal."""
    return {key: value for key, value in payload.items() if key != THUMBNAIL}


def _print(result: DuplicatesResult) -> None:
    within = f"within {result.radius} bits in {result.modality}"
    if result.into != result.modality:
        within = f"within {result.radius} bits between {result.modality} and {result.into}"
    echo(
        f"{result.pairs:,} pairs {shown(within, 300)}: {result.items:,} items in {result.clusters:,} clusters"
    )
    for number, cluster in enumerate(result.largest):
        echo(f"\ncluster {number}")
        shown_items = cluster[:_MAX_ROWS]
        names = list(dict.fromkeys(name for item in shown_items for name in _fields(item.payload)))
        names = [n for n in names if any(item.payload.get(n) not in (None, item.id) for item in shown_items)]
        names = names[:_MAX_COLUMNS]
        rows = [[str(item.id), *(item.payload.get(name) for name in names)] for item in shown_items]
        print_table(["id", *names], rows)
        if len(cluster) > _MAX_ROWS:
            echo("…")
    if result.clusters > len(result.largest) > 0:
        echo(f"\n{result.clusters - len(result.largest):,} more clusters: --count shows more")
    if result.table is not None:
        only = "" if result.table_pairs == result.pairs else f": the {result.table_pairs:,} nearest pairs"
        echo(shown(str(result.table), 500) + only)
