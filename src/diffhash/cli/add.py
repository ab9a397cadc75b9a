"""``diffhash add``: more objects for a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .messages import InterruptedRunError, with_option_names
from .options import Featurizers, OutputFlags, Views, featurizers_by_name, refuse_options
from .parsing import file_or_files_by_name, files_by_name
from .printing import print_facts, print_json
from .progress import StepBar
from .terminal import echo, shown

__all__ = ["add"]

_FOLDER = "A folder of pictures"
_FEATURES = "Feature files"
_ONLY_FOLDER = "captions file_column caption_column thumbnails skip encoding"
_ONLY_FEATURES = "ids payload"


def add(
    *,
    context: typer.Context,
    collection: Annotated[
        str, typer.Argument(metavar="COLLECTION", help="A collection (.dh), or the address of one.")
    ],
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
    ids: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]FILE", help="Ids of the rows (FILE#COLUMN).", rich_help_panel=_FEATURES),
    ] = None,
    payload: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE", help="Table of what to store with each row.", rich_help_panel=_FEATURES
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace objects that exist already.")] = False,
    output: OutputFlags,
) -> None:
    """Add objects to a collection: pictures of a folder, or rows of feature files.

    The model of the collection encodes them; nothing is learned.

    For example:

        diffhash add photos.dh --images more --captions more.csv

        diffhash add photos.dh --images uncaptioned

        diffhash add items.dh --view x=new.npy --ids new.csv#id --payload new.csv
    """
    if (images is None) == (not view):
        raise typer.BadParameter("give --images FOLDER, or --view NAME=FILE for each modality")
    if view:
        refuse_options(context, _ONLY_FOLDER, "goes with --images, not with --view")
    else:
        refuse_options(context, _ONLY_FEATURES, "goes with --view, not with --images")
    from .. import workflows

    try:
        with StepBar() as progress:
            if images is not None:
                result = workflows.add_folder(
                    collection,
                    images,
                    captions,
                    file_column=file_column,
                    caption_column=caption_column,
                    thumbnails=thumbnails,
                    skip=skip,
                    encoding=encoding,
                    featurizers=featurizers_by_name(featurizer),
                    replace=replace,
                    progress=progress,
                )
            else:
                views = files_by_name(view, "--view")
                result = workflows.add_features(
                    collection,
                    views,
                    ids=file_or_files_by_name(ids, list(views), "--ids"),
                    payloads=file_or_files_by_name(payload, list(views), "--payload"),
                    featurizers=featurizers_by_name(featurizer),
                    replace=replace,
                    progress=progress,
                )
    except KeyboardInterrupt as error:
        raise InterruptedRunError(with_option_names(str(error)) or "interrupted") from None
    facts: dict[str, Any] = {
        "collection": str(result.path),
        "added": result.added,
        "replaced": result.replaced,
        "objects": result.objects,
        "left out": result.left_out,
        "without caption": result.uncaptioned,
        "unreadable": result.unreadable,
        "notes": result.notes,
        "seconds": round(result.seconds, 2),
    }
    if output.as_json:
        print_json(facts)
        return
    for note in facts.pop("notes"):
        echo(f"diffhash: {with_option_names(shown(note, 500))}", err=True)
    facts["unreadable"] = ", ".join(result.unreadable)
    for name in ("replaced", "left out", "without caption", "unreadable"):
        if not facts[name]:
            del facts[name]
    print_facts(facts)
