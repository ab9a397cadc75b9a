"""Reading the whole file of a collection and checking that its parts agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import CollectionError, DiffhashError
from ...model import HashModel
from ..filter_syntax import kind_of
from ..model_loading import FOREIGN_ERRORS
from ..payload_json import checked_json
from ..reports import VerifyReport
from .database import Database
from .description import read_description
from .payload_blocks import payload_blocks
from .payloads import all_payloads, indexed_fields, read_payload
from .segments import removals_stream
from .snapshot import Snapshot
from .stored_model import read_model
from .totals import PAYLOADS, Total
from .word_index import check_word_index

__all__ = ["verify"]

_MAX_PROBLEMS = 20
#: Rows that are read at once.
_ROWS = 5_000


def verify(db: Database, load_model: Callable[[bytes], HashModel]) -> VerifyReport:
    """Read and check the whole file; within a transaction.

    ``load_model`` reads the model as the collection does, with its kernels and featurizers.
    """
    problems = [
        f"SQLite: {row[0]}"
        for row in db.execute(f"PRAGMA integrity_check({_MAX_PROBLEMS})")
        if row[0] != "ok"
    ]
    snapshot, described = None, None
    try:
        described = read_description(db)
        snapshot = Snapshot(db)
        problems += _check_snapshot(snapshot) + _check_streams(db, len(snapshot.modalities))
    except DiffhashError as error:
        problems.append(str(error))
    problems += _check_model(db, snapshot, load_model)
    total, found = _check_payloads(db, snapshot)
    problems += found
    expected = None if described is None else described.total(PAYLOADS)
    if expected is not None and total != expected:
        problems.append(
            f"there should be {expected.entries} payloads, and not those {total.entries} that there are"
        )
    if described is not None and described.words and not found:
        problems += check_word_index(db, described.words, all_payloads(db))
    return VerifyReport(
        tuple(problems[:_MAX_PROBLEMS]),
        0 if snapshot is None else sum(map(len, snapshot.modality_codes.values())),
        0 if snapshot is None else snapshot.count(),
        total.entries,
    )


def _check_snapshot(snapshot: Snapshot) -> list[str]:
    problems = []
    string_keys = list(snapshot.string_ids.keys_by_id.values())
    for modality, stored in snapshot.modality_codes.items():
        keys = stored.keys[stored.positions()]
        # np.unique takes ten times as long: it uses a hash table.
        ordered = np.sort(keys)
        if np.any(ordered[1:] == ordered[:-1]):
            problems.append(f"an id has several codes in modality {modality!r}")
        # Also keys of removed codes: a number that was given is never given again.
        largest = int(stored.keys.max(initial=-1))
        if largest >= snapshot.next_key and largest != np.iinfo(np.int64).max:
            problems.append(
                f"the next id, {snapshot.next_key}, is not larger than all ids of modality {modality!r}"
            )
        if snapshot.id_kind == "str":
            if not np.isin(keys, string_keys).all():
                problems.append(f"an object of modality {modality!r} has no id")
        elif not snapshot.id_kind and len(keys):
            problems.append("there are objects, but the kind of their ids is not recorded")
    if len(string_keys) != len(snapshot.string_ids):
        problems.append("an id is stored twice")
    if string_keys and (snapshot.id_kind != "str" or max(string_keys) >= snapshot.next_key):
        problems.append("the string ids do not belong to the objects")
    return problems


def _check_streams(db: Database, n_modalities: int) -> list[str]:
    """Segments that nobody reads do not belong to the file."""
    strange = db.value(
        "SELECT count(*) FROM segments WHERE typeof(stream) <> 'integer' OR typeof(start) <> 'integer' "
        "OR stream NOT BETWEEN 0 AND ? OR start < 0",
        (removals_stream(n_modalities - 1),),
    )
    return [f"{strange} segments do not belong to a stream"] if strange else []


def _check_model(
    db: Database, snapshot: Snapshot | None, load_model: Callable[[bytes], HashModel]
) -> list[str]:
    try:
        data = read_model(db)
        if snapshot is not None and not snapshot.has_model and not data:
            return []
        loaded = load_model(data)
    except DiffhashError as error:
        return [f"model: {error}"]
    if snapshot is not None and (loaded.n_bits, set(loaded.modalities)) != (
        snapshot.n_bits,
        set(snapshot.model_modalities),
    ):
        return ["the number of bits or the modalities of the model differ from those of the collection"]
    if snapshot is not None and snapshot.fused is not None and loaded.fusion_slopes is None:
        return [f"modality {snapshot.fused!r} holds fused codes, which the model cannot make"]
    return []


def _check_payloads(db: Database, snapshot: Snapshot | None) -> tuple[Total, list[str]]:
    """The total of all payloads, and what is wrong with them and with the index of their fields."""
    problems: list[str] = []
    fields: dict[str, int] = {}
    try:
        fields = indexed_fields(db)
    except DiffhashError as error:
        problems.append(str(error))
    entries, agree = _field_entries(db)
    keys: list[int] = []
    total = Total()
    for block in payload_blocks(db):
        keys += block.keys
        total = total.plus(len(block.keys), sum(crc for crc in block.crcs if type(crc) is int))
        parsed = block.parse(db.format)
        payloads: Sequence[dict[str, Any] | None]
        if parsed is not None and parsed.is_canonical():
            payloads = parsed.payloads
        else:
            payloads = [_checked_payload(db, *row, problems) for row in block.rows()]
            del problems[_MAX_PROBLEMS:]
        for name, field in fields.items():
            of_field = entries.get(field, {})
            for key, payload in zip(block.keys, payloads, strict=True):
                if payload is not None:
                    agree = agree and kind_of(payload.get(name)) == of_field.pop(key, None)
    if not agree or any(entries.values()):
        problems.append("the index of payload fields does not match the payloads")
    if snapshot is not None and keys:
        numbers = np.array(keys, dtype=np.int64)
        alone = numbers[~snapshot.has_any(numbers)]
        if len(alone):
            problems.append(f"{len(alone)} payloads belong to an object that does not exist")
    return total, problems


def _field_entries(db: Database) -> tuple[dict[Any, dict[Any, tuple[Any, Any]]], bool]:
    """The index of payload fields: kind and value by field and key; False if a key has two values."""
    entries: defaultdict[Any, dict[Any, tuple[Any, Any]]] = defaultdict(dict)
    count = 0
    cursor = db.execute("SELECT field, key, kind, value FROM field_values")
    while rows := cursor.fetchmany(_ROWS):
        count += len(rows)
        for field, key, kind, value in rows:
            entries[field][key] = kind, value
    return entries, count == sum(map(len, entries.values()))


def _checked_payload(
    db: Database, key: int, crc: Any, text: Any, problems: list[str]
) -> dict[str, Any] | None:
    """A payload; None if it is damaged, and then the problem is added."""
    try:
        payload = read_payload(db, key, crc, text)
        # Filters compare texts, so there is only one way to write a payload.
        if checked_json(payload) != text:
            raise ValueError("it is not written as diffhash writes it")
    except CollectionError as error:
        problems.append(str(error))
    except FOREIGN_ERRORS as error:
        problems.append(f"payload {key} is damaged: {error}")
    else:
        return payload
    return None
