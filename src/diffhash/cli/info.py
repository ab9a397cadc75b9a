"""``diffhash info``: what a file is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import typer

from ..errors import InputFileError
from ..files import Source, open_features, open_table
from ..files.arrays import read_header
from ..files.tables import TABLE_KINDS
from ..hashers import load
from ..stores import Collection
from ..workflows.models import FileKind, kind_of
from .fit import describe_model, modalities_line
from .options import AsJson, Debug
from .output import megabytes, print_facts, print_json

__all__ = ["info"]


def info(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A model, a collection, codes, features or a table.")
    ],
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001 - read by run_app
) -> None:
    """Say what a file is and what is in it.

    For example:

        diffhash info model.dhm

        diffhash info photos.dh --json

        diffhash info codes.npy
    """
    kind, source = kind_of(file)
    describe = {FileKind.model: _model, FileKind.collection: _collection, FileKind.data: _data}[kind]
    facts = {"file": str(source), **describe(source), "size": source.path.stat().st_size}
    if as_json:
        print_json(facts)
        return
    facts["size"] = megabytes(facts["size"])
    if "modalities" in facts:
        facts["modalities"] = modalities_line(facts["modalities"])
    print_facts({name: f"{v:,}" if type(v) is int else v for name, v in facts.items()})


def _model(source: Source) -> dict[str, Any]:
    hasher = load(source.path)
    settings = {
        name: value
        for name, value in hasher.get_params(deep=False).items()
        if name != "n_bits" and isinstance(value, bool | int | float | str)
    }
    return {"kind": "model", **describe_model(hasher), "settings": settings}


def _collection(source: Source) -> dict[str, Any]:
    with Collection.open(source.path) as collection:
        found = asdict(collection.stats())
        model = describe_model(collection.hasher)
    said = {"n_objects", "model", "file_bytes", "n_bits", "modalities", "path"}
    rest = {name.removeprefix("n_").replace("_", " "): v for name, v in found.items() if name not in said}
    return {"kind": "collection", "objects": found["n_objects"], **model, **rest}


def _data(source: Source) -> dict[str, Any]:
    if source.kind == ".npy":
        with source.path.open("rb") as opened:
            shape, _, dtype = read_header(opened, source)
        if dtype == np.uint8 and len(shape) == 2:
            return {"kind": "codes", "rows": shape[0], "bytes": shape[1], "bits": f"at most {8 * shape[1]}"}
        return {"kind": "array", "shape": " × ".join(map(str, shape)), "dtype": str(dtype)}
    if source.kind in TABLE_KINDS:
        try:
            table = open_table(source)
        except InputFileError:
            # Lines of bare numbers are features, though no table.
            file = open_features(source)
            return {"kind": "features", "rows": file.count(), "features": file.n_features}
        return {"kind": "table", "rows": sum(1 for _ in table.rows()), "columns": ", ".join(table.columns)}
    file = open_features(source)
    return {"kind": "features", "rows": file.count(), "features": file.n_features}
