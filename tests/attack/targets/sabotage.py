"""Targets that misbehave on purpose: the attack must notice each of them."""

from __future__ import annotations

import ctypes
import random
import time
from pathlib import Path

import numpy as np

from diffhash.errors import InputError

from ..case import Target, Use, WrongAnswerError
from ..crashes import power

__all__ = ["SABOTAGE"]


def _use(action: str) -> bool:
    if action == "crash":
        ctypes.string_at(0)
    elif action == "foreign error":
        return {}["key"]  # type: ignore[no-any-return]
    elif action == "wrong answer":
        raise WrongAnswerError("two and two are five")
    elif action == "refused":
        raise InputError("an error of ours")
    elif action == "memory":
        return bool(np.ones(130_000_000, dtype=np.uint8).any())
    elif action == "memory that is not used":
        return bool(np.empty(20 * 10**9, dtype=np.uint8).size)
    elif action == "hang":
        end = time.process_time() + 2.2
        while time.process_time() < end:
            pass
    return True


def _target(action: str) -> Target:
    def make(rng: random.Random, folder: Path) -> Use:
        return lambda: _use(action)

    return Target(f"sabotage-{action.replace(' ', '-')}", make, quick=1)


_ACTIONS = [
    "crash",
    "foreign error",
    "wrong answer",
    "refused",
    "accepted",
    "memory",
    "memory that is not used",
    "hang",
]
SABOTAGE: dict[str, Target] = {target.name: target for target in map(_target, _ACTIONS)} | {
    # A writer that acknowledges before its writes are on the disk.
    "sabotage-power": Target("sabotage-power", power.make_careless, quick=40, limited=False),
}
