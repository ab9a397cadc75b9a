"""Read pairs, ids and labels from files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputFileError
from ..types import PairIndex
from .arrays import load_array
from .csv_and_jsonl import csv_records, is_number
from .source import FILE_KINDS, Source, choose_columns, listed
from .tables import TableFile, open_table

__all__ = ["read_ids", "read_labels", "read_pairs"]

_ARRAYS = (".npy", ".npz")


def read_pairs(
    name: str | os.PathLike[str],
    modalities: Sequence[str],
    ids: Mapping[str, Sequence[Any]] | None = None,
) -> PairIndex:
    r"""Read pairs as row numbers from a table with two columns.

    Parameters
    ----------
    name : name of a file
        A table with columns named after the two modalities, or with exactly two columns (the first
        column belongs to the first modality), or an integer array of shape (n, 2). ``#a,b`` selects
        two columns of a table. A CSV file may lack the header line: its first line is a pair if all
        its cells are numbers, or if it has an id of each modality.
    modalities : two names, or one for pairs within a modality
    ids : dict by modality, optional
        The id of each row. If given, the table contains ids, otherwise row numbers from 0.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pairs.csv"
    >>> _ = path.write_text("text,image\nb,0\na,1\n")
    >>> read_pairs(path, ["image", "text"], {"text": ["a", "b"]})
    (array([0, 1]), array([1, 0]))
    """
    source = Source.parse(name)
    source.check_kind(FILE_KINDS, "pairs")
    couple = [modalities[0], modalities[-1]]
    of_rows = [(ids or {}).get(modality) for modality in couple]
    columns = _pair_array(source) if source.kind in _ARRAYS else _pair_columns(source, couple, of_rows)
    first, second = (
        _row_numbers(values, known, source, modality)
        for values, known, modality in zip(columns, of_rows, couple, strict=True)
    )
    return first, second


def _pair_array(source: Source) -> tuple[Any, Any]:
    array = load_array(source)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputFileError(f"{source}: pairs must be an array of shape (n, 2), got {array.shape}.")
    return array[:, 0], array[:, 1]


def _pair_columns(
    source: Source, couple: list[str], ids: list[Sequence[Any] | None]
) -> tuple[list[Any], list[Any]]:
    table = open_table(source, names=_names_without_header(source, couple, ids))
    if source.part is not None:
        names = choose_columns(source, table.columns)
    elif couple[0] != couple[1] and set(couple) <= set(table.columns):
        names = couple
    else:
        names = table.columns
    if len(names) != 2:
        raise InputFileError(
            f"{source}: pairs need two columns; if there are more, two must be named {couple[0]!r} and "
            f"{couple[1]!r}, or be selected: {source.path.name}#FIRST,SECOND. "
            f"Columns: {listed(table.columns)}."
        )
    rows = [(row.get(names[0]), row.get(names[1])) for row in table.rows()]
    return [row[0] for row in rows], [row[1] for row in rows]


def _names_without_header(
    source: Source, couple: list[str], ids: list[Sequence[Any] | None]
) -> list[str] | None:
    """Names for the columns of a CSV file whose first line is a pair; None if it has a header line."""
    first = next(csv_records(source.path), (0, []))[1] if source.kind == ".csv" else []
    if not first or set(couple) <= set(first):
        return None
    are_ids = len(first) == 2 and all(
        is_number(cell) if known is None else cell in map(str, known)
        for cell, known in zip(first, ids, strict=True)
    )
    return [str(place) for place in range(len(first))] if are_ids or all(map(is_number, first)) else None


def _row_numbers(values: Any, ids: Sequence[Any] | None, source: Source, modality: str) -> NDArray[np.int64]:
    if ids is None:
        try:
            array = np.asarray(values)
        except ValueError:  # lists of different lengths
            array = np.array(None)
        if array.size and array.dtype.kind not in "iu":
            wrong = next((v for v in values if not isinstance(v, int | np.integer)), values[0])
            raise InputFileError(
                f"{source.path}: pairs must be row numbers of {modality!r}, counted from 0; got {wrong!r:.60}. "
                f"If they are ids, give the ids of the rows: --ids {modality}=FILE#COLUMN."
            )
        return array.astype(np.int64)
    places = {str(value): row for row, value in enumerate(ids)}
    try:
        return np.array([places[str(value)] for value in values], dtype=np.int64)
    except KeyError as error:
        raise InputFileError(f"{source.path}: {modality!r} has no row with the id {error}.") from error


def read_ids(source: str | os.PathLike[str], *, unique: bool = True) -> list[Any]:
    """Read ids, which are whole numbers or strings; an error if they must be ``unique`` and are not."""
    values = _column(Source.parse(source), "ids")
    if not all(isinstance(value, str) for value in values) and not all(type(v) is int for v in values):
        values = [str(value) for value in values]
    if unique and len(set(values)) != len(values):
        seen: set[Any] = set()
        twice = next(v for v in values if v in seen or seen.add(v))  # type: ignore[func-returns-value]
        raise InputFileError(f"{source}: the id {twice!r} occurs more than once.")
    return values


def read_labels(sources: Mapping[str, str | os.PathLike[str]]) -> dict[str, NDArray[Any]]:
    """Read the labels of each modality; equal labels of two modalities are equal in the result.

    Parameters
    ----------
    sources : dict by modality of files
        A column of a table (numbers, strings, or lists of these if an object may have several
        labels), or an array of shape (n,), or an array of 0 and 1 of shape (n, n_labels).

    Returns
    -------
    dict by modality of arrays of shape (n,), or bool of shape (n, n_labels)
        In the second case the columns mean the same labels for all modalities.
    """
    found: dict[str, Any] = {}
    for modality, name in sources.items():
        source = Source.parse(name)
        source.check_kind(FILE_KINDS, "labels")
        found[modality] = load_array(source) if source.kind in _ARRAYS else _column(source, "labels")
    columns = {m: values for m, values in found.items() if isinstance(values, list)}
    if any(isinstance(value, list) for values in columns.values() for value in values):
        return found | _label_sets(columns)
    for modality, values in columns.items():
        wrong = next((value for value in values if not isinstance(value, str | int | float)), None)
        if wrong is not None:
            raise InputFileError(
                f"{sources[modality]}: labels must be numbers, strings or lists of these, got {wrong!r:.60}."
            )
    # Whole numbers beyond 64 bits become text too: as float, different ones could become equal.
    as_text = any(
        isinstance(value, str) or (isinstance(value, int) and not -(2**63) <= value < 2**63)
        for values in columns.values()
        for value in values
    )
    return found | {m: np.array([str(v) for v in vs] if as_text else vs) for m, vs in columns.items()}


def _label_sets(columns: Mapping[str, list[Any]]) -> dict[str, NDArray[Any]]:
    sets = {
        modality: [set(map(str, value if isinstance(value, list) else [value])) for value in values]
        for modality, values in columns.items()
    }
    names = sorted(set().union(*(labels for values in sets.values() for labels in values)))
    places = {name: place for place, name in enumerate(names)}
    result = {}
    for modality, values in sets.items():
        result[modality] = np.zeros((len(values), max(len(names), 1)), dtype=bool)
        for row, labels in enumerate(values):
            result[modality][row, [places[label] for label in labels]] = True
    return result


def _column(source: Source, what: str) -> list[Any]:
    source.check_kind(FILE_KINDS, what)
    if source.kind in _ARRAYS:
        array = load_array(source)
        if array.ndim != 1:
            raise InputFileError(f"{source}: {what} must be an array of shape (n,), got {array.shape}.")
        if array.dtype.kind == "U" and not _is_unicode(array):
            raise InputFileError(f"{source}: {what} contain text that is not valid Unicode.")
        return list(array.tolist())
    table: TableFile = open_table(source)
    values = table.column()
    if None in values:
        place, _ = next(islice(table.places_and_rows(), values.index(None), None))
        raise InputFileError(f"{source}, {place}: there is no value. Fill it in, or remove the row.")
    return values


def _is_unicode(array: NDArray[np.str_]) -> bool:
    """Whether all characters exist. NumPy gives the numbers of a damaged file to Python unchecked."""
    if array.nbytes == 0:
        return True
    numbers = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
    return bool(np.ascontiguousarray(array).view(numbers).max() <= sys.maxunicode)
