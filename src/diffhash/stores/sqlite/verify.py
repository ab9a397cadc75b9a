"""Reading the whole file of a collection and checking that its parts agree."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...errors import DiffhashError
from ...model import HashModel
from ..filter_syntax import kind_of
from .database import Database
from .payloads import indexed_fields
from .snapshot import Snapshot
from .stored_model import read_model

__all__ = ["VerifyReport", "verify"]

_MAX_PROBLEMS = 20


@dataclass(frozen=True)
class VerifyReport:
    """Result of :meth:`Collection.verify`.

    Attributes
    ----------
    problems : tuple of str
        Empty if nothing is wrong; at most 20.
    n_codes, n_objects, n_payloads : int
        How many codes, objects and payloads were read.
    """

    problems: tuple[str, ...]
    n_codes: int
    n_objects: int
    n_payloads: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(db: Database, load_model: Callable[[bytes], HashModel]) -> VerifyReport:
    """Read and check the whole file; within a transaction.

    ``load_model`` reads the model as the collection does, with its kernels and featurizers.
    """
    problems = [
        f"SQLite: {row[0]}"
        for row in db.execute(f"PRAGMA integrity_check({_MAX_PROBLEMS})")
        if row[0] != "ok"
    ]
    snapshot = None
    try:
        snapshot = Snapshot(db)
        problems += _check_snapshot(snapshot)
    except DiffhashError as error:
        problems.append(str(error))
    problems += _check_model(db, snapshot, load_model)
    n_payloads, found = _check_payloads(db, snapshot)
    problems += found
    return VerifyReport(
        tuple(problems[:_MAX_PROBLEMS]),
        0 if snapshot is None else sum(map(len, snapshot.modality_codes.values())),
        0 if snapshot is None else snapshot.count(),
        n_payloads,
    )


def _check_snapshot(snapshot: Snapshot) -> list[str]:
    problems = []
    for modality, stored in snapshot.modality_codes.items():
        keys = stored.keys[stored.positions()]
        if len(np.unique(keys)) != len(keys):
            problems.append(f"an id has several codes in modality {modality!r}")
        if len(keys) and int(keys.max()) > snapshot.next_key:
            problems.append(
                f"the next id, {snapshot.next_key}, is not larger than all ids of modality {modality!r}"
            )
        if snapshot.id_kind == "str":
            known = list(snapshot.string_ids.keys_by_id.values())
            if not np.isin(keys, known).all():
                problems.append(f"an object of modality {modality!r} has no id")
        elif not snapshot.id_kind and len(keys):
            problems.append("there are objects, but the kind of their ids is not recorded")
    if len(snapshot.string_ids.keys_by_id) != len(snapshot.string_ids):
        problems.append("an id is stored twice")
    return problems


def _check_model(
    db: Database, snapshot: Snapshot | None, load_model: Callable[[bytes], HashModel]
) -> list[str]:
    try:
        loaded = load_model(read_model(db))
    except DiffhashError as error:
        return [f"model: {error}"]
    if snapshot is not None and (loaded.n_bits, set(loaded.modalities)) != (
        snapshot.n_bits,
        set(snapshot.modalities),
    ):
        return ["the number of bits or the modalities of the model differ from those of the collection"]
    return []


def _check_payloads(db: Database, snapshot: Snapshot | None) -> tuple[int, list[str]]:
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
        problems.append("the index of payload fields does not match the payloads")
    if snapshot is not None and keys:
        numbers = np.array(keys, dtype=np.int64)
        alone = numbers[~snapshot.has_any(numbers)]
        if len(alone):
            problems.append(f"{len(alone)} payloads belong to an object that does not exist")
    return len(keys), problems
