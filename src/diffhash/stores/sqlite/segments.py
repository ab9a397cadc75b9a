"""Streams of a collection's file: entries are appended in segments, and can be read from any entry on.

Small segments at the end of a stream are merged as it grows, as in a binary counter: a million
single additions make a few hundred rows, and each entry is rewritten about a dozen times.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import CollectionFileError
from .database import Database
from .packed_numbers import pack_numbers, unpack_numbers
from .string_ids import join_packed_strings

__all__ = ["STRING_IDS", "Segment", "append", "clear", "codes_stream", "read", "removals_stream"]

#: Stream of the string ids.
STRING_IDS = 0

#: Maximum number of entries in a merged segment.
_MAX_MERGED = 4096
#: A larger addition is split into several segments of this many bytes.
_MAX_BYTES = 1 << 25


def codes_stream(modality: int) -> int:
    """Stream of the codes of a modality."""
    return 1 + 2 * modality


def removals_stream(modality: int) -> int:
    """Stream of the positions that were removed from the codes of a modality."""
    return 2 + 2 * modality


@dataclass(frozen=True)
class Segment:
    """Entries ``start`` to ``start + len(keys)`` of a stream; the first ``skip`` of them are known."""

    start: int
    keys: NDArray[np.int64]
    data: bytes
    skip: int


def append(db: Database, stream: int, start: int, keys: NDArray[np.int64], data: bytes) -> None:
    """Append entries to a stream that has ``start`` of them; within a transaction.

    ``data`` has the same number of bytes for every entry, or holds packed strings.
    """
    if not len(keys):
        return
    parts: list[tuple[int, NDArray[np.int64], bytes]] = [(start, keys, data)]
    total = len(keys)
    tail = db.execute(
        "SELECT start, count FROM segments WHERE stream = ? ORDER BY start DESC LIMIT 16", (stream,)
    ).fetchall()
    if start != (tail[0][0] + tail[0][1] if tail else 0):
        raise CollectionFileError(
            f"Collection: {db.path} was changed by another program while this one was writing. Open it again."
        )
    for begin, count in tail:
        if count > total or count + total > _MAX_MERGED:
            break
        (segment,) = read(db, stream, begin, end=begin + count)
        parts.insert(0, (begin, segment.keys, segment.data))
        total += count
        db.execute("DELETE FROM segments WHERE stream = ? AND start = ?", (stream, begin))
    if len(parts) > 1:
        joined = np.concatenate([part[1] for part in parts])
        pieces = [(len(part[1]), part[2]) for part in parts]
        data = join_packed_strings(pieces) if stream == STRING_IDS else b"".join(part[1] for part in pieces)
        _insert(db, stream, parts[0][0], joined, data)
    elif stream == STRING_IDS or len(data) + 8 * len(keys) <= _MAX_BYTES:
        _insert(db, stream, start, keys, data)
    else:
        width = len(data) // len(keys)
        rows = max(1, _MAX_BYTES // (width + 8))
        for begin in range(0, len(keys), rows):
            _insert(
                db,
                stream,
                start + begin,
                keys[begin : begin + rows],
                data[begin * width : (begin + rows) * width],
            )


def read(db: Database, stream: int, known: int, end: int | None = None) -> Iterator[Segment]:
    """Checked segments with the entries of a stream from number ``known`` on.

    The first segment may begin earlier, because segments are merged while others read.
    """
    first = db.value("SELECT max(start) FROM segments WHERE stream = ? AND start <= ?", (stream, known))
    rows = db.execute(
        "SELECT start, count, crc, keys, data FROM segments WHERE stream = ? AND start >= ? AND start < ? "
        "ORDER BY start",
        (stream, first or 0, 1 << 62 if end is None else end),
    )
    expected = first or 0
    for start, count, crc, keys, data in rows:
        if (
            start != expected
            or count < 1
            or not isinstance(keys, bytes)
            or not isinstance(data, bytes)
            or crc != _checksum(stream, start, count, keys, data)
        ):
            raise CollectionFileError(
                f"Collection: {db.path} is damaged: segment {start} of stream {stream} was changed or is incomplete. "
                "Take the file from a backup."
            )
        expected = start + count
        if expected <= known:
            continue
        try:
            numbers = unpack_numbers(keys, count)
        except ValueError as error:
            raise CollectionFileError(f"Collection: {db.path} is damaged ({error}).") from error
        yield Segment(start, numbers, data, max(0, known - start))


def clear(db: Database, stream: int) -> None:
    """Remove a whole stream."""
    db.execute("DELETE FROM segments WHERE stream = ?", (stream,))


def _insert(db: Database, stream: int, start: int, keys: NDArray[np.int64], data: bytes) -> None:
    packed = pack_numbers(keys)
    checksum = _checksum(stream, start, len(keys), packed, data)
    db.execute(
        "INSERT INTO segments (stream, start, count, crc, keys, data) VALUES (?, ?, ?, ?, ?, ?)",
        (stream, start, len(keys), checksum, packed, data),
    )


def _checksum(stream: int, start: int, count: int, keys: bytes, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(keys, zlib.crc32(f"{stream} {start} {count}".encode())))
