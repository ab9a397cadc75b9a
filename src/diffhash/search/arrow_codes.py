"""Codes with ids as columns of Arrow, and back, without copying where the memory has the same form.

A table has the columns ``id`` (int64) and ``code`` (fixed-size binary). The number of bits is in the metadata of the
schema, because codes may have padding bits. An export of a collection has the columns ``modality`` and
``payload``, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..atomic_write import replacing
from ..errors import DiffhashError, InputError, InputFileError, MissingExtraError
from ..input_files import parsing
from ..native.search import IndexedCodes
from ..output_files import OutputKind, starts_with
from ..paths import check_path
from ..types import CodeArray

__all__ = [
    "PARQUET_FILE",
    "as_table",
    "codes_from_arrow",
    "codes_to_arrow",
    "fixed_size_codes",
    "import_pyarrow",
    "read_parquet",
    "reading_table",
    "text_column",
    "write_parquet",
]

#: What is written as Parquet, and may be replaced.
PARQUET_FILE = OutputKind("Parquet file", starts_with(b"PAR1"))
_N_BITS = b"diffhash.n_bits"


def codes_to_arrow(stored: IndexedCodes, *, caller: str) -> Any:
    """A ``pyarrow.Table`` over the memory of the codes and ids; ids that are row numbers are made."""
    pa = import_pyarrow(caller)
    codes = np.ascontiguousarray(stored.codes)
    ids = np.arange(len(codes)) if stored.ids is None else np.ascontiguousarray(stored.ids)
    numbers = pa.Array.from_buffers(pa.int64(), len(ids), [None, pa.py_buffer(ids)])
    kind = pa.binary(codes.shape[1])
    binary = pa.Array.from_buffers(kind, len(codes), [None, pa.py_buffer(codes)])
    fields = [pa.field("id", pa.int64(), nullable=False), pa.field("code", kind, nullable=False)]
    schema = pa.schema(fields, metadata={_N_BITS: str(stored.n_bits)})
    return pa.Table.from_arrays([numbers, binary], schema=schema)


def codes_from_arrow(
    table: Any, *, modality: str | None, caller: str
) -> tuple[CodeArray, NDArray[np.int64] | None, int | None]:
    """Codes, ids (None if there is no such column) and the number of bits, if the table tells it."""
    pa = import_pyarrow(caller)
    with reading_table(caller):
        return _codes_and_ids(pa, as_table(pa, table, caller), modality, caller)


def as_table(pa: Any, table: Any, caller: str) -> Any:
    """A ``pyarrow.Table`` of anything with the Arrow interface; column names occur once."""
    try:
        table = pa.table(table)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"{caller}: expected a table of Arrow, got {type(table).__name__} ({error!s:.200})."
        ) from error
    names = table.column_names
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{caller}: the table has two columns {twice!r}.")
    return table


@contextmanager
def reading_table(caller: str) -> Iterator[None]:
    """Turn what pyarrow raises for unusual types and values into an InputError."""
    try:
        yield
    except (DiffhashError, MemoryError):
        raise
    except (
        Exception
    ) as error:  # dates that Python does not have, kinds without a kernel, text that is not UTF-8
        raise InputError(f"{caller}: the table cannot be read ({error!s:.200}).") from error


def text_column(pa: Any, column: Any, what: str, *, caller: str) -> list[str]:
    """Values of a column of strings, none of them missing."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if str(kind) not in ("string", "large_string", "string_view") or column.null_count:
        raise InputError(
            f"{caller}: the column {what!r} must hold strings, got {column.type} with {column.null_count} empty places."
        )
    return list(column.to_pylist())


def _codes_and_ids(
    pa: Any, table: Any, modality: str | None, caller: str
) -> tuple[CodeArray, NDArray[np.int64] | None, int | None]:
    if "code" not in table.column_names:
        raise InputError(
            f"{caller}: the table needs a column 'code', it has {', '.join(table.column_names)[:200] or 'none'}."
        )
    table = _of_modality(pa, table, modality, caller)
    codes = fixed_size_codes(pa, table.column("code"), caller=caller)
    ids = None
    if "id" in table.column_names:
        column = table.column("id")
        if not pa.types.is_integer(column.type) or column.null_count:
            raise InputError(
                f"{caller}: ids must be whole numbers, got {column.type} with {column.null_count} empty places. "
                "Strings as ids need a collection."
            )
        ids = np.asarray(_one_chunk(pa, column))
    text = (table.schema.metadata or {}).get(_N_BITS, b"")
    return codes, ids, int(text) if text.isdigit() else None


