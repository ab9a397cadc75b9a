"""Options that several commands share: written once, and taken in groups."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from ..workflows.options import MAX_BITS, LearningOptions, MethodName, PairFiles
from .parsing import file_or_files_by_couple, file_or_files_by_name, files_by_name, parse_settings

__all__ = [
    "Featurizers",
    "FitSample",
    "LearningFlags",
    "Negatives",
    "OutputFlags",
    "Overwrite",
    "PairFlags",
    "Sample",
    "Scheduler",
    "Seed",
    "Views",
    "featurizers_by_name",
    "refuse_options",
    "takes_groups",
]

_PAIRS = "Which rows belong together"
_LEARNING = "Learning"

Views = Annotated[
    list[str] | None,
    typer.Option(
        "--view",
        metavar="NAME=FILE",
        help="Features of one modality: .npy, .npz#array, .parquet, .csv or .jsonl (#column). Repeat for each. With "
        "--featurizer also a column of texts, or of names of pictures.",
    ),
]
Negatives = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[A:B=]FILE",
        help="Table of pairs that do not belong together. Default: every other pair.",
        rich_help_panel=_PAIRS,
    ),
]
Sample = Annotated[
    int,
    typer.Option(
        min=0,
        help="Learn from at most this many objects, drawn at random; 0: all.",
        rich_help_panel=_LEARNING,
    ),
]
FitSample = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Learn from at most this many objects, drawn at random; 0: all. [default: all with refined, diff "
        "and kernel, which read large files in blocks; 50,000 with boosted]",
        rich_help_panel=_LEARNING,
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.", rich_help_panel=_LEARNING)]
Featurizers = Annotated[
    list[str] | None,
    typer.Option(
        "--featurizer",
        metavar="NAME=FEATURIZER",
        help="Turns raw texts or pictures of a modality into features: package:Name, the name of an installed one, or "
        "a file of settings (.json). Repeat for more.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file of the same kind.")]


Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS|local",
        help="Work on a Dask cluster: the address of its scheduler, or local to start one process for each CPU. "
        "Features are then folders of .npy or .parquet shards.",
    ),
]


@dataclass(frozen=True)
class OutputFlags:
    """How results and errors are shown."""

    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False


@dataclass(frozen=True)
class PairFlags:
    """Which rows belong together."""

    pairs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[A:B=]FILE",
            help="Table of two columns: row numbers from 0, or ids with --ids. With more than two views, one for "
            "each couple: image:text=FILE.",
            rich_help_panel=_PAIRS,
        ),
    ] = None
    labels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="Labels of the rows (FILE#COLUMN): one file for all views, or one for each.",
            rich_help_panel=_PAIRS,
        ),
    ] = None
    ids: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="Ids of the rows (FILE#COLUMN): one file for all views, or one for each. Rows with the same id are "
            "one object; it may lack a view, or have several rows in one.",
            rich_help_panel=_PAIRS,
        ),
    ] = None
    aligned: Annotated[
        bool,
        typer.Option(
            "--aligned",
            help="Row r of every view is one object. Default if the numbers of rows are equal.",
            rich_help_panel=_PAIRS,
        ),
    ] = False

    def files(self, modalities: Sequence[str], negatives: list[str] | None = None) -> PairFiles:
        """The files for a workflow."""
        return PairFiles(
            pairs=file_or_files_by_couple(self.pairs, modalities, "--pairs"),
            negatives=file_or_files_by_couple(negatives, modalities, "--negatives"),
            labels=file_or_files_by_name(self.labels, modalities, "--labels"),
            ids=file_or_files_by_name(self.ids, modalities, "--ids"),
            aligned=self.aligned,
        )


@dataclass(frozen=True)
class LearningFlags:
    """How a model is learned, without ``--sample``: its default differs between commands."""

    method: Annotated[MethodName, typer.Option(help="How to learn.", rich_help_panel=_LEARNING)] = (
        MethodName.refined
    )
    bits: Annotated[
        int, typer.Option(min=1, max=MAX_BITS, help="Length of the codes.", rich_help_panel=_LEARNING)
    ] = 64
    seed: Seed = 0
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Another parameter of the method, such as n_landmarks=500.",
            rich_help_panel=_LEARNING,
        ),
    ] = None

    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Fit a second time without a fifth of the objects, so that searches know how sure hits are; "
            "fused codes need it. Default: if there are enough objects.",
            show_default=False,
            rich_help_panel=_LEARNING,
        ),
    ] = None

    def options(self, sample: int | None) -> LearningOptions:
        """The options for a workflow."""
        return LearningOptions(
            self.method, self.bits, sample, self.seed, parse_settings(self.settings), self.calibrate
        )


def featurizers_by_name(values: list[str] | None) -> dict[str, str] | None:
    """``--featurizer`` options for a workflow; None if there are none."""
    return files_by_name(values, "--featurizer", "FEATURIZER") or None


def refuse_options(context: typer.Context, names: str, reason: str) -> None:
    """Raise a usage error if one of these parameters was given on the command line.

    Parameters
    ----------
    context : typer.Context
    names : str
        Names of parameters, with spaces between them.
    reason : str
        What the message says after the name of the option.
    """
    options = {option.name: option for option in context.command.params}
    for name in names.split():
        source = context.get_parameter_source(name)
        if source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP"):
            option = options[name]
            written = "/".join([option.opts[0], *option.secondary_opts])
            raise typer.BadParameter(f"{written} {reason}")


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is a dataclass above by its fields, so that typer sees plain options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _options_of(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def call(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
    ]
