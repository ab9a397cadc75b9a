"""Reports about the progress of a workflow, which a callback receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Progress", "Step", "StepCounter", "report"]


@dataclass(frozen=True)
class Step:
    """The state of the step that a workflow is working on.

    Attributes
    ----------
    name : str
        For people: "encoding image".
    done : int
        Units that are done.
    total : int or None
        Units of the whole step; None if that is not known.
    unit : str
        What is counted: "rows", "pictures", "iterations" or "percent".
    detail : str
        More about the step, such as what a fit is doing.

    Examples
    --------
    >>> Step("encoding image", 500, 2000).to_dict()
    {'name': 'encoding image', 'done': 500, 'total': 2000, 'unit': 'rows', 'detail': ''}
    """

    name: str
    done: int = 0
    total: int | None = None
    unit: str = "rows"
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict that JSON can hold."""
        return asdict(self)


#: Called at the beginning of each step and after each part of it. An exception that it raises stops the
#: workflow, which then leaves no output behind.
Progress = Callable[[Step], None]


def report(progress: Progress | None, step: Step) -> None:
    """Call the callback, if there is one."""
    if progress is not None:
        progress(step)


class StepCounter:
    """Counts the units of one step and tells a callback.

    Examples
    --------
    >>> counter = StepCounter(print, "encoding", 3)
    Step(name='encoding', done=0, total=3, unit='rows', detail='')
    >>> counter.advance(2)
    Step(name='encoding', done=2, total=3, unit='rows', detail='')
    """

    def __init__(
        self, progress: Progress | None, name: str, total: int | None = None, unit: str = "rows"
    ) -> None:
        self._progress = progress
        self._name, self._total, self._unit = name, total, unit
        self._done = 0
        self.advance(0)

    def advance(self, n: int = 1, detail: str = "") -> None:
        """Report ``n`` more units."""
        self._done += n
        report(self._progress, Step(self._name, self._done, self._total, self._unit, detail))
