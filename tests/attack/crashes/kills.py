"""Kills: a process that changes a collection dies before one of its system calls, or in the middle of it."""

from __future__ import annotations

import functools
import importlib
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ..case import Use, WrongAnswerError
from ..paths import new_folder
from .forked import ForkedError, forked
from .operations import OPERATIONS, clone, make_template, start, state_of
from .shim import count_changes, kill_at_change

__all__ = ["make", "template"]


@functools.cache
def template() -> tuple[Path, Path]:
    """Folders with a collection and with the inputs of operations."""
    root = new_folder()
    folder, inputs = root / "files", root / "inputs"
    folder.mkdir()
    inputs.mkdir()
    # Imported once here, and not in every forked process.
    for module in (
        "pyarrow.parquet",
        "diffhash.hashers",
        "diffhash.stores.sqlite",
        "diffhash.workflows.feature_build",
    ):
        importlib.import_module(module)
    forked(lambda _: make_template(folder, inputs))
    return folder, inputs


def make(rng: random.Random, folder: Path) -> Use:
    """One operation, or two in a row, each killed at a random change of a file."""
    names = [rng.choice(sorted(OPERATIONS))]
    if names != ["upgrade"] and rng.random() < 0.3:
        names.append(rng.choice([name for name in sorted(OPERATIONS) if name != "upgrade"]))
    work = folder / "work"
    work.mkdir()
    start(work, template()[0], names[0])
    return lambda: _interrupt(work, names, rng)


def _interrupt(work: Path, names: list[str], rng: random.Random) -> bool:
    for place, name in enumerate(names):
        # Few seeds, so that what the first operation does in peace is known from an earlier case.
        seed, torn = rng.randrange(2), rng.random() < 0.5
        calm = _calm_start(name, seed) if place == 0 else _calm(work, name, seed)
        at = rng.randrange(1, calm.n_changes + 2)
        said, _, _ = forked(functools.partial(_run, work, name, seed, at, torn))
        last = place == len(names) - 1
        found = _state_of(work) if last else _state_of_copy(work)
        moment = f"{name}, killed at change {at} of {calm.n_changes}{' in the middle of it' if torn else ''}"
        if said and found != calm.after:
            raise WrongAnswerError(f"an acknowledged call is lost: {moment}")
        if found not in (calm.before, calm.after):
            raise WrongAnswerError(f"neither the state before the call nor the one after it: {moment}")
    return True


class _Calm(NamedTuple):
    """What an operation does if nobody interrupts it."""

    before: Any
    after: Any
    n_changes: int


@functools.cache
def _calm_start(name: str, seed: int) -> _Calm:
    """What an operation does to the files that it begins with."""
    root = new_folder()
    work = root / "work"
    work.mkdir()
    start(work, template()[0], name)
    calm = _calm(work, name, seed)
    shutil.rmtree(root)
    return calm


def _calm(work: Path, name: str, seed: int) -> _Calm:
    """What an operation does to these files, tried on a copy."""
    before = _state_of_copy(work)
    copy = work.with_name("calm")
    clone(work, copy)
    n_changes = forked(functools.partial(_run, copy, name, seed, 10**9, False))[1]
    after = _state_of(copy)
    shutil.rmtree(copy)
    return _Calm(before, after, n_changes)


def _run(folder: Path, name: str, seed: int, at: int, torn: bool, say: Callable[[str], None]) -> int:
    kill_at_change(folder, at, torn=torn)
    inputs = template()[1]
    OPERATIONS[name](folder, inputs, random.Random(seed), lambda: say("done"))
    return count_changes()


def _state_of_copy(folder: Path) -> Any:
    """State of a copy: the files themselves stay as the killed process left them."""
    copy = folder.with_name("copy")
    clone(folder, copy)
    try:
        return _state_of(copy)
    finally:
        shutil.rmtree(copy)


def _state_of(folder: Path) -> Any:
    try:
        return forked(lambda _: state_of(folder))[1]
    except ForkedError as error:
        raise WrongAnswerError(f"the files cannot be read or are not correct: {error}") from error
