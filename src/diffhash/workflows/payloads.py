"""Payload tables, checked before any work: every row can be stored, and each object has one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..errors import InputError, InputFileError
from ..files import open_table
from ..files.tables import TableFile
from ..stores.payload_json import encode_payloads

__all__ = ["Payloads", "check_payloads", "read_payloads"]

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
        for number, parts in enumerate(zip(*(table.rows() for table in self.tables), strict=True)):
            merged: dict[str, Any] = {}
            for table, part in zip(self.tables, parts, strict=True):
                for key, value in part.items():
                    if merged.setdefault(key, value) != value:
                        raise InputFileError(
                            f"{table.source}, row {number}: {key!r} is {value!r} here and {merged[key]!r} in "
                            "another payload of the same object. Rename one of the columns."
                        )
            yield merged


def read_payloads(
    sources: Mapping[str, str], n_rows: Mapping[str, int], *, one_object: bool
) -> dict[str, Payloads]:
    """Payloads by modality, checked.

    With ``one_object``, row r of every view is the same object. Its payloads are merged, and are
    given under the first modality.
    """
    tables: dict[str, TableFile] = {}
    for name, source in sources.items():
        tables[name] = open_table(source)
        n = check_payloads(source, enumerate(tables[name].rows()))
        if n != n_rows[name]:
            few = "fewer" if n < n_rows[name] else "more"
            raise InputFileError(
                f"{source}: there are {few} rows of payload ({n:,}) than of features ({n_rows[name]:,}, {name!r})."
            )
    if not one_object or not tables:
        return {name: Payloads((table,)) for name, table in tables.items()}
    distinct = {sources[name]: table for name, table in tables.items()}
    merged = Payloads(tuple(distinct.values()))
    if len(distinct) > 1:
        # Rows that contradict each other raise here, and not halfway through the writing.
        for _ in merged.rows():
            pass
    return {next(iter(n_rows)): merged}


def check_payloads(name: str, rows: Iterable[tuple[int, Any]]) -> int:
    """Raise unless every row can be stored; gives the number of rows.

    Parameters
    ----------
    name : str
        The file, for error messages.
    rows : pairs of a number in the file and a payload
    """
    rows, count = iter(rows), 0
    while batch := list(islice(rows, _BATCH)):
        count += len(batch)
        try:
            encode_payloads([row for _, row in batch], len(batch), caller=name)
        except InputError:
            for number, row in batch:
                _check_one(name, number, row)
            raise
    return count


def _check_one(name: str, number: int, row: Any) -> None:
    try:
        encode_payloads([row], 1, caller=name)
    except InputError as error:
        raise InputFileError(f"{name}, row {number}: this cannot be stored ({error.__cause__}).") from error
