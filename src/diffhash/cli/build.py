"""``diffhash build``: files to a collection that can be searched."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputFileError
from ..stores import Collection
from ..workflows.build_features import build_from_features
from ..workflows.build_folder import PictureKind, build_from_folder, leave_out_broken
from ..workflows.captions import read_captions
from ..workflows.filling import check_free
from ..workflows.learning import make_hasher
from ..workflows.names import MethodName, settings_of
from .fit import describe_model, modalities_line
from .options import (
    Aligned,
    AsJson,
    Bits,
    Debug,
    Ids,
    Labels,
    Method,
    Negatives,
    Overwrite,
    PairsFile,
    Sample,
    Seed,
    Settings,
    Views,
)
from .output import megabytes, print_facts, print_json

__all__ = ["build"]

_FOLDER = "A folder of pictures"
_FEATURES = "Feature files"


def build(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the collection.")],
    images: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Pictures, in folders within it too.", rich_help_panel=_FOLDER),
    ] = None,
    captions: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table (.csv, .jsonl, .parquet) of files and captions.",
            rich_help_panel=_FOLDER,
        ),
    ] = None,
    file_column: Annotated[
        str | None,
        typer.Option(help="Column with the pictures' names. Default: by its name.", rich_help_panel=_FOLDER),
    ] = None,
    caption_column: Annotated[
        str | None,
        typer.Option(help="Column with the captions. Default: by its name.", rich_help_panel=_FOLDER),
    ] = None,
    kind: Annotated[
        PictureKind, typer.Option(help="What the pictures are.", rich_help_panel=_FOLDER)
    ] = PictureKind.photo,
    thumbnails: Annotated[
        bool,
        typer.Option(
            "--thumbnails/--no-thumbnails",
            help="Keep a small picture of each in the collection.",
            rich_help_panel=_FOLDER,
        ),
    ] = True,
    skip: Annotated[
        bool,
        typer.Option(
            "--skip",
            help="Leave out rows without a picture or a caption, and pictures that cannot be read or named.",
            rich_help_panel=_FOLDER,
        ),
    ] = False,
    view: Views = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Use this model and learn none.", rich_help_panel=_FEATURES),
    ] = None,
    payload: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE", help="Table of what to keep with each row.", rich_help_panel=_FEATURES
        ),
    ] = None,
    pairs: PairsFile = None,
    negatives: Negatives = None,
    labels: Labels = None,
    ids: Ids = None,
    aligned: Aligned = False,
    method: Method = MethodName.refined,
    bits: Bits = 64,
    sample: Sample = 20_000,
    seed: Seed = 0,
    settings: Settings = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001 - read by run_app
) -> None:
    """Make a collection that can be searched: one file with the model, the codes and the payloads.

    From a folder of pictures and a table of captions, or from feature files.

    For example:

        diffhash build --images photos --captions captions.csv -o photos.dh

        diffhash build --view a=a.npy --view b=b.npy --payload rows.csv -o ab.dh

        diffhash build --view a=a.npy --view b=b.npy --pairs pairs.csv -o ab.dh

        diffhash build --model model.dhm --view image=imgs.npy -o images.dh
    """
    if (images is None) != (captions is None) or (images is None) == (not view):
        raise typer.BadParameter(
            "give --images FOLDER and --captions FILE, or --view NAME=FILE for each modality"
        )
    inputs = [*(view or ()), *(payload or ()), *(labels or ()), *(ids or ())]
    inputs += [name for name in (captions, model, pairs, negatives) if name is not None]
    check_free(out, overwrite, inputs)
    hasher = make_hasher(method, bits, seed, settings_of(settings))
    start = time.perf_counter()
    skipped = 0
    if images is not None and captions is not None:
        _refuse({"--model": model, "--payload": payload, "--pairs": pairs, "--labels": labels, "--ids": ids})
        data = read_captions(
            images, captions, file_column=file_column, caption_column=caption_column, skip=skip
        )
        if skip:
            leave_out_broken(data)
        if len(set(data.of)) < 2:
            raise InputFileError(f"{captions}: at least two pictures with captions are needed to learn from.")
        skipped = data.n_skipped
        learned = build_from_folder(
            out, data, hasher=hasher, kind=kind, thumbnails=thumbnails, sample=sample, seed=seed
        )
    else:
        learned = build_from_features(
            out,
            view or [],
            hasher=hasher,
            model=model,
            pairs=pairs,
            negatives=negatives,
            labels=labels,
            ids=ids,
            aligned=aligned,
            payload=payload,
            sample=sample,
            seed=seed,
        )
    with Collection.open(out) as collection:
        n = len(collection)
    facts: dict[str, Any] = {
        "collection": str(out),
        "objects": n,
        **describe_model(learned.hasher),
        "learned from": learned.learned_from,
        "left out": skipped,
        "seconds": round(time.perf_counter() - start, 2),
        "size": out.stat().st_size,
    }
    if as_json:
        print_json(facts)
        return
    facts |= {"objects": f"{n:,}", "modalities": modalities_line(facts["modalities"])}
    facts |= {"seconds": f"{facts['seconds']:.2f}", "size": megabytes(facts["size"])}
    if not skipped:
        del facts["left out"]
    print_facts(facts)


def _refuse(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value:
            raise typer.BadParameter(f"{name} goes with --view, not with --images")
