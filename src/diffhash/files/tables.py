"""Tables with named columns: captions, ids, payloads."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from ..errors import InputFileError
from .parquet import open_parquet
from .plain import plain_values
from .source import Source, listed
from .text import csv_records, json_records

__all__ = ["TABLE_KINDS", "TableFile", "open_table"]

TABLE_KINDS = (".csv", ".jsonl", ".parquet")
_BATCH = 10_000
Row = dict[str, Any]


class TableFile(ABC):
    """Rows with named columns.

    Attributes
    ----------
    source : Source
    columns : list of str
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.columns: list[str] = []

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """All rows in turn, as dicts of plain values by column."""

    def column(self, name: str | None = None) -> list[Any]:
        """Values of one column: that named, or by the source's ``#``, or the only one there is."""
        name = self.column_name(name)
        return [row.get(name) for row in self.rows()]

    def column_name(self, name: str | None = None) -> str:
        """The column that is meant, once it is known to be there."""
        wanted = name or self.source.part or (self.columns[0] if len(self.columns) == 1 else None)
        if wanted is None:
            raise InputFileError(
                f"{self.source.path} has {len(self.columns)} columns: {listed(self.columns)}. "
                f"Say which one: {self.source.path.name}#NAME."
            )
        if wanted not in self.columns:
            raise InputFileError(
                f"{self.source.path}: there is no column {wanted!r}. Columns: {listed(self.columns)}."
            )
        return wanted


def open_table(source: str | os.PathLike[str] | Source) -> TableFile:
    r"""Open a table: ``.csv`` with a line of names, ``.jsonl`` of objects, or ``.parquet``.

    A CSV column whose cells are all whole numbers (written without leading zeros) or all numbers is
    read as such; empty cells are None.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = path.write_text("file,year\na.png,1990\nb.png,\n")
    >>> list(open_table(path).rows())
    [{'file': 'a.png', 'year': 1990}, {'file': 'b.png', 'year': None}]
    """
    source = source if isinstance(source, Source) else Source.parse(source)
    source.check_kind(TABLE_KINDS, "tables")
    readers: dict[str, Callable[[Source], TableFile]] = {
        ".csv": _CsvTable,
        ".jsonl": _JsonlTable,
        ".parquet": _ParquetTable,
    }
    return readers[source.kind](source)


class _CsvTable(TableFile):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        records = csv_records(source.path)
        _, self.columns = next(records, (0, []))
        if not self.columns:
            raise InputFileError(
                f"{source.path} is empty; a first line with the names of the columns is needed."
            )
        if len(set(self.columns)) != len(self.columns):
            raise InputFileError(f"{source.path}: columns have the same name: {listed(self.columns)}.")
        kinds = [0] * len(self.columns)
        for line, cells in records:
            if len(cells) != len(self.columns):
                raise InputFileError(
                    f"{source.path}, line {line}: expected {len(self.columns)} columns "
                    f"({listed(self.columns)}), got {len(cells)}. A comma in a text needs quotes around it."
                )
            for place, cell in enumerate(cells):
                if kinds[place] < 2 and cell:
                    kinds[place] = max(kinds[place], _kind(cell))
        self._convert: list[Callable[[str], Any]] = [(int, float, str)[kind] for kind in kinds]

    def rows(self) -> Iterator[Row]:
        for _, cells in islice(csv_records(self.source.path), 1, None):
            yield {
                name: convert(cell) if cell else None
                for name, convert, cell in zip(self.columns, self._convert, cells, strict=True)
            }


def _kind(cell: str) -> int:
    """0 for a whole number, 1 for another number, 2 for anything else ("007" stays what it is)."""
    digits = cell.removeprefix("-")
    if digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0") and len(digits) < 19:
        return 0
    plain = cell.strip() == cell and "_" not in cell and cell[-1].isdigit() and not digits.isdigit()
    try:
        return 1 if plain and abs(float(cell)) < float("inf") else 2
    except ValueError:
        return 2


class _JsonlTable(TableFile):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        first = next(self.rows(), None)
        if first is None:
            raise InputFileError(f"{source.path} is empty.")
        self.columns = list(first)

    def rows(self) -> Iterator[Row]:
        for line, value in json_records(self.source.path):
            if not isinstance(value, dict):
                raise InputFileError(
                    f"{self.source.path}, line {line}: expected an object such as "
                    f'{{"file": "a.png", "caption": "..."}}.'
                )
            yield value


class _ParquetTable(TableFile):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        with open_parquet(source) as file:
            self.columns = list(file.schema_arrow.names)

    def rows(self) -> Iterator[Row]:
        yield from self._read(self.columns)

    def column(self, name: str | None = None) -> list[Any]:
        """Values of one column; the others are not read."""
        name = self.column_name(name)
        return [row[name] for row in self._read([name])]

    def _read(self, columns: list[str]) -> Iterator[Row]:
        import pyarrow

        start = 0
        try:
            with open_parquet(self.source) as file:
                for batch in file.iter_batches(batch_size=_BATCH, columns=columns):
                    values = [
                        plain_values(column, f"{self.source.path}: column {name!r}", start)
                        for name, column in zip(batch.schema.names, batch.columns, strict=True)
                    ]
                    for row in zip(*values, strict=True):
                        yield dict(zip(batch.schema.names, row, strict=True))
                    start += batch.num_rows
        except pyarrow.ArrowException as error:
            raise InputFileError(f"{self.source.path} is damaged ({error}).") from error
