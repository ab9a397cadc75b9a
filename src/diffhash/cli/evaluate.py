"""``diffhash evaluate``: how well codes find what belongs together."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from ..errors import InputFileError
from ..files import encode_file, open_features, read_codes
from ..types import CodeArray
from ..workflows.judging import evaluate_directions, figures_of
from ..workflows.models import load_model
from ..workflows.names import by_name
from ..workflows.progress import Rows
from ..workflows.relation import read_relation
from .encode import choose_modality
from .options import Aligned, AsJson, Debug, Ids, Labels, PairsFile, Seed, Views
from .output import print_json, print_table

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A model or a collection; with --view.")
    ] = None,
    view: Views = None,
    codes: Annotated[
        list[str] | None,
        typer.Option(
            "--codes", metavar="NAME=FILE", help="Codes of one modality, in place of a model and views."
        ),
    ] = None,
    pairs: PairsFile = None,
    labels: Labels = None,
    ids: Ids = None,
    aligned: Aligned = False,
    within: Annotated[
        bool, typer.Option("--within", help="Also within each modality (needs --labels).")
    ] = False,
    queries: Annotated[
        int, typer.Option(min=0, help="At most this many queries in each direction, drawn; 0: all.")
    ] = 10_000,
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001 - read by run_app
) -> None:
    """Measure retrieval in both directions.

    Use objects that the model has not learned from. mAP is the mean average precision, with a 95 %
    interval over the queries; equal distances count as tied, not in a lucky order.

    For example:

        diffhash evaluate model.dhm --view image=imgs.npy --view text=txt.npy

        diffhash evaluate ab.dhm --view a=a.npy --view b=b.npy --labels ab.csv#class

        diffhash evaluate --codes a=a.npy --codes b=b.npy --pairs pairs.csv
    """
    if bool(view) == bool(codes):
        raise typer.BadParameter("give a MODEL and --view NAME=FILE for each modality, or --codes NAME=FILE")
    if bool(view) != (model is not None):
        raise typer.BadParameter("--view needs a MODEL to encode with, --codes needs none")
    encoded = _encoded(str(model), by_name(view, "--view")) if view else _codes(by_name(codes, "--codes"))
    relation = read_relation(
        {name: len(rows) for name, rows in encoded.items()},
        pairs=pairs,
        negatives=None,
        labels=labels,
        ids=ids,
        aligned=aligned,
    )
    results = evaluate_directions(encoded, relation, within=within, queries=queries, seed=seed)
    figures = {key: figures_of(result, len(encoded[key[1]])) for key, result in results.items()}
    if as_json:
        print_json([{"from": a, "into": b, **found} for (a, b), found in figures.items()])
    else:
        _print(figures)


def _encoded(model: str, views: dict[str, str]) -> dict[str, CodeArray]:
    hasher = load_model(model)
    found = {}
    for name, source in views.items():
        file = open_features(source)
        choose_modality(hasher, file, name)
        with Rows(f"encoding {name}", file.n_rows) as rows:
            blocks = []
            for block in encode_file(hasher, file, name):
                blocks.append(block)
                rows.advance(len(block))
        if not blocks:
            raise InputFileError(f"{source}: there are no rows.")
        found[name] = np.concatenate(blocks)
    return found


def _codes(names: dict[str, str]) -> dict[str, CodeArray]:
    found = {name: read_codes(source) for name, source in names.items()}
    for name, rows in found.items():
        if not len(rows):
            raise InputFileError(f"{names[name]}: there are no rows.")
    return found


def _print(figures: dict[tuple[str, str], dict[str, Any]]) -> None:
    header = ["direction", "queries", "items", "mAP", "95 %", "EER", "P@10", "R@1", "R@10"]
    rows = []
    for (a, b), found in figures.items():
        interval = f"{found['mAP low']:.3f} to {found['mAP high']:.3f}"
        measures = ("EER", "precision at 10", "recall at 1", "recall at 10")
        rows.append(
            [
                f"{a} → {b}",
                found["queries"],
                found["items"],
                f"{found['mAP']:.3f}",
                interval,
                *(f"{found[name]:.3f}" for name in measures),
            ]
        )
    print_table(header, rows)
    left_out = {f"{a} → {b}": f["without relevant"] for (a, b), f in figures.items() if f["without relevant"]}
    for direction, n in left_out.items():
        typer.echo(f"{direction}: {n:,} queries with nothing relevant were left out")
