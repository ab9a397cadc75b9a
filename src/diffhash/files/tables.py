"""Tables with named columns, for captions, ids and payloads."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from typing import Any

from ..errors import InputFileError
from .csv_and_jsonl import csv_records, json_records
from .json_values import plain_values
from .parquet import open_parquet
from .source import Source, check_distinct, listed

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
    def _places_and_rows(self) -> Iterator[tuple[str, Row]]:
        """What :meth:`places_and_rows` yields; it may raise any error for a damaged file."""

    def places_and_rows(self) -> Generator[tuple[str, Row]]:
        """Yield rows with their places, for messages.

        In text files a place is a line, counted from 1 as editors do, with the header: "line 2". Other files
        have rows, counted from 0 as in arrays and in files of pairs: "row 0".
        """
        with self.source.reading():
            yield from self._places_and_rows()

    def rows(self) -> Iterator[Row]:
        """Yield the rows as dicts of plain values by column."""
        for _, row in self.places_and_rows():
            yield row

    def column(self, name: str | None = None) -> list[Any]:
        """Values of one column: ``name``, or the part of the source, or the only column."""
        name = self.column_name(name)
        return [row.get(name) for row in self.rows()]

    def column_name(self, name: str | None = None) -> str:
        """Name of the column that :meth:`column` reads. It must exist."""
        wanted = name or self.source.part or (self.columns[0] if len(self.columns) == 1 else None)
        if wanted is None:
            raise InputFileError(
                f"{self.source.path} has {len(self.columns)} columns: {listed(self.columns)}. "
                f"Select one: {self.source.path.name}#NAME."
            )
        if wanted not in self.columns:
            raise InputFileError(
                f"{self.source.path}: there is no column {wanted!r}. Columns: {listed(self.columns)}."
            )
        return wanted


def open_table(
    source: str | os.PathLike[str] | Source,
    *,
    names: Sequence[str] | None = None,
    encoding: str | None = None,
) -> TableFile:
    r"""Open a table: ``.csv`` with a header line, ``.jsonl`` with an object per line, or ``.parquet``.

    A CSV column is read as whole numbers if all its cells are whole numbers without leading zeros,
    as numbers if all its cells are numbers, otherwise as text. Empty cells become None.

    Parameters
    ----------
    source : name of a file
    names : list of str, optional
        Names of the columns of a CSV file that has no header line.
    encoding : str, optional
        Encoding of a CSV or JSON lines file. By default UTF-8.

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
    with source.reading():
        if source.kind == ".csv":
            return _CsvTable(source, names, encoding)
        return _JsonlTable(source, encoding) if source.kind == ".jsonl" else _ParquetTable(source)


class _CsvTable(TableFile):
    def __init__(self, source: Source, names: Sequence[str] | None, encoding: str | None) -> None:
        super().__init__(source)
        self._encoding = encoding
        records = csv_records(source.path, encoding)
        self._n_header_lines = 1 if names is None else 0
        self.columns = next(records, (0, []))[1] if names is None else list(names)
        if not self.columns:
            raise InputFileError(
                f"{source.path} is empty. The first line must have the names of the columns."
            )
        check_distinct(source, self.columns)
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

    def _places_and_rows(self) -> Iterator[tuple[str, Row]]:
        records = csv_records(self.source.path, self._encoding)
        for line, cells in islice(records, self._n_header_lines, None):
            row = {
                name: convert(cell) if cell else None
                for name, convert, cell in zip(self.columns, self._convert, cells, strict=True)
            }
            yield f"line {line}", row


def _kind(cell: str) -> int:
    """0 for a whole number, 1 for another number, 2 for text ("007" is text)."""
    digits = cell.removeprefix("-")
    if digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0") and len(digits) < 19:
        return 0
    plain = cell.strip() == cell and "_" not in cell and cell[-1].isdigit() and not digits.isdigit()
    try:
        return 1 if plain and abs(float(cell)) < float("inf") else 2
    except ValueError:
        return 2


class _JsonlTable(TableFile):
    def __init__(self, source: Source, encoding: str | None) -> None:
        super().__init__(source)
        self._encoding = encoding
        _, first = next(self._places_and_rows(), ("", None))
        if first is None:
            raise InputFileError(f"{source.path} is empty.")
        self.columns = list(first)

    def _places_and_rows(self) -> Iterator[tuple[str, Row]]:
        for line, value in json_records(self.source.path, self._encoding):
            if not isinstance(value, dict):
                raise InputFileError(
                    f"{self.source.path}, line {line}: expected an object such as "
                    f'{{"file": "a.png", "caption": "..."}}.'
                )
            yield f"line {line}", value


class _ParquetTable(TableFile):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        with open_parquet(source) as file:
            self.columns = list(file.schema_arrow.names)

    def _places_and_rows(self) -> Iterator[tuple[str, Row]]:
        for number, row in enumerate(self._read(self.columns)):
            yield f"row {number}", row

    def column(self, name: str | None = None) -> list[Any]:
        """Values of one column; the other columns are not read."""
        name = self.column_name(name)
        with self.source.reading():
            return [row[name] for row in self._read([name])]

    def _read(self, columns: list[str]) -> Iterator[Row]:
        start = 0
        with open_parquet(self.source) as file:
            for batch in file.iter_batches(batch_size=_BATCH, columns=columns):
                values = [
                    plain_values(column, f"{self.source.path}: column {name!r}", start)
                    for name, column in zip(batch.schema.names, batch.columns, strict=True)
                ]
                for row in zip(*values, strict=True):
                    yield dict(zip(batch.schema.names, row, strict=True))
                start += batch.num_rows
