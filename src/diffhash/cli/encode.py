"""``diffhash encode``: a feature file to a file of codes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ..codes import code_bytes
from ..files import CodesWriter, FeatureFile, encode_file, open_features
from ..hashers.base import BaseHasher
from ..workflows.models import load_model
from ..workflows.outputs import check_codes
from ..workflows.progress import Rows
from .options import AsJson, Debug, Overwrite
from .output import megabytes, print_facts, print_json

__all__ = ["choose_modality", "encode"]


def encode(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model, or a collection with its model.")],
    features: Annotated[str, typer.Argument(metavar="FEATURES", help="Feature file of one modality.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the codes (.npy).")
    ],
    modality: Annotated[
        str | None,
        typer.Option(
            help="Which modality the features are. Default: the one with that many features.",
            show_default=False,
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001 - read by run_app
) -> None:
    """Encode a feature file into binary codes.

    The codes are uint8 of shape (rows, bytes). Any number of rows takes the same little memory.

    For example:

        diffhash encode model.dhm imgs.npy --modality image -o codes.npy

        diffhash encode model.dhm wiki.npz#texts --modality text -o codes.npy

        diffhash encode photos.dh imgs.parquet#embedding --modality image -o codes.npy --json
    """
    if out.suffix.lower() != ".npy":
        raise typer.BadParameter(f"--out: codes are written as .npy, got {str(out)!r}")
    check_codes(out, overwrite, [model, features])
    hasher = load_model(model)
    file = open_features(features)
    modality = choose_modality(hasher, file, modality)
    start = time.perf_counter()
    with (
        CodesWriter(out, code_bytes(hasher.n_bits)) as writer,
        Rows(f"encoding {modality}", file.n_rows) as rows,
    ):
        for codes in encode_file(hasher, file, modality):
            writer.write(codes)
            rows.advance(len(codes))
    seconds = time.perf_counter() - start
    facts = {
        "codes": str(out),
        "modality": modality,
        "rows": writer.n_rows,
        "bits": int(hasher.n_bits),
        "seconds": round(seconds, 2),
        "size": out.stat().st_size,
    }
    if as_json:
        print_json(facts)
    else:
        print_facts({**facts, "rows": f"{writer.n_rows:,}", "size": megabytes(out.stat().st_size)})


def choose_modality(hasher: BaseHasher, file: FeatureFile, wanted: str | None) -> str:
    """The modality named, or the only one with as many features as the file."""
    sizes = hasher.n_features_in_
    described = ", ".join(f"{name} ({n:,} features)" for name, n in sizes.items())
    if wanted is not None:
        if wanted not in sizes:
            raise typer.BadParameter(f"--modality: the model has no {wanted!r}; it has {described}")
        return wanted
    if len(sizes) == 1:
        return next(iter(sizes))
    fitting = [name for name, n in sizes.items() if n == file.n_features]
    if len(fitting) != 1:
        raise typer.BadParameter(
            f"{file.source} has {file.n_features:,} features and the model {described}: say --modality"
        )
    return fitting[0]
