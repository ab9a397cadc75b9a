"""Payload tables, checked before any work: every row can be stored, and each object has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any, TypeAlias

from ..errors import InputError, InputFileError
from ..files import open_table
from ..files.tables import TableFile
from ..stores.payload_json import encode_payloads
from ..types import IntArray
from .object_rows import ObjectRows

__all__ = ["Payloads", "PayloadsOf", "check_payloads", "read_payloads"]

_BATCH = 10_000


@dataclass(frozen=True)
class Payloads:
    """Rows of one table, or of several tables about the same objects."""

    tables: tuple[TableFile, ...]

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict for each object. Two tables may have the same field if its values agree."""
        first, *others = self.tables
        if not others:
            yield from first.rows()
            return
        for parts in zip(*(table.places_and_rows() for table in self.tables), strict=True):
            merged: dict[str, Any] = {}
            for table, (place, part) in zip(self.tables, parts, strict=True):
                _merge(merged, part, table, place)
            yield merged


#: Gives the payloads of the rows of a modality, in order; None if it has none.
PayloadsOf: TypeAlias = Callable[[str], Iterator[dict[str, Any] | None] | None]


def read_payloads(sources: Mapping[str, str], n_rows: Mapping[str, int], rows: ObjectRows) -> PayloadsOf:
    """Payloads of the rows of each modality, checked.

    If rows of several views are one object, its payloads are merged, and are given with its first row.
    """
    tables: dict[str, TableFile] = {}
    for name, source in sources.items():
        tables[name] = open_table(source)
        n = check_payloads(source, tables[name].places_and_rows())
        if n != n_rows[name]:
            few = "fewer" if n < n_rows[name] else "more"
            raise InputFileError(
                f"{source}: there are {few} rows of payload ({n:,}) than of features ({n_rows[name]:,}, {name!r})."
            )
    if tables and rows.objects is not None and rows.repeats is not None:
        return _payloads_by_object(tables, rows.objects, rows.repeats)
    if not rows.one_object or not tables:
        return lambda name: tables[name].rows() if name in tables else None
    distinct = {sources[name]: table for name, table in tables.items()}
    merged, first = Payloads(tuple(distinct.values())), next(iter(n_rows))
    if len(distinct) > 1:
        # Rows that contradict each other raise here, and not halfway through the writing.
        for _ in merged.rows():
            pass
    return lambda name: merged.rows() if name == first else None


def _payloads_by_object(
    tables: Mapping[str, TableFile], objects: Mapping[str, IntArray], repeats: Mapping[str, IntArray]
) -> PayloadsOf:
    """Payloads of rows that ids relate.

    The first rows of an object in each view are merged. Another row of the object in a view has its own payload.
    """
    merged: dict[int, dict[str, Any]] = {}
    for name, table in tables.items():
        places = zip(objects[name].tolist(), repeats[name].tolist(), strict=True)
        for (place, part), (number, count) in zip(table.places_and_rows(), places, strict=True):
            if not count:
                _merge(merged.setdefault(number, {}), part, table, place)
    first_view: dict[int, str] = {}
    for name, numbers in objects.items():
        for number in numbers.tolist():
            first_view.setdefault(number, name)

    def payloads_of(name: str) -> Iterator[dict[str, Any] | None]:
        own = tables[name].rows() if name in tables else repeat(None)
        for payload, number, count in zip(own, objects[name].tolist(), repeats[name].tolist(), strict=False):
            if count:
                yield payload
            else:
                yield merged.get(number) if first_view[number] == name else None

    return payloads_of


def _merge(merged: dict[str, Any], part: Mapping[str, Any], table: TableFile, place: str) -> None:
    """Add the fields of a row to the payload of its object; fields that both have must agree."""
    for key, value in part.items():
        if merged.setdefault(key, value) != value:
            raise InputFileError(
                f"{table.source}, {place}: {key!r} is {value!r} here and {merged[key]!r} in "
                "another payload of the same object. Rename one of the columns."
            )


def check_payloads(name: str, rows: Iterable[tuple[str, Any]]) -> int:
    """Raise unless every row can be stored; gives the number of rows.

    Parameters
    ----------
    name : str
        The file, for error messages.
    rows : pairs of a place in the file and a payload
    """
    rows, count = iter(rows), 0
    while batch := list(islice(rows, _BATCH)):
        count += len(batch)
        try:
            encode_payloads([row for _, row in batch], len(batch), caller=name)
        except InputError:
            for place, row in batch:
                _check_one(name, place, row)
            raise
    return count


def _check_one(name: str, place: str, row: Any) -> None:
    try:
        encode_payloads([row], 1, caller=name)
    except InputError as error:
        raise InputFileError(f"{name}, {place}: this cannot be stored ({error.__cause__}).") from error
