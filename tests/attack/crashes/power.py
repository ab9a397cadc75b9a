"""Power cuts: the changes of a writer are recorded, and files are made as a disk may have them after any of them."""

from __future__ import annotations

import functools
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from diffhash.stores.sqlite.database import Database

from ..case import Use, WrongAnswerError
from ..paths import new_folder
from .disk import WRITE, Change, Disk, read_changes
from .forked import ForkedError, forked
from .kills import template
from .operations import FILE, OPERATIONS, clone, move_note, start, state_of
from .shim import record_changes

__all__ = ["make", "make_careless"]

#: Different sequences of operations. The first ones are cut most often, so that few cases need few recordings.
_RECORDINGS = 40
#: The file in which the writer says what it begins and what is done. It is not part of the collection.
_DIARY = "diary"


def make(rng: random.Random, folder: Path) -> Use:
    """One power cut, at a random change of a recorded sequence of operations."""
    return _make(rng, folder, _record(int(_RECORDINGS * rng.random() ** 5)))


def make_careless(rng: random.Random, folder: Path) -> Use:
    """The same with a writer that does not sync, to see that the attack notices."""
    return _make(rng, folder, _record(0, careless=True))


def _make(rng: random.Random, folder: Path, recording: _Recording) -> Use:
    at, seed = rng.randrange(len(recording.changes) + 1), rng.randrange(2**32)
    work = folder / "work"
    work.mkdir()
    return lambda: _cut(recording, at, random.Random(seed), work)


class _Recording:
    def __init__(
        self, first: dict[str, tuple[int, bytes]], changes: list[Change], names: list[str], states: list[Any]
    ):
        self.first, self.changes, self.names, self.states = first, changes, names, states


@functools.cache
def _record(number: int, *, careless: bool = False) -> _Recording:
    """Run some operations, one after the other, and record what they do to the disk."""
    rng = random.Random(number)
    names = rng.choices([name for name in sorted(OPERATIONS) if name != "upgrade"], k=4)
    if "upgrade" in OPERATIONS and rng.random() < 0.2:
        names = ["upgrade", *rng.choices(["add", "delete", "compact", "export"], k=3)]
    root = new_folder()
    work, log = root / "work", root / "log"
    work.mkdir()
    start(work, template()[0], names[0])
    first = {path.name: (path.stat().st_ino, path.read_bytes()) for path in work.iterdir()}
    seed = rng.randrange(2**32)
    states = [forked(lambda _: state_of(work))[1]]
    for place in range(len(names)):
        # The same operations without a recording, to know the state after each of them.
        calm = root / f"calm-{place}"
        clone(work if place == 0 else root / f"calm-{place - 1}", calm)
        forked(functools.partial(_one, calm, names[place], seed + place))
        states.append(forked(lambda _, calm=calm: state_of(calm))[1])
    forked(functools.partial(_all, work, log, names, seed, careless))
    recording = _Recording(first, read_changes(log), names, states)
    shutil.rmtree(root)
    return recording


def _one(folder: Path, name: str, seed: int, say: Callable[[str], None]) -> None:
    OPERATIONS[name](folder, template()[1], random.Random(seed), lambda: None)


def _all(
    folder: Path, log: Path, names: list[str], seed: int, careless: bool, say: Callable[[str], None]
) -> None:
    if careless:
        connect = Database._connect

        def without_sync(database: Database) -> sqlite3.Connection:
            connection = connect(database)
            connection.execute("PRAGMA synchronous = OFF")
            return connection

        Database._connect = without_sync  # type: ignore[method-assign]
    diary = os.open(folder / _DIARY, os.O_WRONLY | os.O_CREAT)
    record_changes(folder, log)
    for place, name in enumerate(names):
        OPERATIONS[name](
            folder,
            template()[1],
            random.Random(seed + place),
            lambda place=place: os.write(diary, bytes([place + 1])),
        )


def _cut(recording: _Recording, at: int, rng: random.Random, work: Path) -> bool:
    disk, done = Disk(recording.first), 0
    for change in recording.changes[:at]:
        if change.name != _DIARY:
            disk.apply(change)
        elif change.kind == WRITE:
            done = change.data[0]
    files = disk.after_power_cut(rng)
    for name, (_, data) in files.items():
        (work / name).write_bytes(data)
    if FILE in files:
        move_note(work, files[FILE][0])
    moment = f"after {done} of {', '.join(recording.names)}, at change {at} of {len(recording.changes)}"
    try:
        found = forked(lambda _: state_of(work))[1]
    except ForkedError as error:
        raise WrongAnswerError(f"the files cannot be read or are not correct: {moment}: {error}") from error
    if found not in recording.states[done : done + 2]:
        lost = found in recording.states[:done]
        what = (
            "an acknowledged call is lost"
            if lost
            else "neither the state before the call nor the one after it"
        )
        raise WrongAnswerError(f"{what}: {moment}")
    return True
