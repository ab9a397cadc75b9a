"""``diffhash get``: objects of a collection by their ids."""

from __future__ import annotations

from typing import Annotated

import typer

from ..workflows.options import THUMBNAIL
from .options import OutputFlags
from .printing import print_facts, print_json
from .terminal import echo

__all__ = ["get"]


def get(
    *,
    collection: Annotated[
        str, typer.Argument(metavar="COLLECTION", help="A collection (.dh), or the address of one.")
    ],
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of objects.")],
    modality: Annotated[
        str | None, typer.Option(help="Only the code of this modality.", show_default=False)
    ] = None,
    output: OutputFlags,
) -> None:
    """Show objects of a collection: their modalities and payloads, and with --json their codes.

    For example:

        diffhash get photos.dh cats/01.jpg

        diffhash get items.dh 3 4 --json
    """
    from .. import workflows

    result = workflows.get(collection, ids, modality=modality)
    if output.as_json:
        print_json(result.to_dict())
        return
    for number, item in enumerate(result.items):
        if number:
            echo("")
        payload = {name: value for name, value in item.payload.items() if name != THUMBNAIL}
        print_facts({"id": str(item.id), "modalities": ", ".join(item.modalities), **payload})
