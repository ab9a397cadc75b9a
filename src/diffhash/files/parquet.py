"""Features from Parquet files, read in batches of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputFileError
from .features import FeatureFile
from .source import Source, check_distinct, choose_columns, listed, require_pyarrow

__all__ = ["ParquetFeatures", "open_parquet"]


def open_parquet(source: Source) -> Any:
    """Open a ``ParquetFile``; raises InputFileError if that is not possible."""
    parquet = require_pyarrow(source.path)
    with source.reading():
        try:
            file = parquet.ParquetFile(source.path)
            names = list(file.schema_arrow.names)
        except Exception as error:  # pyarrow has its own errors, and for some files OSError or TypeError
            raise InputFileError(
                f"{source.path} is not a Parquet file, or it is damaged ({error!s:.300})."
            ) from error
    check_distinct(source, names)
    return file


class ParquetFeatures(FeatureFile):
    """Columns of numbers, or one column of lists of numbers."""

    def __init__(self, source: Source) -> None:
        self.source = source
        with open_parquet(source) as file:
            self.n_rows = int(file.metadata.num_rows)
            schema = file.schema_arrow
            names = list(schema.names)
            chosen = self._choose(schema, names)
            self._columns = chosen
            self._is_list = len(chosen) == 1 and _is_list(schema.field(chosen[0]).type)
            for name in chosen:
                kind = schema.field(name).type
                if not (_is_number(kind) or (self._is_list and _is_number(kind.value_type))):
                    raise InputFileError(
                        f"{source.path}: column {name!r} contains {kind}, not numbers. Name the columns with "
                        f"features: {source.path.name}#NAME. Columns: {listed(names)}."
                    )
        self.n_features = self._list_length() if self._is_list else len(chosen)

    def _choose(self, schema: Any, names: list[str]) -> list[str]:
        if self.source.part is not None:
            return choose_columns(self.source, names)
        lists = [name for name in names if _is_list(schema.field(name).type)]
        if len(lists) == 1:
            return lists
        if lists:
            raise InputFileError(
                f"{self.source.path} has {len(lists)} columns of lists: {listed(lists)}. "
                f"Select one: {self.source.path.name}#{lists[0]}."
            )
        return names

    def _list_length(self) -> int:
        with open_parquet(self.source) as file:
            first = next(file.iter_batches(batch_size=1, columns=self._columns), None)
        value = first.column(0)[0].as_py() if first is not None else None
        if not value:
            raise InputFileError(f"{self.source}: the first row contains no numbers.")
        return len(value)

    def _blocks(self, n_rows: int | None, keep: int) -> Iterator[NDArray[Any]]:  # noqa: ARG002 - every block is new
        # float32 if all columns are float32, otherwise float64.
        step, start = n_rows or self.block_rows(8), 0
        with open_parquet(self.source) as file:
            for batch in file.iter_batches(batch_size=step, columns=self._columns):
                yield self._matrix(batch, start)
                start += batch.num_rows

    def _matrix(self, batch: Any, start: int) -> NDArray[Any]:
        columns = {name: batch.column(name) for name in self._columns}
        for name, column in columns.items():
            if column.null_count:
                row = start + next(i for i, value in enumerate(column) if not value.is_valid)
                raise InputFileError(f"{self.source.path}: column {name!r} has no value in row {row}.")
        if not self._is_list:
            return np.column_stack([columns[name].to_numpy(zero_copy_only=False) for name in self._columns])
        column = columns[self._columns[0]]
        # If all rows have one length, the numbers are one flat array: no Python object for each.
        lengths = np.asarray(column.value_lengths()) if hasattr(column, "value_lengths") else None
        if lengths is not None and (lengths != self.n_features).any():
            row = int(np.flatnonzero(lengths != self.n_features)[0])
            raise InputFileError(
                f"{self.source}, row {start + row}: expected {self.n_features} numbers, got {lengths[row]}."
            )
        values = column.flatten()
        if values.null_count:
            raise InputFileError(f"{self.source}: a list in the rows from {start} on contains a null.")
        return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(-1, self.n_features)


def _is_list(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
