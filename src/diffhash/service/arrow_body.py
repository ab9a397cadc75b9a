"""Vectors in an Arrow stream: a column ``vector``, and for objects to store also ``id`` and ``payload``.

A few bytes could become gigabytes, so some streams are refused before anything of them is unpacked: compressed ones,
and columns of types that have values without bytes (lists of no numbers, nulls, runs, views of one text).
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingExtraError

__all__ = ["ArrowRows", "read_arrow"]

#: Field of a record batch, in its table of Arrow's metadata format, that says how it is compressed.
_COMPRESSION = 3
#: Field of a message that holds its header.
_HEADER = 2


class ArrowRows(NamedTuple):
    """Columns of a stream; ids and payloads are None if it has none."""

    vectors: NDArray[Any]
    ids: list[Any] | None
    payloads: list[Any] | None


def read_arrow(body: bytes) -> ArrowRows:
    """Vectors, ids and payloads (as JSON texts) of an Arrow IPC stream."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError(
            f"Arrow bodies need pyarrow ({error}). Run: pip install 'diffhash[parquet]'"
        ) from error
    try:
        for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(body)):
            if message.type not in ("schema", "record batch"):
                raise InputError(f"An Arrow body has record batches only, got a {message.type}.")
            if message.type == "record batch" and _is_compressed(message.metadata.to_pybytes()):
                raise InputError("An Arrow body must not be compressed.")
        with pa.ipc.open_stream(pa.py_buffer(body)) as stream:
            columns = _check_types(pa, stream.schema)
            table = stream.read_all().select(columns)
        if table.num_rows > len(body):
            raise InputError(f"An Arrow body of {len(body):,} bytes cannot have {table.num_rows:,} rows.")
        table.validate(full=True)
    except (pa.ArrowException, ValueError, KeyError, OSError, struct.error, IndexError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"The body is not an Arrow stream ({' '.join(str(error).split())[:200]})."
        ) from error
    ids = table.column("id").to_pylist() if "id" in table.column_names else None
    payloads = None
    if "payload" in table.column_names:
        payloads = [_payload(text) for text in table.column("payload").to_pylist()]
    return ArrowRows(_vectors(pa, table.column("vector")), ids, payloads)


def _check_types(pa: Any, schema: Any) -> list[str]:
    """The columns that are used; an error if one is missing, or has a type whose values may take no bytes."""
    types = pa.types
    given = {name: schema.field(name).type for name in ("vector", "id", "payload") if name in schema.names}
    if "vector" not in given:
        raise InputError(f"An Arrow body needs a column 'vector', got {', '.join(schema.names)[:200]}.")
    vector, id_, payload = given["vector"], given.get("id"), given.get("payload")
    sized = types.is_fixed_size_list(vector) and vector.list_size > 0
    if not (sized or types.is_list(vector) or types.is_large_list(vector)) or not (
        types.is_floating(vector.value_type) or types.is_integer(vector.value_type)
    ):
        raise InputError(f"The column 'vector' must hold lists of numbers, got {vector!s:.100}.")
    if id_ is not None and not (types.is_integer(id_) or _is_text(pa, id_)):
        raise InputError(f"The column 'id' must hold whole numbers or strings, got {id_!s:.100}.")
    if payload is not None and not _is_text(pa, payload):
        raise InputError(f"The column 'payload' must hold JSON texts, got {payload!s:.100}.")
    return list(given)


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _vectors(pa: Any, column: Any) -> NDArray[Any]:
    kind = column.type
    joined = column.combine_chunks()
    if isinstance(joined, pa.ChunkedArray):
        joined = pa.concat_arrays(joined.chunks) if joined.num_chunks else pa.array([], kind)
    values = joined.flatten()
    if joined.null_count or values.null_count:
        raise InputError("The column 'vector' must have no empty values.")
    lengths = np.unique(np.asarray(joined.value_lengths())) if len(joined) else np.zeros(1, dtype=int)
    if len(lengths) != 1:
        raise InputError(f"All vectors must have the same length, got {lengths[0]} and {lengths[-1]}.")
    return np.asarray(values).reshape(len(joined), int(lengths[0]))


def _payload(text: Any) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("The column 'payload' must hold JSON texts.") from error


def _is_compressed(metadata: bytes) -> bool:
    """Whether the message of a record batch says that its buffers are compressed."""
    message = struct.unpack_from("<I", metadata, 0)[0]
    place = _field(metadata, message, _HEADER)
    if place is None:
        raise InputError("The body is not an Arrow stream (a message has no header).")
    batch = place + struct.unpack_from("<I", metadata, place)[0]
    return _field(metadata, batch, _COMPRESSION) is not None


def _field(data: bytes, table: int, number: int) -> int | None:
    """Place of a field of a table in Arrow's metadata format (FlatBuffers); None if it is left out."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    if fields < 0 or struct.unpack_from("<H", data, fields)[0] <= 4 + 2 * number:
        return None
    offset = struct.unpack_from("<H", data, fields + 4 + 2 * number)[0]
    return table + offset if offset else None
