"""``diffhash verify``: whether a file is in order."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import OutputFlags
from .printing import print_json, shown

__all__ = ["NOT_IN_ORDER", "verify"]

#: Exit status if a file was read and something is wrong with it.
NOT_IN_ORDER = 3


def verify(
    *,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A model, a collection, codes or features.")],
    output: OutputFlags,
) -> None:
    """Read a whole file and check it.

    Models and collections are checked against their checksums and their own structure. Feature files
    are checked for rows that are cut off or not finite. The exit status is 0 if the file is in
    order, and 3 if it is not.

    For example:

        diffhash verify photos.dh

        diffhash verify model.dhm --json

        diffhash verify imgs.npy && diffhash encode model.dhm imgs.npy -o codes.npy
    """
    from .. import workflows

    result = workflows.verify(file)
    if output.as_json:
        print_json(
            {"file": result.file, "kind": result.kind, "ok": result.ok, "problems": list(result.problems)}
        )
    else:
        for problem in result.problems:
            typer.echo(shown(problem, 500))
        typer.echo(f"{result.file}: {'in order' if result.ok else 'not in order'}")
    if not result.ok:
        raise typer.Exit(NOT_IN_ORDER)
