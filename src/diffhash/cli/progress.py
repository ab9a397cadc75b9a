"""Progress bars on stderr, if that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..workflows.progress import Step
from .terminal import shown

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["CostBar", "StepBar"]


class StepBar:
    """Shows the steps of a workflow: a context manager that is the ``progress`` callback.

    If stderr is not a terminal, nothing is printed and rich is not imported.
    """

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._last: Step | None = None

    def __call__(self, step: Step) -> None:
        """Show a step."""
        if self._bar is None:
            return
        new = self._last is None or step.name != self._last.name or step.done < self._last.done
        if new:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(shown(step.name), total=step.total, unit=step.unit, detail="")
        assert self._task is not None
        self._bar.update(self._task, completed=step.done, total=step.total, detail=shown(step.detail))
        self._last = step

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = _step_columns()
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _step_columns() -> Progress:
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

    class Count(ProgressColumn):
        """Units that are done, and units in a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            rate = "" if speed is None else f", {speed:,.0f}/s"
            return Text(f"{task.completed:,.0f} {task.fields['unit']}{rate}" if task.completed else "")

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        Count(),
        TimeElapsedColumn(),
        TextColumn("left about"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )


class CostBar:
    """A bar for parts of different cost, with an estimate of the time left.

    Nothing is printed if stderr is not a terminal.
    """

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left about"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            # Parts take seconds: an estimate from the last half minute would jump.
            speed_estimate_period=900,
        )
        self._task = self._bar.add_task(title, total=None)

    def begin(self, done: float, total: float) -> None:
        """Set the total cost, and the cost of what was done before."""
        self._bar.reset(self._task, total=total, completed=int(done), start=True)

    def advance(self, cost: float, what: str) -> None:
        """Report that a part of this cost is done."""
        self._bar.update(self._task, advance=cost, description=shown(what))

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.stop()
