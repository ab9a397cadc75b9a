"""Reading everything in a collection's file, and saying what does not hold together."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import DiffhashError
from ...model import HashModel
from .database import Database
from .payloads import indexed_fields, kind_of
from .snapshot import State

__all__ = ["VerifyReport", "verify"]

_MOST = 20


@dataclass(frozen=True)
class VerifyReport:
    """What :meth:`Collection.verify` found.

    Attributes
    ----------
    problems : tuple of str
        Empty if all is well; at most 20.
    n_codes, n_objects, n_payloads : int
        What was read.
    """

    problems: tuple[str, ...]
    n_codes: int
    n_objects: int
    n_payloads: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(db: Database, *, kernel: Any) -> VerifyReport:
    """Read the whole file; within a transaction."""
    problems = [
        f"SQLite: {row[0]}" for row in db.execute(f"PRAGMA integrity_check({_MOST})") if row[0] != "ok"
    ]
    state = None
    try:
        state = State(db)
        problems += _check_state(state)
    except DiffhashError as error:
        problems.append(str(error))
    problems += _check_model(db, state, kernel)
    n_payloads, found = _check_payloads(db, state)
    problems += found
    return VerifyReport(
        tuple(problems[:_MOST]),
        0 if state is None else sum(map(len, state.shelves.values())),
        0 if state is None else state.count(),
        n_payloads,
    )


def _check_state(state: State) -> list[str]:
    problems = []
    for modality, shelf in state.shelves.items():
        keys = shelf.keys[shelf.positions()]
        if len(np.unique(keys)) != len(keys):
            problems.append(f"an id has several codes in modality {modality!r}")
        if len(keys) and int(keys.max()) > state.next_key:
            problems.append(f"the next id, {state.next_key}, is not above all in modality {modality!r}")
        if state.id_kind == "str":
            names = state.names.by_name
            known = np.fromiter(names.values(), dtype=np.int64, count=len(names))
            if not np.isin(keys, known).all():
                problems.append(f"an object of modality {modality!r} has no name")
        elif not state.id_kind and len(keys):
            problems.append("there are objects, but no kind of ids")
    if len(state.names.by_name) != state.n_names:
        problems.append("a name is there twice")
    return problems


def _check_model(db: Database, state: State | None, kernel: Any) -> list[str]:
    try:
        model = db.value("SELECT value FROM meta WHERE name = 'model'")
        loaded = HashModel.from_bytes(bytes(model), name="the model", kernel=kernel)
    except (DiffhashError, TypeError) as error:
        return [f"model: {error}"]
    if state is not None and (loaded.n_bits, set(loaded.modalities)) != (
        state.n_bits,
        set(state.modalities),
    ):
        return ["the model has other bits or modalities than the collection"]
    return []


def _check_payloads(db: Database, state: State | None) -> tuple[int, list[str]]:
    problems: list[str] = []
    fields = indexed_fields(db)
    entries = {}
    for field, kind, value, key in db.execute("SELECT field, kind, value, key FROM field_values"):
        entries[field, key] = kind, value
    n_entries = db.value("SELECT count(*) FROM field_values")
    agree = n_entries == len(entries)
    keys = []
    for key, crc, text in db.execute("SELECT key, crc, payload FROM payloads"):
        keys.append(key)
        try:
            if crc != zlib.crc32(text.encode()):
                raise ValueError("its checksum does not match")
            payload = json.loads(text) if fields else {}
            for name, field in fields.items():
                agree = agree and kind_of(payload.get(name)) == entries.pop((field, key), None)
        except (ValueError, AttributeError, TypeError) as error:
            problems.append(f"payload {key} is damaged: {error}")
    if not agree or entries:
        problems.append("the index of payload fields does not agree with the payloads")
    if state is not None and keys:
        numbers = np.array(keys, dtype=np.int64)
        alone = numbers[~state.has_any(numbers)]
        if len(alone):
            problems.append(f"{len(alone)} payloads belong to no object")
    return len(keys), problems
