"""A progress bar on stderr, shown only where somebody can see it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

__all__ = ["Rows", "Work"]


class Work:
    """A bar whose steps have different costs, with an estimate of the time left.

    Nothing is printed when stderr is no terminal.
    """

    def __init__(self, title: str) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left about"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            # Steps take seconds: an estimate from the last half minute would jump about.
            speed_estimate_period=900,
        )
        self._task = self._bar.add_task(title, total=None)

    def begin(self, done: float, total: float) -> None:
        """Say how much there is, and how much was done before."""
        self._bar.reset(self._task, total=total, completed=int(done), start=True)

    def advance(self, cost: float, what: str) -> None:
        """One step of this cost is done."""
        self._bar.update(self._task, advance=cost, description=what)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class _Rate(ProgressColumn):
    """Rows in a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} rows/s")


class Rows:
    """A count of rows with their rate and, where the total is known, the time left.

    Nothing is printed when stderr is no terminal.
    """

    def __init__(self, title: str, total: int | None) -> None:
        console = Console(stderr=True)
        known = [BarColumn(bar_width=30), TextColumn("{task.percentage:>3.0f} %")] if total else []
        left = [TextColumn("left about"), TimeRemainingColumn()] if total else [TimeElapsedColumn()]
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            *known,
            TextColumn("{task.completed:,} rows"),
            _Rate(),
            *left,
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=total or None)

    def advance(self, n: int) -> None:
        """So many rows more are done."""
        self._bar.update(self._task, advance=n)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
