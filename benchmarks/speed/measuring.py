"""Time and peak memory of a call, and the lines of the table."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

#: What is measured: time on the clock, or CPU time of all threads. On a machine that others use too, CPU time with one
#: thread is fair. The variable is set by ``--clock``.
CLOCK = os.environ.get("DIFFHASH_BENCH_CLOCK", "wall")
clock = time.process_time if CLOCK == "cpu" else time.perf_counter


@dataclass(frozen=True)
class Line:
    """A line of the table.

    Attributes
    ----------
    work : str
    measured : str
        With its unit.
    floor : str
        The floor or peer, with its time; empty if there is none.
    ratio : str
        To the floor or peer.
    goal : str
        Empty if there is none.
    reached : bool or None
        None if there is no goal.
    megabytes : float or None
        Peak memory beyond what was in use before, such as the data.
    """

    work: str
    measured: str
    floor: str = ""
    ratio: str = ""
    goal: str = ""
    reached: bool | None = None
    megabytes: float | None = None


@dataclass(frozen=True)
class Measured:
    """Best time of several calls in seconds, and the largest peak of memory in MB beyond what was in use before."""

    seconds: float
    megabytes: float


def measure(call: Callable[[], object], repeats: int = 1) -> Measured:
    """Time and memory of a call."""
    return take_turns({"": call}, repeats)[""]


def take_turns(calls: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Measured]:
    """The same for several calls. They take turns, so that a busy machine is busy for all."""
    best: dict[str, Measured] = {}
    for _ in range(repeats):
        for name, call in calls.items():
            time.sleep(0.05)  # threads of the one before spin for a while and hold a core
            before = _reset_peak()
            start = clock()
            call()
            seconds, megabytes = clock() - start, _peak() - before
            old = best.get(name, Measured(seconds, megabytes))
            best[name] = Measured(min(old.seconds, seconds), max(old.megabytes, megabytes))
    return best


def _reset_peak() -> float:
    """Let the peak of memory start at what is in use now; returns this, in MB."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        # Not Linux: the peak since the start of the process, which is why every row has a process of its own.
        return _peak()
    return _status("VmRSS")


def _peak() -> float:
    if Path("/proc/self/status").exists():
        return _status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def shown(seconds: float) -> str:
    """A time with three digits and a fitting unit."""
    if seconds >= 1:
        return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} µs"


def line_of_time(
    work: str,
    ours: Measured,
    *,
    limit: float | None = None,
    floor: tuple[str, float] | None = None,
    ratio: float | None = None,
    megabytes: float | None = None,
) -> Line:
    """A line with a time.

    Parameters
    ----------
    work : str
    ours : Measured
    limit : float, optional
        Goal in seconds.
    floor : (str, float), optional
        Name and seconds.
    ratio : float, optional
        Goal: the largest allowed multiple of the floor.
    megabytes : float, optional
        Goal of the memory.
    """
    goals, reached = [], []
    if limit is not None:
        goals.append(f"≤ {shown(limit)}")
        reached.append(ours.seconds <= limit)
    if megabytes is not None:
        goals.append(f"≤ {megabytes:,.0f} MB")
        reached.append(ours.megabytes <= megabytes)
    times = None if floor is None else ours.seconds / floor[1]
    if ratio is not None and times is not None:
        goals.append(f"≤ {ratio:g} ×")
        reached.append(times <= ratio)
    return Line(
        work,
        shown(ours.seconds),
        "" if floor is None else f"{floor[0]}: {shown(floor[1])}",
        "" if times is None else f"{times:.2f} ×",
        ", ".join(goals),
        all(reached) if reached else None,
        ours.megabytes,
    )
