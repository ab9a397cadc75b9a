"""``diffhash verify``: whether a file is in order."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import OutputFlags
from .printing import print_json
from .terminal import echo, shown

__all__ = ["NOT_IN_ORDER", "verify"]

#: Exit status if a file was read and something is wrong with it.
NOT_IN_ORDER = 3


def verify(
    *,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A model, a collection or its address, an index, codes or features."
        ),
    ],
    output: OutputFlags,
) -> None:
    """Read a whole file and check it.

    Models and collections are checked against their checksums and their own structure, an index only
    against its structure. Feature files are checked for rows that are cut off or not finite. The exit
    status is 0 if the file is in order, 3 if it is not, and 1 if diffhash does not check such files.

    For example:

        diffhash verify photos.dh

        diffhash verify model.dhm --json

        diffhash verify imgs.npy && diffhash encode model.dhm imgs.npy -o codes.npy
    """
    from .. import workflows

    result = workflows.verify(file)
    if output.as_json:
        print_json(result.to_dict())
    else:
        for problem in result.problems:
            echo(shown(problem, 500))
        echo(f"{shown(result.file, 500)}: {'in order' if result.ok else 'not in order'}")
    if not result.ok:
        raise typer.Exit(NOT_IN_ORDER)
