"""``diffhash encode``: a feature file to a file of codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import OutputFlags, Overwrite
from .printing import megabytes, print_facts, print_json
from .progress import StepBar

__all__ = ["encode"]


def encode(
    *,
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model (.dhm), or a collection (.dh) with its model.")
    ],
    features: Annotated[str, typer.Argument(metavar="FEATURES", help="Feature file of one modality.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the codes (.npy).")
    ],
    modality: Annotated[
        str | None,
        typer.Option(
            help="Modality of the features. Default: the one with that many features.", show_default=False
        ),
    ] = None,
    overwrite: Overwrite = False,
    output: OutputFlags,
) -> None:
    """Encode a feature file into binary codes.

    The codes are uint8 of shape (rows, bytes). The memory does not grow with the number of rows.

    For example:

        diffhash encode model.dhm imgs.npy --modality image -o codes.npy

        diffhash encode model.dhm wiki.npz#texts --modality text -o codes.npy

        diffhash encode photos.dh imgs.parquet#embedding --modality image -o codes.npy --json
    """
    from .. import workflows

    with StepBar() as progress:
        result = workflows.encode(
            model, features, out, modality=modality, overwrite=overwrite, progress=progress
        )
    facts = {
        "codes": str(result.path),
        "modality": result.modality,
        "rows": result.rows,
        "bits": result.bits,
        "seconds": round(result.seconds, 2),
        "size": result.size,
    }
    if output.as_json:
        print_json(facts)
    else:
        print_facts({**facts, "rows": f"{result.rows:,}", "size": megabytes(result.size)})