def fixed_size_codes(pa: Any, column: Any, *, caller: str) -> CodeArray:
    """The array (n, bytes) of a column of codes: of binary values of one length, or lists of uint8.

    The memory is that of the column if it is fixed-size and in one piece.
    """
    if column.null_count:
        raise InputError(f"{caller}: {column.null_count} rows have no code.")
    array = _one_chunk(pa, column)
    kind, types = array.type, pa.types
    if types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind):
        values = array.flatten()
        if values.type != pa.uint8() or values.null_count:
            raise InputError(f"{caller}: codes must be binary values or lists of uint8, got {kind}.")
        width = _one_length(np.asarray(array.value_lengths()), caller)
        return np.asarray(values).reshape(len(array), width)
    if not types.is_fixed_size_binary(kind):
        if not str(kind).endswith(("binary", "binary_view")):
            raise InputError(f"{caller}: codes must be binary values or lists of uint8, got {kind}.")
        array = array.cast(pa.large_binary())
        width = _one_length(np.asarray(pa.compute.binary_length(array)), caller)
        array = array.cast(pa.binary(width)) if width else array
    else:
        width = kind.byte_width
    array.validate()
    buffer = array.buffers()[-1]
    if not len(array) or not width:
        return np.empty((len(array), width), dtype=np.uint8)
    start = array.offset * width
    flat = np.frombuffer(buffer, dtype=np.uint8, count=len(array) * width, offset=start)
    return flat.reshape(len(array), width)


def write_parquet(path: str | os.PathLike[str], stored: IndexedCodes, *, caller: str) -> None:
    """Write the table of :func:`codes_to_arrow` to a Parquet file, atomically."""
    table = codes_to_arrow(stored, caller=caller)
    import pyarrow.parquet as pq

    # Codes are nearly random: dictionaries and compression of them cost time and save nothing.
    with replacing(check_path(path, caller=caller), PARQUET_FILE) as part:
        pq.write_table(table, part, compression="none", use_dictionary=False)


def read_parquet(path: str | os.PathLike[str], *, modality: str | None, caller: str) -> Any:
    """Columns of codes of a Parquet file as a table, only rows of one modality if it is given."""
    import_pyarrow(caller)
    import pyarrow.parquet as pq

    source = check_path(path, caller=caller)
    with parsing(Path(source), InputFileError, who=f"{caller}: "):
        names = pq.read_schema(source).names
        wanted = [name for name in ("id", "modality", "code") if name in names]
        if modality is None or "modality" not in names:
            return pq.read_table(source, columns=wanted)
        return pq.read_table(source, columns=wanted, filters=[("modality", "=", modality)])


def import_pyarrow(caller: str) -> Any:
    """Import pyarrow; if it is missing, the error has the install line."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError as error:
        raise MissingExtraError(
            f"{caller} needs pyarrow. Install it: pip install 'diffhash[parquet]'"
        ) from error
    return pyarrow


def _of_modality(pa: Any, table: Any, modality: str | None, caller: str) -> Any:
    """Rows of one modality; all rows if the table has only one."""
    if "modality" not in table.column_names:
        if modality is not None:
            raise InputError(f"{caller}: the table has no column 'modality'. Leave modality out.")
        return table
    found = sorted(set(text_column(pa, table.column("modality"), "modality", caller=caller)))
    if modality is None and len(found) <= 1:
        return table
    if modality not in found:
        raise InputError(
            f"{caller}: the table has the modalities {', '.join(map(repr, found)) or 'none'}. Choose one: modality=..."
        )
    return table if len(found) == 1 else table.filter(pa.compute.field("modality") == modality)


def _one_chunk(pa: Any, column: Any) -> Any:
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    if len(chunks) == 1:
        return chunks[0]
    return pa.concat_arrays(chunks) if chunks else pa.array([], column.type)


def _one_length(lengths: NDArray[Any], caller: str) -> int:
    if len(lengths) and lengths.min() != lengths.max():
        raise InputError(
            f"{caller}: codes must have one length, got {lengths.min()} and {lengths.max()} bytes."
        )
    return int(lengths[0]) if len(lengths) else 0
