"""CSV and JSON lines files: records, and features."""

from __future__ import annotations

import csv
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputFileError
from .features import FeatureFile
from .source import Source, check_distinct, choose_columns, listed

__all__ = ["CsvFeatures", "JsonlFeatures", "csv_records", "is_number", "json_records"]

_DELIMITERS = ",;\t"


def csv_records(path: Path, encoding: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and cells. The delimiter is the most frequent of ``,;`` and tab in the first line.

    The line number is that of the line in which the record ends. Without ``encoding`` the file is UTF-8.
    """
    try:
        with path.open(encoding=encoding or "utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            reader = csv.reader(file, delimiter=max(_DELIMITERS, key=first.count), strict=True)
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
    except UnicodeDecodeError as error:
        raise _not_decoded(path, error) from error
    except csv.Error as error:
        raise InputFileError(f"{path} is not a readable CSV file ({error}).") from error


def _not_decoded(path: Path, error: UnicodeDecodeError) -> InputFileError:
    if error.encoding.startswith("utf-8"):
        return InputFileError(f"{path} is not UTF-8 text ({error}). Save it as UTF-8.")
    return InputFileError(f"{path} is not text of the encoding {error.encoding} ({error}).")


def json_records(path: Path, encoding: str | None = None) -> Iterator[tuple[int, Any]]:
    """Yield line numbers and the JSON value of each line; empty lines are skipped."""
    try:
        with path.open(encoding=encoding or "utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    try:
                        value = json.loads(line)
                        if "\\ud" in line.lower():
                            # JSON may write half of a character, which no file can hold as UTF-8.
                            json.dumps(value, ensure_ascii=False).encode()
                    except (ValueError, RecursionError) as error:
                        raise InputFileError(
                            f"{path}, line {number}: this is not valid JSON ({error!s:.300})."
                        ) from error
                    yield number, value
    except UnicodeDecodeError as error:
        raise _not_decoded(path, error) from error


class _TextFeatures(FeatureFile):
    """Features in a text file, whose number of rows is not known before it is read."""

    n_rows: int | None = None

    @abstractmethod
    def _records(self) -> Iterator[tuple[int, Any]]:
        """Yield the line number and the content of each row."""

    def _blocks(self, n_rows: int | None, keep: int) -> Iterator[NDArray[Any]]:  # noqa: ARG002 - every block is new
        step = n_rows or self.block_rows(8)
        records = self._records()
        while block := list(islice(records, step)):
            yield self._matrix(block)

    def _matrix(self, records: list[tuple[int, Any]]) -> NDArray[np.float64]:
        try:
            matrix = np.array([row for _, row in records], dtype=np.float64)
            if matrix.shape == (len(records), self.n_features):
                return matrix
        except (ValueError, TypeError, OverflowError):
            pass
        raise self._first_wrong(records)

    def _first_wrong(self, records: list[tuple[int, Any]]) -> InputFileError:
        """The error that describes the first bad row."""
        path = self.source.path
        for line, row in records:
            if not isinstance(row, list) or len(row) != self.n_features:
                got = f"{len(row)}" if isinstance(row, list) else f"{row!r:.60}"
                return InputFileError(f"{path}, line {line}: expected {self.n_features} numbers, got {got}.")
            for place, value in enumerate(row):
                if not is_number(value):
                    return InputFileError(
                        f"{path}, line {line}: {self._column(place)} contains {value!r:.60}, which is not a number. "
                        f"Name the columns with features: {path.name}#first:last or {path.name}#a,b,c."
                    )
        return InputFileError(f"{path}: the rows cannot be read as numbers.")

    def _column(self, place: int) -> str:
        return f"number {place + 1}"


class CsvFeatures(_TextFeatures):
    """Features in a CSV file, with or without a header line."""

    def __init__(self, source: Source) -> None:
        self.source = source
        first = next(csv_records(source.path), None)
        if first is None:
            raise InputFileError(f"{source.path} is empty.")
        self._has_header = not all(map(is_number, first[1]))
        self._names = first[1] if self._has_header else [str(i) for i in range(len(first[1]))]
        check_distinct(source, self._names)
        chosen = self._names if source.part is None else choose_columns(source, self._names)
        self._places = [self._names.index(name) for name in chosen]
        self.n_features = len(self._places)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        places, width = self._places, len(self._names)
        records: Iterable[tuple[int, list[str]]] = csv_records(self.source.path)
        for line, cells in islice(records, 1 if self._has_header else 0, None):
            if len(cells) != width:
                raise InputFileError(
                    f"{self.source.path}, line {line}: expected {width} columns, got {len(cells)}."
                )
            yield line, [cells[place] for place in places]

    def _column(self, place: int) -> str:
        return f"column {self._names[self._places[place]]!r}"


class JsonlFeatures(_TextFeatures):
    """Features in a JSON lines file: each line is an array of numbers, or an object with such an array."""

    def __init__(self, source: Source) -> None:
        self.source = source
        first = next(json_records(source.path), None)
        if first is None:
            raise InputFileError(f"{source.path} is empty.")
        self._fields = self._choose(first[1])
        self.n_features = len(self._row(*first))

    def _choose(self, first: Any) -> list[str] | None:
        path, part = self.source.path, self.source.part
        if isinstance(first, list) and part is None:
            return None
        if not isinstance(first, dict):
            raise InputFileError(f"{path}: expected an array of numbers or an object on each line.")
        if part is not None:
            return choose_columns(self.source, list(first))
        lists = [name for name, value in first.items() if isinstance(value, list)]
        if len(lists) != 1:
            raise InputFileError(
                f"{path}: the objects have {len(lists)} fields with arrays. Select one: "
                f"{path.name}#NAME. Fields: {listed(first)}."
            )
        return lists

    def _row(self, line: int, value: Any) -> Any:
        if self._fields is None:
            return value
        if not isinstance(value, dict) or not all(name in value for name in self._fields):
            raise InputFileError(
                f"{self.source.path}, line {line}: expected an object with {listed(self._fields)}."
            )
        row = [value[name] for name in self._fields]
        return list(chain.from_iterable(row)) if all(isinstance(item, list) for item in row) else row

    def _records(self) -> Iterator[tuple[int, Any]]:
        return ((line, self._row(line, value)) for line, value in json_records(self.source.path))


def is_number(value: Any) -> bool:
    """Whether a cell or a JSON value can be read as a number."""
    try:
        float(value)
    except (ValueError, TypeError, OverflowError):
        return False
    return True
