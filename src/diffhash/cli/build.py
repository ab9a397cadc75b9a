"""``diffhash build``: files to a collection that can be searched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..workflows.options import SAMPLE, PictureKind
from .messages import InterruptedRunError, with_option_names
from .options import (
    Featurizers,
    LearningFlags,
    Negatives,
    OutputFlags,
    Overwrite,
    PairFlags,
    Sample,
    Views,
    featurizers_by_name,
    refuse_options,
)
from .parsing import file_or_files_by_name, files_by_name
from .printing import megabytes, modalities_line, print_facts, print_json, yes_or_no
from .progress import StepBar
from .terminal import echo, shown

if TYPE_CHECKING:
    from ..workflows import BuildResult

__all__ = ["build"]

_FOLDER = "A folder of pictures"
_FEATURES = "Feature files"
_ONLY_FOLDER = "file_column caption_column kind thumbnails skip encoding"
_ONLY_FEATURES = "model payload words fused pairs labels ids aligned negatives"
_ONLY_LEARNING = "method bits seed settings sample"


def build(
    *,
    context: typer.Context,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write the collection (.dh).")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Write the collection to a server instead: postgresql://... or milvus://...",
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Pictures, also in subfolders.", rich_help_panel=_FOLDER),
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
        typer.Option(
            help="Column with the names of the pictures. Default: found by its name.", rich_help_panel=_FOLDER
        ),
    ] = None,
    caption_column: Annotated[
        str | None,
        typer.Option(help="Column with the captions. Default: found by its name.", rich_help_panel=_FOLDER),
    ] = None,
    kind: Annotated[
        PictureKind, typer.Option(help="What the pictures are.", rich_help_panel=_FOLDER)
    ] = PictureKind.photo,
    thumbnails: Annotated[
        bool,
        typer.Option(
            "--thumbnails/--no-thumbnails",
            help="Store a small version of each picture in the collection.",
            rich_help_panel=_FOLDER,
        ),
    ] = True,
    skip: Annotated[
        bool,
        typer.Option(
            "--skip",
            help="Leave out rows without a picture or a caption, and pictures that cannot be read.",
            rich_help_panel=_FOLDER,
        ),
    ] = False,
    encoding: Annotated[
        str | None,
        typer.Option(
            help="Encoding of the table of captions, such as cp1252. Default: UTF-8, or a guess.",
            rich_help_panel=_FOLDER,
            show_default=False,
        ),
    ] = None,
    view: Views = None,
    featurizer: Featurizers = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Use this model (.dhm), or that of a collection (.dh), and do not learn one.",
            rich_help_panel=_FEATURES,
        ),
    ] = None,
    payload: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE", help="Table of what to store with each row.", rich_help_panel=_FEATURES
        ),
    ] = None,
    fused: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Also store one fused code for each object, from all that it has, as a modality of this name.",
            rich_help_panel=_FEATURES,
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="Field of the payload whose words can be searched. Repeat for more.",
            rich_help_panel=_FEATURES,
        ),
    ] = None,
    pairs: PairFlags,
    negatives: Negatives = None,
    learning: LearningFlags,
    sample: Sample = SAMPLE,
    overwrite: Overwrite = False,
    output: OutputFlags,
) -> None:
    """Make a collection that can be searched: one file with the model, the codes and the payloads.

    From a folder of pictures and a table of captions, or from feature files.

    For example:

        diffhash build --images photos --captions captions.csv -o photos.dh

        diffhash build --images photos --captions captions.csv --featurizer text=minilm.json -o photos.dh

        diffhash build --view a=a.npy --view b=b.npy --payload rows.csv -o ab.dh

        diffhash build --view a=a.npy --view b=b.npy --pairs pairs.csv -o ab.dh

        diffhash build --view a=a.npy --view b=b.npy --view c=c.npy --fused abc -o abc.dh

        diffhash build --model model.dhm --view image=imgs.npy -o images.dh

        diffhash build --view a=a.npy --view b=b.npy --to 'postgresql://localhost/photos?collection=ab'
    """
    if (out is None) == (to is None):
        raise typer.BadParameter("give --out FILE, or --to ADDRESS")
    place: Path | str = to if to is not None else out  # type: ignore[assignment]  # one of them is given
    if (images is None) != (captions is None) or (images is None) == (not view):
        raise typer.BadParameter(
            "give --images FOLDER and --captions FILE, or --view NAME=FILE for each modality"
        )
    if view:
        refuse_options(context, _ONLY_FOLDER, "goes with --images, not with --view")
    else:
        refuse_options(context, _ONLY_FEATURES, "goes with --view, not with --images")
    if model is not None:
        refuse_options(context, _ONLY_LEARNING, "does not go with --model: nothing is learned")
    options = learning.options(sample)
    from .. import workflows

    try:
        with StepBar() as progress:
            if images is not None and captions is not None:
                result = workflows.build_folder(
                    images,
                    captions,
                    place,
                    file_column=file_column,
                    caption_column=caption_column,
                    kind=kind,
                    thumbnails=thumbnails,
                    skip=skip,
                    encoding=encoding,
                    learning=options,
                    featurizers=featurizers_by_name(featurizer),
                    overwrite=overwrite,
                    progress=progress,
                )
            else:
                views = files_by_name(view, "--view")
                result = workflows.build_features(
                    views,
                    place,
                    model=model,
                    payloads=file_or_files_by_name(payload, list(views), "--payload"),
                    pair_files=pairs.files(list(views), negatives),
                    learning=options if model is None else None,
                    words=words or (),
                    fused=fused,
                    featurizers=featurizers_by_name(featurizer),
                    overwrite=overwrite,
                    progress=progress,
                )
    except KeyboardInterrupt as error:
        raise InterruptedRunError(with_option_names(str(error)) or "interrupted") from None
    _print(result, as_json=output.as_json)


def _print(result: BuildResult, *, as_json: bool) -> None:
    facts: dict[str, Any] = {
        "collection": str(result.path),
        "objects": result.objects,
        **result.model.to_dict(),
        "learned from": result.learned_from,
        "left out": result.left_out,
        "calibrated": result.calibrated,
        "without caption": result.uncaptioned,
        "unreadable": result.unreadable,
        "notes": result.notes,
        "seconds": round(result.seconds, 2),
        "size": result.size,
    }
    if as_json:
        print_json(facts)
        return
    facts |= {"objects": f"{result.objects:,}", "modalities": modalities_line(facts["modalities"])}
    facts |= {"seconds": f"{result.seconds:.2f}"}
    if result.size is None:
        del facts["size"]
    else:
        facts["size"] = megabytes(result.size)
    facts["calibrated"] = yes_or_no(result.calibrated)
    facts["unreadable"] = ", ".join(result.unreadable)
    for name in ("left out", "without caption", "unreadable"):
        if not facts[name]:
            del facts[name]
    for note in facts.pop("notes"):
        echo(f"diffhash: {with_option_names(shown(note, 500))}", err=True)
    print_facts(facts)
