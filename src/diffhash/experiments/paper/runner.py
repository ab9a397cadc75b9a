"""Run the experiment, cell by cell."""

from __future__ import annotations

import os
from collections.abc import Callable

from ...paths import check_path
from .cells import Cell, compute, plan
from .results import FILE_NAME, Results
from .settings import Settings

__all__ = ["run"]


def run(
    settings: Settings,
    folder: str | os.PathLike[str],
    *,
    fresh: bool = False,
    on_plan: Callable[[list[Cell], list[Cell]], None] | None = None,
    on_cell: Callable[[Cell], None] | None = None,
) -> Results:
    """Compute all cells that the results file does not have yet.

    Parameters
    ----------
    settings : Settings
    folder : path
        Created if it does not exist. Its file ``results.json`` is rewritten after every cell.
    fresh : bool
        Ignore existing results and start again.
    on_plan : callable, optional
        Called once with the finished cells and the remaining cells.
    on_cell : callable, optional
        Called with each cell after its result was written.

    Returns
    -------
    Results
        Results of all cells of the plan.
    """
    folder = check_path(folder, caller="reproduce")
    path = folder / FILE_NAME
    results = Results.open(path, settings, fresh=fresh)
    folder.mkdir(parents=True, exist_ok=True)
    # Write now, so that a folder without write permission is noticed before the work.
    results.write(path)
    cells = plan(settings)
    left = [cell for cell in cells if cell.key not in results.cells]
    if on_plan is not None:
        on_plan([cell for cell in cells if cell.key in results.cells], left)
    for cell in left:
        results.add(cell.key, compute(cell, settings))
        results.write(path)
        if on_cell is not None:
            on_cell(cell)
    return results
