"""``diffhash verify``: whether a file is whole."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from ..errors import DiffhashError, MissingExtraError
from ..files import Source, open_features, open_table
from ..files.tables import TABLE_KINDS
from ..hashers import load
from ..stores import Collection
from ..workflows.models import FileKind, kind_of
from .options import AsJson, Debug
from .output import print_json, shown

__all__ = ["NOT_IN_ORDER", "verify"]

#: Exit status when a file was read and something is wrong with it.
NOT_IN_ORDER = 3


def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A model, a collection, codes or features.")],
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001 - read by run_app
) -> None:
    """Read a whole file and check it.

    Models and collections against their checksums and their own structure, feature files for rows
    that are cut off or not finite. The exit status is 0 if all is well and 3 if it is not.

    For example:

        diffhash verify photos.dh

        diffhash verify model.dhm --json

        diffhash verify imgs.npy && diffhash encode model.dhm imgs.npy -o codes.npy
    """
    kind, source = kind_of(file)
    check = {FileKind.model: _model, FileKind.collection: _collection, FileKind.data: _data}[kind]
    try:
        problems = check(source)
    except MissingExtraError:
        raise
    except DiffhashError as error:
        problems = [str(error)]
    if as_json:
        print_json({"file": str(source), "kind": kind.value, "ok": not problems, "problems": problems})
    else:
        for problem in problems:
            typer.echo(shown(problem, 500))
        typer.echo(f"{source}: {'not in order' if problems else 'in order'}")
    if problems:
        raise typer.Exit(NOT_IN_ORDER)


def _model(source: Source) -> list[str]:
    load(source.path)
    return []


def _collection(source: Source) -> list[str]:
    with Collection.open(source.path) as collection:
        return list(collection.verify().problems)


def _data(source: Source) -> list[str]:
    if source.kind in TABLE_KINDS and source.part is None:
        return _table(source)
    problems = []
    start = 0
    for block in open_features(source).blocks():
        bad = ~np.isfinite(block)
        if bad.any():
            row = start + int(np.flatnonzero(bad.any(axis=1))[0])
            problems.append(f"{source}: row {row} holds a value that is no finite number.")
            break
        start += len(block)
    return problems


def _table(source: Source) -> list[str]:
    try:
        table: Any = open_table(source)
    except DiffhashError:
        for _ in open_features(source).blocks():
            pass
        return []
    for _ in table.rows():
        pass
    return []
