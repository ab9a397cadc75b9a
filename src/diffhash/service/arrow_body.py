"""Vectors in an Arrow stream: a column ``vector``, and for objects to store also ``id`` and ``payload``.

Compressed streams are refused before anything of them is unpacked: a few kilobytes could become gigabytes.
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
            table = stream.read_all()
        table.validate(full=True)
    except (pa.ArrowException, ValueError, KeyError, OSError, struct.error, IndexError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"The body is not an Arrow stream ({' '.join(str(error).split())[:200]})."
        ) from error
    if "vector" not in table.column_names:
        raise InputError(f"An Arrow body needs a column 'vector', got {', '.join(table.column_names)[:200]}.")
    ids = table.column("id").to_pylist() if "id" in table.column_names else None
    payloads = None
    if "payload" in table.column_names:
        payloads = [_payload(text) for text in table.column("payload").to_pylist()]
    return ArrowRows(_vectors(pa, table.column("vector")), ids, payloads)


def _vectors(pa: Any, column: Any) -> NDArray[Any]:
    kind = column.type
    if not (pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise InputError(f"The column 'vector' must hold lists of numbers, got {kind}.")
    if not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
        raise InputError(f"The column 'vector' must hold lists of numbers, got {kind}.")
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
