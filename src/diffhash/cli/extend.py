"""``diffhash extend``: a modality joins a model or a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..workflows.options import SAMPLE
from .options import (
    Featurizers,
    Negatives,
    OutputFlags,
    Overwrite,
    PairFlags,
    Sample,
    Seed,
    Views,
    featurizers_by_name,
)
from .parsing import files_by_name
from .printing import megabytes, modalities_line, print_facts, print_json, yes_or_no
from .progress import StepBar

__all__ = ["extend"]


def extend(
    *,
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model (.dhm), or a collection (.dh) with its model.")
    ],
    view: Views = None,
    featurizer: Featurizers = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to write the new model (.dhm). Without it, a collection takes over the new model itself.",
            show_default=False,
        ),
    ] = None,
    modality: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The new modality. Default: the view that the model lacks.",
            show_default=False,
        ),
    ] = None,
    encodes_as: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A known modality whose stored codes the new codes join: a new encoder of the same objects.",
            show_default=False,
        ),
    ] = None,
    pairs: PairFlags,
    negatives: Negatives = None,
    sample: Sample = SAMPLE,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    output: OutputFlags,
) -> None:
    """Let a modality join a model, in the codes that exist: nothing stored is encoded again.

    Give features of the new modality and of at least one known one, and say which rows belong together.

    For example:

        diffhash extend old.dhm --view speech=s.npy --view text=t.npy -o new.dhm

        diffhash extend photos.dh --view v2=v2.npy --view image=v1.npy --encodes-as image

        diffhash extend m.dhm --view c=c.npy --view a=a.npy --ids c=c.csv#id --ids a=a.csv#id -o n.dhm
    """
    views = files_by_name(view, "--view")
    if not views:
        raise typer.BadParameter("--view NAME=FILE is needed, for the new modality and for a known one")
    pair_files = pairs.files(list(views), negatives)
    from .. import workflows

    with StepBar() as progress:
        result = workflows.extend(
            model,
            views,
            out,
            modality=modality,
            encodes_as=encodes_as,
            pair_files=pair_files,
            sample=sample,
            seed=seed,
            featurizers=featurizers_by_name(featurizer),
            overwrite=overwrite,
            progress=progress,
        )
    facts = {
        "model" if out is not None else "collection": str(result.path),
        **result.model.to_dict(),
        "new modality": result.modality,
        "encodes as": result.encodes_as,
        "learned from": result.learned_from,
        "calibrated": result.calibrated,
        "seconds": round(result.seconds, 2),
        "size": result.size,
    }
    if output.as_json:
        print_json(facts)
        return
    facts |= {"modalities": modalities_line(facts["modalities"]), "size": megabytes(result.size)}
    facts |= {"calibrated": yes_or_no(result.calibrated), "seconds": f"{result.seconds:.2f}"}
    if result.encodes_as is None:
        del facts["encodes as"]
    print_facts(facts)
