"""``diffhash delete``: remove objects from a collection."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import OutputFlags
from .printing import print_facts, print_json

__all__ = ["delete"]


def delete(
    *,
    collection: Annotated[
        str, typer.Argument(metavar="COLLECTION", help="A collection (.dh), or the address of one.")
    ],
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID...]", help="Ids of objects.")] = None,
    id_file: Annotated[
        str | None, typer.Option("--ids", metavar="FILE", help="More ids (FILE#COLUMN).")
    ] = None,
    modality: Annotated[
        str | None,
        typer.Option(
            help="Remove only the codes of this modality. Default: objects as a whole.", show_default=False
        ),
    ] = None,
    output: OutputFlags,
) -> None:
    """Remove objects from a collection. Ids that it does not have are reported, and are not an error.

    For example:

        diffhash delete photos.dh cats/01.jpg cats/02.jpg

        diffhash delete items.dh --ids old.csv#id
    """
    from .. import workflows

    result = workflows.delete(collection, ids or (), id_file=id_file, modality=modality)
    facts = {
        "collection": str(result.path),
        "deleted": result.deleted,
        "unknown": list(result.unknown),
        "objects": result.objects,
    }
    if output.as_json:
        print_json(facts)
        return
    if result.unknown:
        facts["unknown"] = ", ".join(map(str, result.unknown))
    else:
        del facts["unknown"]
    print_facts(facts)
