"""``diffhash reproduce``: the experiment of the paper."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .messages import InterruptedRunError
from .options import OutputFlags
from .printing import print_json
from .progress import CostBar
from .terminal import echo

if TYPE_CHECKING:
    from ..experiments.paper import Cell, Settings, Summary

__all__ = ["reproduce"]


def reproduce(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the report, the figures and the numbers.")] = Path(
        "reproduction"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller data and fewer seeds: about a minute.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, help="Drawings of the data. [default: 5, or 1 with --quick]", show_default=False
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Continue a run that was interrupted, or start over.")
    ] = True,
    output: OutputFlags,
) -> None:
    """Run the experiment of the paper Multimodal diff-hash and compare.

    Writes report.html, findings.md, figures (PNG and SVG) and results.json.

    The full run takes about a quarter of an hour on two cores.

    It can be interrupted at any time. The same command then continues.

    For example:

        diffhash reproduce --quick

        diffhash reproduce --out results --seeds 10

        diffhash reproduce --out results --fresh --json
    """
    from ..experiments.paper import FILE_NAME, Settings
    from ..experiments.paper.write_report import write_report

    settings = Settings.quick(seeds) if quick else Settings.full(seeds)
    try:
        summary = _run_with_progress(settings, out, fresh=not resume)
    except KeyboardInterrupt:
        kept = out / FILE_NAME
        raise InterruptedRunError(
            f"interrupted. {kept} has the finished parts; the same command continues from there"
        ) from None
    paths = write_report(summary, out)
    if output.as_json:
        print_json(_as_json(summary, paths))
    else:
        echo(_as_text(summary, paths))


def _run_with_progress(settings: Settings, out: Path, *, fresh: bool) -> Summary:
    from ..experiments.paper import run, summarise
    from ..report import require_matplotlib

    require_matplotlib()
    with CostBar("preparing") as work:

        def begin(done: list[Cell], left: list[Cell]) -> None:
            before, after = (sum(cell.cost(settings) for cell in cells) for cells in (done, left))
            work.begin(before, before + after)

        def advance(cell: Cell) -> None:
            work.advance(cell.cost(settings), f"K = {cell.n_classes}, seed {cell.seed}, {cell.method}")

        return summarise(run(settings, out, fresh=fresh, on_plan=begin, on_cell=advance))


def _as_text(summary: Summary, paths: list[Path]) -> str:
    counts = Counter(finding.verdict for finding in summary.findings)
    width = max((len(verdict) for verdict in counts), default=0)
    lines = [f"{finding.verdict:<{width}}  {finding.statement}" for finding in summary.findings]
    return "\n".join([*lines, "", f"{paths[0]}"])


def _as_json(summary: Summary, paths: list[Path]) -> dict[str, Any]:
    results = summary.results
    return {
        "report": str(paths[0]),
        "files": [str(path) for path in paths],
        "settings": results.settings.to_json(),
        "environment": results.environment,
        "findings": [asdict(finding) for finding in summary.findings],
        "tables": [{"title": t.title, "header": t.header, "rows": t.rows} for t in summary.tables],
    }
