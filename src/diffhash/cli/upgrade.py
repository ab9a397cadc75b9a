"""``diffhash upgrade``: a collection in the newest format."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import OutputFlags
from .printing import print_json
from .terminal import echo, shown

__all__ = ["upgrade"]


def upgrade(
    *,
    collection: Annotated[str, typer.Argument(metavar="FILE", help="A collection (.dh).")],
    output: OutputFlags,
) -> None:
    """Bring a collection to the newest file format.

    Collections of older formats can be used without it. Format 2 finds more kinds of damage than format 1.
    Older releases of diffhash cannot read it. The file is checked first; if something is wrong with it,
    nothing is changed. If the upgrade is interrupted, the file has the old format and is complete.

    For example:

        diffhash upgrade photos.dh
    """
    from .. import workflows

    result = workflows.upgrade(collection)
    if output.as_json:
        print_json(result.to_dict())
    elif result.upgraded:
        echo(f"{shown(result.file, 500)}: upgraded from format {result.old_format} to {result.new_format}")
    else:
        echo(f"{shown(result.file, 500)}: has the newest format already ({result.new_format})")
