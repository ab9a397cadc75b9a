"""Run what is missing, cell by cell."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

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
    """Compute all cells of the settings that the results file does not have yet.

    Parameters
    ----------
    settings : Settings
    folder : path
        Made if it is not there; ``results.json`` in it is rewritten after every cell.
    fresh : bool
        Start over, whatever the file holds.
    on_plan : callable, optional
        Called once with the cells that are done and those that are left.
    on_cell : callable, optional
        Called with each cell after it was written.

    Returns
    -------
    Results
        With every cell of the plan.
    """
    folder = Path(folder)
    path = folder / FILE_NAME
    results = Results.open(path, settings, fresh=fresh)
    folder.mkdir(parents=True, exist_ok=True)
    # Written at once: a folder that cannot be written to is known before the work and not after it.
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
