"""``diffhash encode``: a feature file to a file of codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Featurizers, OutputFlags, Overwrite, Scheduler, featurizers_by_name, refuse_options
from .parsing import file_or_files_by_name, files_by_name
from .printing import megabytes, print_facts, print_json
from .progress import StepBar

__all__ = ["encode"]


def encode(
    *,
    context: typer.Context,
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model (.dhm), or a collection (.dh) with its model.")
    ],
    features: Annotated[
        str | None,
        typer.Argument(metavar="[FEATURES]", help="Feature file of one modality; with --scheduler a folder."),
    ] = None,
    view: Annotated[
        list[str] | None,
        typer.Option(
            "--view",
            metavar="NAME=FILE",
            help="In place of FEATURES, for each modality: one fused code for each object. Needs a calibrated model.",
        ),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="With --view: ids of the rows; rows with the same id are one object. Default: row r of every view.",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Where to write the codes (.npy); with --scheduler a folder."
        ),
    ],
    modality: Annotated[
        str | None,
        typer.Option(
            help="Modality of the features. Default: the one with that many features.", show_default=False
        ),
    ] = None,
    featurizer: Featurizers = None,
    scheduler: Scheduler = None,
    overwrite: Overwrite = False,
    output: OutputFlags,
) -> None:
    """Encode a feature file into binary codes, or several into one fused code for each object.

    The codes are uint8 of shape (rows, bytes). The memory does not grow with the number of rows. With --ids, the ids of
    the objects are written beside the codes, to a file that ends in .ids.npy.

    For example:

        diffhash encode model.dhm imgs.npy --modality image -o codes.npy

        diffhash encode model.dhm wiki.npz#texts --modality text -o codes.npy

        diffhash encode photos.dh imgs.parquet#embedding --modality image -o codes.npy --json

        diffhash encode model.dhm --view image=imgs.npy --view text=txt.npy -o fused.npy

        diffhash encode model.dhm imgs/ --scheduler local --modality image -o codes/
    """
    views = files_by_name(view, "--view")
    if bool(views) == (features is not None):
        raise typer.BadParameter("give FEATURES of one modality, or --view NAME=FILE for each modality")
    refuse_options(context, *(("modality", "goes with FEATURES") if views else ("ids", "goes with --view")))
    if scheduler is not None:
        if features is None:
            raise typer.BadParameter("--scheduler goes with FEATURES of one modality")
        if featurizer:
            raise typer.BadParameter(
                "--featurizer does not go with --scheduler, which reads folders of features"
            )
        _encode_shards(model, features, out, scheduler, modality, overwrite, output)
        return
    own = featurizers_by_name(featurizer)
    from .. import workflows

    with StepBar() as progress:
        if features is None:
            by_name = file_or_files_by_name(ids, list(views), "--ids")
            result = workflows.encode_fused(
                model, views, out, ids=by_name, featurizers=own, overwrite=overwrite, progress=progress
            )
        else:
            result = workflows.encode(
                model,
                features,
                out,
                modality=modality,
                featurizers=own,
                overwrite=overwrite,
                progress=progress,
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


def _encode_shards(
    model: str,
    features: str,
    out: Path,
    scheduler: str,
    modality: str | None,
    overwrite: bool,
    output: OutputFlags,
) -> None:
    from .. import cluster

    with StepBar() as progress:
        result = cluster.encode_shards(
            model,
            features,
            out,
            scheduler=scheduler,
            modality=modality,
            overwrite=overwrite,
            progress=progress,
        )
    facts = result.to_dict() | {"seconds": round(result.seconds, 2)}
    facts["codes"] = facts.pop("path")
    if output.as_json:
        print_json(facts)
    else:
        print_facts({**facts, "rows": f"{result.rows:,}"})
