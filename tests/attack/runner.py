"""The worker that a target needs, and the command that repeats a case."""

from __future__ import annotations

from .case import Result
from .crashes.shim import build_shim
from .targets import CRASH_TARGETS
from .worker import Worker

__all__ = ["describe", "runner"]


def runner(target: str) -> Worker:
    """A worker for the cases of a target. Kills and power cuts need a library that sees the system calls."""
    return Worker(build_shim() if target in CRASH_TARGETS else None)


def describe(target: str, seed: int, result: Result) -> str:
    """A finding, and the command that repeats it."""
    return f"{target}:{seed}: {result.outcome}\n{result.detail}\nRepeat: python -m tests.attack --case {target}:{seed}"
