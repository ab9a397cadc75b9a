"""``diffhash fit``: feature files to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    Featurizers,
    FitSample,
    LearningFlags,
    Negatives,
    OutputFlags,
    Overwrite,
    PairFlags,
    Scheduler,
    Views,
    featurizers_by_name,
)
from .parsing import files_by_name
from .printing import megabytes, modalities_line, print_facts, print_json, yes_or_no
from .progress import StepBar
from .terminal import echo

__all__ = ["fit"]


def fit(
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the model (.dhm).")
    ],
    view: Views = None,
    featurizer: Featurizers = None,
    pairs: PairFlags,
    negatives: Negatives = None,
    learning: LearningFlags,
    sample: FitSample = None,
    scheduler: Scheduler = None,
    overwrite: Overwrite = False,
    output: OutputFlags,
) -> None:
    """Learn hash functions from feature files.

    Give one file for each modality, two or more, and say which rows belong together.

    For example:

        diffhash fit --view image=imgs.npy --view text=txt.npy -o model.dhm

        diffhash fit --view a=a.npy --view b=b.npy --pairs pairs.csv -o ab.dhm

        diffhash fit --view a=d.npz#a --view b=d.npz#b --labels d.csv#class -o d.dhm

        diffhash fit --view a=a.npy --view b=b.npy --view c=c.npy -o abc.dhm

        diffhash fit --view image=rows.csv#file --view text=rows.csv#caption --featurizer image=picture
        --featurizer text=my_package:MiniLM -o model.dhm

        diffhash fit --scheduler local --method diff --view a=a/ --view b=b/ -o ab.dhm
    """
    views = files_by_name(view, "--view")
    if not views:
        raise typer.BadParameter("at least one --view NAME=FILE is needed")
    pair_files = pairs.files(list(views), negatives)
    options = learning.options(sample)
    featurizers = featurizers_by_name(featurizer)
    if scheduler is not None and featurizers:
        raise typer.BadParameter("--featurizer does not go with --scheduler, which reads folders of features")
    from .. import workflows

    with StepBar() as progress:
        if scheduler is None:
            result = workflows.fit(
                views,
                out,
                pair_files=pair_files,
                learning=options,
                featurizers=featurizers,
                overwrite=overwrite,
                progress=progress,
            )
        else:
            from .. import cluster

            result = cluster.fit_shards(
                views,
                out,
                scheduler=scheduler,
                pair_files=pair_files,
                learning=options,
                overwrite=overwrite,
                progress=progress,
                tell=lambda line: echo(line, err=True),
            )
    facts = {
        "model": str(result.path),
        **result.model.to_dict(),
        "learned from": result.learned_from,
        "calibrated": result.calibrated,
        "seconds": round(result.seconds, 2),
        "size": result.size,
    }
    if output.as_json:
        print_json(facts)
        return
    facts |= {"modalities": modalities_line(facts["modalities"]), "size": megabytes(result.size)}
    facts["calibrated"] = yes_or_no(result.calibrated)
    print_facts(facts | {"seconds": f"{result.seconds:.2f}"})
