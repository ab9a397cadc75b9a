"""``diffhash copy``: a collection from one store to another."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .messages import InterruptedRunError, with_option_names
from .options import OutputFlags, Overwrite
from .printing import print_facts, print_json, yes_or_no
from .progress import StepBar

__all__ = ["copy"]


def copy(
    *,
    source: Annotated[str, typer.Argument(metavar="FROM", help="A collection (.dh), or the address of one.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Where to copy it: a file or an address.")],
    overwrite: Overwrite = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue a copy that was interrupted: write what is missing."),
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check/--no-check", help="Read the copy at the end, and compare counts and checksum."),
    ] = True,
    output: OutputFlags,
) -> None:
    """Copy a collection to another store: model, codes, ids and payloads.

    A store is a file (.dh), PostgreSQL (postgresql://...) or Milvus (milvus://...). The copy is read at the end and
    compared with the source. A file that comes back from a server has its index of the words of captions again.

    For example:

        diffhash copy photos.dh 'postgresql://localhost/photos?collection=birds'

        diffhash copy 'postgresql://localhost/photos?collection=birds' backup.dh

        diffhash copy photos.dh milvus://localhost:19530/birds --resume
    """
    from .. import workflows

    try:
        with StepBar() as progress:
            result = workflows.copy(
                source, target, overwrite=overwrite, resume=resume, check=check, progress=progress
            )
    except KeyboardInterrupt as error:
        raise InterruptedRunError(with_option_names(str(error)) or "interrupted") from None
    facts: dict[str, Any] = {
        "from": result.source,
        "to": result.target,
        "objects": result.objects,
        "codes": result.codes,
        "written": result.written,
        "checksum": result.checksum,
        "compared": result.checked,
        "seconds": round(result.seconds, 2),
    }
    if output.as_json:
        print_json(facts)
        return
    numbers = {name: f"{facts[name]:,}" for name in ("objects", "codes", "written")}
    print_facts({**facts, **numbers, "compared": yes_or_no(result.checked)})
