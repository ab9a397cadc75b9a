"""``diffhash evaluate``: how well codes find the objects that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Featurizers, OutputFlags, PairFlags, Seed, Views, featurizers_by_name
from .parsing import files_by_name
from .printing import print_json, print_table
from .progress import StepBar
from .terminal import echo, shown

if TYPE_CHECKING:
    from ..evaluation import DirectionMatrix
    from ..workflows import CalibrationCheck, Direction

__all__ = ["evaluate"]


def evaluate(
    *,
    model: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL]", help="A model (.dhm) or a collection (.dh); with --view."),
    ] = None,
    view: Views = None,
    featurizer: Featurizers = None,
    codes: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="Codes of one modality, in place of a model and views."),
    ] = None,
    pairs: PairFlags,
    within: Annotated[
        bool,
        typer.Option(
            "--within",
            help="Also within each modality (needs --labels); with --view, how well codes keep its distances.",
        ),
    ] = False,
    metric: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Distance of features that --within compares: euclidean, diagonal, cosine or root-cosine.",
        ),
    ] = "euclidean",
    fused: Annotated[
        bool,
        typer.Option(
            "--fused",
            help="Also into fused codes of the objects (needs a calibrated model and --labels). "
            "The query's own object is left out.",
        ),
    ] = False,
    queries: Annotated[
        int,
        typer.Option(min=0, help="At most this many queries in each direction, drawn at random; 0: all."),
    ] = 10_000,
    seed: Seed = 0,
    output: OutputFlags,
) -> None:
    """Measure retrieval from every modality into every other.

    Use objects that the model has not learned from. mAP is the mean average precision, with a 95 %
    interval over the queries. NDCG counts how many labels an item shares with the query. Equal distances
    count as ties. ρ is the rank correlation of Hamming distances with distances of features.

    For example:

        diffhash evaluate model.dhm --view image=imgs.npy --view text=txt.npy

        diffhash evaluate ab.dhm --view a=a.npy --view b=b.npy --labels ab.csv#class

        diffhash evaluate ab.dhm --view a=a.npy --view b=b.npy --labels ab.csv#class --within

        diffhash evaluate --codes a=a.npy --codes b=b.npy --pairs pairs.csv

        diffhash evaluate abc.dhm --view a=a.npy --view b=b.npy --view c=c.npy
    """
    if bool(view) == bool(codes):
        raise typer.BadParameter("give a MODEL and --view NAME=FILE for each modality, or --codes NAME=FILE")
    views, code_files = files_by_name(view, "--view"), files_by_name(codes, "--codes")
    from .. import workflows

    with StepBar() as progress:
        result = workflows.evaluate(
            model,
            views,
            codes=code_files,
            pair_files=pairs.files(list(views or code_files)),
            within=within,
            metric=metric,
            fused=fused,
            queries=queries,
            seed=seed,
            featurizers=featurizers_by_name(featurizer),
            progress=progress,
        )
    if output.as_json:
        print_json([_facts(direction) for direction in result.directions])
    else:
        _print(result.directions)
        if len({found.query for found in result.directions}) > 2:
            _print_matrix(result.matrix())


def _facts(found: Direction) -> dict[str, Any]:
    low, high = found.interval
    facts = {
        "from": found.query,
        "into": found.into,
        "queries": found.queries,
        "without relevant": found.without_relevant,
        "items": found.items,
        "mAP": found.mean_average_precision,
        "mAP low": low,
        "mAP high": high,
        "EER": found.equal_error_rate,
        "precision at 10": found.precision_at_10,
        "recall at 1": found.recall_at_1,
        "recall at 10": found.recall_at_10,
        "NDCG": found.ndcg,
        "NDCG low": found.ndcg_interval[0],
        "NDCG high": found.ndcg_interval[1],
        "NDCG at 10": found.ndcg_at_10,
        **({} if found.calibration is None else {"calibration": found.calibration.to_dict()}),
    }
    if found.rank_correlation is not None and found.rank_correlation_interval is not None:
        low, high = found.rank_correlation_interval
        facts |= {
            "rank correlation": found.rank_correlation,
            "rank correlation low": low,
            "rank correlation high": high,
        }
    return facts


def _print(directions: tuple[Direction, ...]) -> None:
    header = ["direction", "queries", "items", "mAP", "95 %", "EER", "P@10", "R@1", "R@10", "NDCG@10"]
    with_distances = any(found.rank_correlation is not None for found in directions)
    header += ["ρ"] if with_distances else []
    rows = []
    for found in directions:
        low, high = found.interval
        measures = [found.equal_error_rate, found.precision_at_10, found.recall_at_1, found.recall_at_10]
        measures.append(found.ndcg_at_10)
        shown_distances = "" if found.rank_correlation is None else f"{found.rank_correlation:.3f}"
        rows.append(
            [
                f"{found.query} → {found.into}",
                found.queries,
                found.items,
                f"{found.mean_average_precision:.3f}",
                f"{low:.3f} to {high:.3f}",
                *(f"{value:.3f}" for value in measures),
                *([shown_distances] if with_distances else []),
            ]
        )
    print_table(header, rows)
    for found in directions:
        if found.calibration is not None:
            echo(f"{shown(found.query)} → {shown(found.into)}: {_calibration_line(found.calibration)}")
        if found.without_relevant:
            echo(
                f"{shown(found.query)} → {shown(found.into)}: {found.without_relevant:,} queries with nothing relevant "
                "were left out"
            )


def _calibration_line(check: CalibrationCheck) -> str:
    chances = (
        "no chances" if check.error is None else f"chances of the first ten hits are off by {check.error:.3f}"
    )
    if check.radius is None:
        return f"{chances}; too few counts to promise {check.promised:g} wrong hits"
    if check.radius < 0:
        return f"{chances}; no distance is near enough to promise at most {check.promised:g} wrong hits"
    return (
        f"{chances}; at most {check.promised:g} wrong hits promised within distance {check.radius}, "
        f"{check.false_matches:.2f} found there, with {check.found:.1%} of the relevant items"
    )


def _print_matrix(matrix: DirectionMatrix) -> None:
    """The mean average precision of all directions: a line for each query modality, a column for each database."""
    rows = [
        [name, *("-" if value != value else f"{value:.3f}" for value in values)]
        for name, values in zip(matrix.queries, matrix.values.tolist(), strict=True)
    ]
    echo("\nmAP, from each line into each column")
    print_table(["", *matrix.databases], rows)
    if set(matrix.databases) <= set(matrix.queries):
        echo(f"mean across modalities {matrix.across:.3f}")
