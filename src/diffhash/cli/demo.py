"""``diffhash demo``: find symbols by their names, from drawing them to a searchable file and a report."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import OutputFlags
from .printing import print_json
from .progress import CostBar
from .terminal import echo

if TYPE_CHECKING:
    from rich.table import Table

    from ..experiments.symbols import Answer, DemoResult, Found

__all__ = ["demo"]

REPORT = "report.html"


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the collection and the report.")] = Path("demo"),
    open_page: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    output: OutputFlags,
) -> None:
    """Learn to find symbols by their names, evaluate, build a collection and search it.

    Draws about 5,700 characters in two faces of a font (many lack the second), learns from most of them and
    their names, and tests on the others.

    Writes symbols.dh, which diffhash search can read, and report.html. Takes about a minute on two cores.

    For example:

        diffhash demo

        diffhash demo --out symbols --open
    """
    from ..experiments.symbols.write_report import write_demo

    result = _run(out)
    report = write_demo(result, out / REPORT)
    if output.as_json:
        print_json(_as_json(result, report))
    else:
        _print(result, report)
    if open_page:
        typer.launch(report.resolve().as_uri())


def _run(out: Path) -> DemoResult:
    from ..experiments.symbols import COSTS, run_demo
    from ..report import require_matplotlib

    require_matplotlib()
    with CostBar("preparing") as work:
        work.begin(0, sum(COSTS.values()))

        def advance(key: str, share: float, what: str) -> None:
            work.advance(COSTS[key] * share, what)

        return run_demo(out, on_step=advance)


def _print(result: DemoResult, report: Path) -> None:
    from rich.console import Console

    from ..experiments.symbols.html_report import next_steps

    if hasattr(sys.stdout, "reconfigure"):
        # Symbols that the terminal's encoding lacks become question marks.
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False)
    console.print(
        f"Learned from {result.n_train:,} symbols: their drawings in two faces and their names, "
        f"{result.bytes['code']} bytes for each.\n"
        f"{result.n_test} others were kept out: * marks them, and the figures are about them.\n"
    )
    console.print(_words(result.words))
    console.print(_pictures(result.pictures))
    console.print(_figures(result))
    seconds = sum(step.seconds for step in result.steps)
    console.print(
        f"The demo took {seconds:.0f} s. A search with words takes {1000 * result.search_seconds:.1f} ms among "
        f"{result.n_symbols:,} symbols.\n"
    )
    _say(f"report      {report}")
    _say(f"collection  {result.collection}")
    _say("\nNext:")
    for what, line in next_steps(result).items():
        _say(f"  {line}\n      {what}")


def _say(line: str) -> None:
    # rich would break a path or a command at the edge of the terminal.
    echo(line)


def _table(title: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, header_style="dim")
    return table


def _words(answers: tuple[Answer, ...]) -> Table:
    table = _table("Asked in words", "words", "nearest of all", "nearest of the unseen")
    for answer in answers:
        if answer.known:
            found = (_line(answer.hits, star=True), _line(answer.unseen_hits, star=False))
        else:
            found = ("nothing was learned about these words", "")
        table.add_row(answer.asked, *found)
    return table


def _pictures(answers: tuple[Answer, ...]) -> Table:
    table = _table(
        "\nAsked with a drawing of an unseen symbol", "drawing", "nearest names", "nearer than its own"
    )
    for answer in answers:
        names = ", ".join(hit.name.lower() for hit in answer.hits[:3])
        table.add_row(_shown(answer.asked), names, "" if answer.nearer is None else f"{answer.nearer:,}")
    return table


def _figures(result: DemoResult) -> Table:
    table = _table("\nOn unseen symbols", "", "queries", "items", "mAP", "recall@1", "recall@10", "EER")
    for d in result.directions:
        values = (d.mean_average_precision, d.recall_at(1), d.recall_at(10), d.equal_error_rate)
        table.add_row(d.title, f"{d.queries:,}", f"{d.items:,}", *(f"{value:.3f}" for value in values))
    n = result.n_test
    table.add_row(
        "chance",
        "",
        f"{n:,}",
        *(f"{value:.3f}" for value in (result.chance, 1 / n, 10 / n, 0.5)),
        style="dim",
    )
    return table


def _line(hits: tuple[Found, ...], *, star: bool) -> str:
    return " ".join(_shown(hit.character) + ("*" if hit.unseen and star else "") for hit in hits)


def _shown(character: str) -> str:
    """A character that can be printed alone: a combining mark is put on a dotted circle."""
    return f"◌{character}" if unicodedata.combining(character) else character


def _as_json(result: DemoResult, report: Path) -> dict[str, Any]:
    return {
        "report": str(report),
        "collection": str(result.collection),
        "n_train": result.n_train,
        "n_test": result.n_test,
        "n_bits": result.n_bits,
        "figures": {
            d.title: {
                "mean_average_precision": d.mean_average_precision,
                "interval": d.interval,
                "recall_at_1": d.recall_at(1),
                "recall_at_10": d.recall_at(10),
                "equal_error_rate": d.equal_error_rate,
            }
            for d in result.directions
        },
        "words": {
            answer.asked: [{"name": hit.name, "distance": hit.distance} for hit in answer.hits]
            for answer in result.words
        },
        "seconds": {step.title: step.seconds for step in result.steps},
        "search_seconds": result.search_seconds,
        "bytes": result.bytes,
    }
