"""One case of the attack: a target, a seed, and what came of it.

A target makes a hostile input from its seed and gives back a function that uses it. The function may
succeed or raise an error of ours. Everything else is a finding: another error, a wrong answer, more than
two seconds of work, or much more memory than the input has bytes.
"""

from __future__ import annotations

import random
import re
import resource
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from diffhash.errors import DiffhashError

__all__ = ["Result", "Target", "WrongAnswerError", "attempt", "run_case"]

T = TypeVar("T")
#: Uses a hostile input; true if the input was accepted.
Use = Callable[[], bool]

#: Seconds of CPU that a case may take. Wall time would blame a busy machine.
MAX_SECONDS = 2.0
MEGABYTE = 1_000_000
#: Address space that a case may reserve but not use: stacks of threads, arenas of allocators.
_RESERVED = 512 * MEGABYTE


class WrongAnswerError(Exception):
    """Something was accepted that is wrong, such as a changed file that ``verify`` calls correct."""


@dataclass(frozen=True)
class Target:
    """A kind of case.

    Attributes
    ----------
    name : str
    make : function (random generator, empty folder) -> function
        Makes the hostile input; the function that it returns uses it.
    quick : int
        Number of cases in every test run.
    limited : bool
        Whether time and memory of the case are limited. Kills and power cuts start processes of their own.
    megabytes : int
        Memory that a case may take, beside 10 times the size of its input.
    """

    name: str
    make: Callable[[random.Random, Path], Use]
    quick: int
    limited: bool = True
    megabytes: int = 100


@dataclass(frozen=True)
class Result:
    """What came of a case: "accepted", "refused" with an error of ours, or a kind of finding."""

    outcome: str
    detail: str = ""
    #: The same for all cases that fail in the same place.
    signature: str = ""

    @property
    def is_finding(self) -> bool:
        return self.outcome not in ("accepted", "refused")

    def to_dict(self) -> dict[str, str]:
        return asdict(self)


def attempt(call: Callable[..., T], *arguments: Any, **named: Any) -> T | None:
    """Result of a call, or None if it raises an error of ours."""
    try:
        return call(*arguments, **named)
    except DiffhashError:
        return None


def run_case(target: Target, seed: int, folder: Path) -> Result:
    """Run one case in an empty folder."""
    try:
        use = target.make(random.Random(f"{target.name}:{seed}"), folder)
    except Exception as error:
        return _finding("mistake of the attack", error, repr(error))
    # Bytes on the disk: the tail of a sparse file costs its author nothing.
    size = sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))
    allowed = 10 * size + target.megabytes * MEGABYTE
    reset_peak()
    before, started = _status("VmRSS"), time.process_time()
    if target.limited:
        _limit_address_space(_status("VmSize") + allowed + _RESERVED)
    try:
        result = Result("accepted" if use() else "refused")
    except DiffhashError:
        result = Result("refused")
    except MemoryError as error:
        result = _finding("memory", error, f"a {size:,}-byte input asks for too much memory: {error!r}")
    except WrongAnswerError as error:
        result = _finding("wrong answer", error, str(error))
    except Exception as error:
        result = _finding("foreign error", error, f"{type(error).__name__}: {error}")
    finally:
        _limit_address_space(resource.RLIM_INFINITY)
    if not target.limited or result.is_finding:
        return result
    used, seconds = _status("VmHWM") - before, time.process_time() - started
    if used > allowed:
        return Result("memory", f"a {size:,}-byte input took {used:,} bytes of memory", "memory")
    if seconds > MAX_SECONDS:
        return Result("hang", f"took {seconds:.1f} s of CPU", "hang")
    return result


def _finding(kind: str, error: BaseException, detail: str) -> Result:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/src/diffhash/" in f.filename] or frames
    # What follows the colon differs from case to case; the place and the kind of error do not.
    text = detail.split(": ")[0] if kind == "wrong answer" else type(error).__name__
    where = f"{Path(ours[-1].filename).name}:{ours[-1].name}"
    trace = "".join(traceback.format_exception(error))
    return Result(kind, f"{detail[:2000]}\n{trace[-3000:]}", f"{kind}: {text[:120]} in {where}")


def reset_peak() -> None:
    """Begin a new measurement of the peak of memory."""
    Path("/proc/self/clear_refs").write_text("5")


def _status(name: str) -> int:
    """A number of bytes from the status of this process."""
    text = Path("/proc/self/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", text)
    assert found is not None
    return int(found[1]) * 1024


def _limit_address_space(size: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size, hard))
