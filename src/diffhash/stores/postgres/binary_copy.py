"""Rows in the binary format of COPY. psycopg cannot write ``bit``, so its bytes are written here.

PostgreSQL counts bits from the most significant one, and diffhash from the least. Both keep the order of the
bytes, so distances are the same; only the text of a code looks reversed byte by byte.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...types import CodeArray

__all__ = ["END", "START", "code_rows", "object_rows"]

#: What comes before and after the rows.
START = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
END = struct.pack(">h", -1)
_NUMBER_ID = struct.Struct(">hiqiqi")
_TEXT_ID = struct.Struct(">hiqi")
_LENGTH = struct.Struct(">i")
_NULL = -1
#: Version of the binary form of jsonb.
_JSONB = b"\x01"


def code_rows(positions: NDArray[np.int64], codes: CodeArray) -> bytes:
    """Rows of (bigint, bit(8 * bytes)).

    Examples
    --------
    >>> code_rows(np.array([7]), np.array([[1, 2]], dtype=np.uint8)).hex(" ", 4)
    '00020000 00080000 00000000 00070000 00060000 00100102'
    """
    width = codes.shape[1]
    layout = np.dtype(
        [
            ("fields", ">i2"),
            ("position_bytes", ">i4"),
            ("position", ">i8"),
            ("code_bytes", ">i4"),
            ("bits", ">i4"),
            ("code", "u1", (width,)),
        ]
    )
    rows = np.empty(len(codes), dtype=layout)
    rows["fields"], rows["position_bytes"], rows["position"] = 2, 8, positions
    rows["code_bytes"], rows["bits"], rows["code"] = 4 + width, 8 * width, codes
    return rows.tobytes()


def object_rows(
    positions: Sequence[int], ids: Sequence[int] | Sequence[str], payloads: Sequence[str | None]
) -> bytes:
    """Rows of (bigint, bigint or text, jsonb); ids and payloads as they are stored."""
    parts: list[bytes] = []
    add = parts.append
    for position, id_, payload in zip(positions, ids, payloads, strict=True):
        data = None if payload is None else payload.encode()
        length = _NULL if data is None else len(data) + 1
        if isinstance(id_, str):
            text = id_.encode()
            add(_TEXT_ID.pack(3, 8, position, len(text)) + text + _LENGTH.pack(length))
        else:
            add(_NUMBER_ID.pack(3, 8, position, 8, id_, length))
        if data is not None:
            add(_JSONB)
            add(data)
    return b"".join(parts)
