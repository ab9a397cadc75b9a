"""``diffhash compare``: ours beside other ways to store features."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Featurizers, OutputFlags, PairFlags, Seed, Views, featurizers_by_name
from .parsing import files_by_name
from .printing import print_json, print_table
from .progress import StepBar
from .terminal import echo, shown

if TYPE_CHECKING:
    from ..comparison import Comparison

__all__ = ["compare"]

_PLOTS = (".png", ".svg")


def compare(
    *,
    view: Views = None,
    featurizer: Featurizers = None,
    pairs: PairFlags,
    bits: Annotated[
        str, typer.Option(metavar="N,N,...", help="Widths of codes, multiples of 8.")
    ] = "32,64,128",
    test: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rows to hold out: an array or a column of 0 and 1. Default: objects drawn at random.",
            show_default=False,
        ),
    ] = None,
    share: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="Share of the objects that are held out.")
    ] = 0.25,
    seed: Seed = 0,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also draw accuracy against bytes (.png or .svg).", show_default=False
        ),
    ] = None,
    output: OutputFlags,
) -> None:
    """Compare ways to store your features: accuracy against all bytes of an item.

    Float cosine, CCA, signs, ITQ, CCA + ITQ, product quantisation and RaBitQ of FAISS (pip install faiss-cpu), and
    ours. All learn from the same rows, and are asked with the same unseen queries in both directions. The last line
    says which one to take, also if it is not ours.

    The measure is the recall among the first ten, or mAP with --labels. Intervals are of 95 %; all methods are
    resampled with the same queries.

    For example:

        diffhash compare --view image=imgs.npy --view text=txt.npy

        diffhash compare --view a=d.npz#a --view b=d.npz#b --labels d.csv#class --plot d.png

        diffhash compare --view image=rows.csv#file --view text=rows.csv#caption
        --featurizer image=picture --featurizer text=minilm.json
    """
    views = files_by_name(view, "--view")
    if len(views) < 2:
        raise typer.BadParameter("at least two --view NAME=FILE are needed")
    pair_files = pairs.files(list(views))
    widths = _widths(bits)
    from .. import workflows

    if plot is not None:
        _check_plot(plot, [*views.values(), *([] if test is None else [test]), *pair_files.names()])
    with StepBar() as progress:
        result = workflows.compare(
            views,
            pair_files=pair_files,
            test=test,
            share=share,
            bits=widths,
            seed=seed,
            featurizers=featurizers_by_name(featurizer),
            progress=progress,
        )
    if plot is not None:
        from ..report.comparison_plot import comparison_plot
        from ..workflows.outputs import write_plot

        write_plot(plot, comparison_plot(result.comparisons, plot.suffix.lower().removeprefix(".")))
    if output.as_json:
        print_json(result.to_dict())
        return
    for number, comparison in enumerate(result.comparisons):
        if number:
            echo("")
        _print(comparison)


def _widths(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--bits: write whole numbers, such as 32,64,128, got {text!r}") from None


def _check_plot(path: Path, inputs: list[object]) -> None:
    from ..paths import check_not_address
    from ..report import require_matplotlib
    from ..workflows.outputs import check_plot_output

    check_not_address(path, who="--plot: ")
    if path.suffix.lower() not in _PLOTS:
        raise typer.BadParameter(f"--plot: write a {' or '.join(_PLOTS)} file, got {str(path)!r}")
    require_matplotlib()
    check_plot_output(path, inputs)  # type: ignore[arg-type]


def _print(found: Comparison) -> None:
    a, b = found.modalities
    (train_a, train_b), (asked_a, asked_b) = found.learned_from, found.asked
    echo(
        f"{shown(a)} and {shown(b)}: learned from {train_a:,} and {train_b:,} rows, asked with {asked_a:,} and "
        f"{asked_b:,} others"
    )
    header = [
        "method",
        "bytes",
        f"{a} → {b}",
        f"{b} → {a}",
        found.measure,
        "95 %",
        "to the best",
        "model",
        "CPU s",
    ]
    rows = []
    for method in found.methods:
        forth, back = method.directions
        gap = f"{method.gap:+.3f} ({method.gap_low:+.3f} to {method.gap_high:+.3f})"
        rows.append(
            [
                f"{method.name}{' *' if method.ours else ''}",
                method.item_bytes,
                f"{forth.value:.3f}",
                f"{back.value:.3f}",
                f"{method.value:.3f}",
                f"{method.low:.3f} to {method.high:.3f}",
                gap if method is not found.best else "the best",
                f"{method.model_bytes / 1e6:.2f} MB",
                f"{method.seconds:.1f}",
            ]
        )
    print_table(header, rows)
    echo("* ours. bytes: all that is stored for an item; the model is stored once.")
    for note in found.notes:
        echo(shown(note, 500))
    for size in sorted({method.item_bytes for method in found.methods if method.ours}):
        best = found.best_within(size)
        if best is not None:
            echo(f"Best within {size} bytes: {best.name} ({best.item_bytes} bytes, {best.value:.3f}).")
    echo(found.advice)
