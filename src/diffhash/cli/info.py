"""``diffhash info``: what a file is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .options import OutputFlags
from .printing import megabytes, modalities_line, print_facts, print_json, print_table

__all__ = ["info"]


def info(
    *,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A model, a collection or its address, an index, codes, features or a table.",
        ),
    ],
    output: OutputFlags,
) -> None:
    """Show what a file is and what it contains.

    For example:

        diffhash info model.dhm

        diffhash info photos.dh --json

        diffhash info codes.npy

        diffhash info 'postgresql://localhost/photos?collection=birds'
    """
    from .. import workflows

    result = workflows.info(file)
    facts: dict[str, Any] = {"file": result.file, "kind": result.kind}
    if "objects" in result.details:
        facts["objects"] = result.details["objects"]
    if result.model is not None:
        facts |= result.model.to_dict()
    facts |= {name.replace("_", " "): value for name, value in result.details.items()}
    if result.size is not None:
        facts["size"] = result.size
    if output.as_json:
        print_json(facts)
        return
    calibration = facts.pop("calibration", [])
    if result.size is not None:
        facts["size"] = megabytes(result.size)
    if "modalities" in facts:
        facts["modalities"] = modalities_line(facts["modalities"])
    print_facts({name: f"{v:,}" if type(v) is int else v for name, v in facts.items()})
    if calibration:
        _print_calibration(calibration)


def _print_calibration(facts: list[dict[str, Any]]) -> None:
    header = [
        "calibration",
        "similar",
        "dissimilar",
        "wrong in 1,000",
        "R@10 distance",
        "R@10 values",
        "rank",
    ]
    rows = []
    for found in facts:
        recalls = [found["recall by distance"], found["recall by values"]]
        rows.append(
            [
                f"{found['from']} → {found['into']}",
                found["similar"],
                found["dissimilar"],
                f"{found['smallest promise']:.3g}",
                *("" if value is None else f"{value:.3f}" for value in recalls),
                found["rank"],
            ]
        )
    print_table(header, rows)
