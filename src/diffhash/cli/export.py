"""``diffhash export``: a collection to files of other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .options import OutputFlags, Overwrite
from .printing import print_facts, print_json

__all__ = ["export"]


class FormatName(StrEnum):
    """Formats that a collection can be exported to."""

    parquet = "parquet"
    npy = "npy"
    faiss = "faiss"


def export(
    *,
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help="A collection (.dh).")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write (.parquet, .npy or .faiss).")
    ],
    format: Annotated[  # noqa: A002 - the name of the option
        FormatName | None, typer.Option(help="Default: from the ending of the file.", show_default=False)
    ] = None,
    modality: Annotated[
        str | None,
        typer.Option(help="Only this modality. NumPy and FAISS files hold one.", show_default=False),
    ] = None,
    overwrite: Overwrite = False,
    output: OutputFlags,
) -> None:
    """Write the codes of a collection for other programs.

    A Parquet file has a row for each code: id, modality, code and payload. An .npy file has the codes
    of one modality; their ids are in a second file that ends in .ids.npy. A .faiss file is a binary
    FAISS index of one modality; ids that are strings are in a second file.

    For example:

        diffhash export photos.dh -o photos.parquet

        diffhash export photos.dh --modality image -o image.npy

        diffhash export photos.dh --modality image -o image.faiss
    """
    from .. import workflows

    result = workflows.export(collection, out, format=format, modality=modality, overwrite=overwrite)
    files = [str(path) for path in result.paths]
    facts = {"files": files, "format": result.format, "modality": result.modality, "codes": result.codes}
    if output.as_json:
        print_json(facts)
    else:
        shown = {"modality": result.modality or "all", "codes": f"{result.codes:,}"}
        print_facts({**facts, "files": ", ".join(files), **shown})
