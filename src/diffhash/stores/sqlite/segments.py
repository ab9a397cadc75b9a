"""Streams of a collection's file: entries are appended in segments, and can be read from any entry on.

Small segments at the end of a stream are merged as it grows, as in a binary counter: a million
single additions make a few hundred rows, and each entry is rewritten about a dozen times.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import CollectionFileError
from .database import Database
from .packed_numbers import pack_numbers, unpack_numbers
from .sqlite_errors import damage_is_reported
from .string_ids import join_packed_strings
from .totals import Total, add_to_total, clear_total

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
    width = None if stream == STRING_IDS else len(data) // len(keys)
    tail = db.execute(
        "SELECT start, count, crc FROM segments WHERE stream = ? ORDER BY start DESC LIMIT 16", (stream,)
    ).fetchall()
    with damage_is_reported(db.path):
        if start != (tail[0][0] + tail[0][1] if tail else 0):
            raise CollectionFileError(
                f"Collection: {db.path} was changed by another program while this one was writing. Open it again."
            )
        for begin, count, crc in tail:
            if count > total or count + total > _MAX_MERGED:
                break
            (segment,) = read(db, stream, begin, width=width, end=begin + count)
            parts.insert(0, (begin, segment.keys, segment.data))
            total += count
            db.execute("DELETE FROM segments WHERE stream = ? AND start = ?", (stream, begin))
            add_to_total(db, stream, -count, -crc)
    if len(parts) > 1:
        joined = np.concatenate([part[1] for part in parts])
        pieces = [(len(part[1]), part[2]) for part in parts]
        data = join_packed_strings(pieces) if width is None else b"".join(part[1] for part in pieces)
        _insert(db, stream, parts[0][0], joined, data)
    elif width is None or len(data) + 8 * len(keys) <= _MAX_BYTES:
        _insert(db, stream, start, keys, data)
    else:
        rows = max(1, _MAX_BYTES // (width + 8))
        for begin in range(0, len(keys), rows):
            _insert(
                db,
                stream,
                start + begin,
                keys[begin : begin + rows],
                data[begin * width : (begin + rows) * width],
            )


def read(
    db: Database,
    stream: int,
    known: int,
    *,
    width: int | None,
    most: int | None = None,
    total: Total | None = None,
    end: int | None = None,
) -> Iterator[Segment]:
    """Checked segments with the entries of a stream from number ``known`` on.

    The first segment may begin earlier, because segments are merged while others read.

    Parameters
    ----------
    db, stream, known
    width : int or None
        Number of bytes of each entry; None for packed strings.
    most : int, optional
        Maximum number of entries of the stream. It is needed if ``width`` is 0: a few bytes can then be any
        number of entries, and memory is allocated for all of them.
    total : Total, optional
        What the whole stream must have.
    end : int, optional
        Read only segments that begin before this entry.
    """
    first = db.value("SELECT max(start) FROM segments WHERE stream = ? AND start <= ?", (stream, known))
    rows = db.execute(
        "SELECT start, count, crc, keys, data FROM segments WHERE stream = ? AND start >= ? AND start < ? "
        "ORDER BY start",
        (stream, first or 0, 1 << 62 if end is None else end),
    )
    expected, crcs = first or 0, Total()
    for start, count, crc, keys, data in rows:
        if (
            start != expected
            or not _fits(count, keys, data, width)
            or (most is not None and start + count > most)
            or crc != _checksum(stream, start, count, keys, data)
        ):
            raise CollectionFileError(
                f"Collection: {db.path} is damaged: segment {start} of stream {stream} was changed or is incomplete. "
                "Take the file from a backup."
            )
        expected, crcs = start + count, crcs.plus(count, crc)
        if expected <= known:
            continue
        with damage_is_reported(db.path):
            numbers = unpack_numbers(keys, count)
        yield Segment(start, numbers, data, max(0, known - start))
    if total is not None and (expected != total.entries or (not known and crcs != total)):
        raise CollectionFileError(
            f"Collection: {db.path} is damaged: stream {stream} should have {total.entries} entries, and not those "
            f"{expected} that it has. Take the file from a backup."
        )


def _fits(count: Any, keys: Any, data: Any, width: int | None) -> bool:
    """Whether a segment has the bytes for its entries. Nothing is allocated for entries that are not there."""
    if type(count) is not int or count < 1 or not isinstance(keys, bytes) or not isinstance(data, bytes):
        return False
    return len(data) >= 4 * count if width is None else len(data) == width * count


def clear(db: Database, stream: int) -> None:
    """Remove a whole stream."""
    db.execute("DELETE FROM segments WHERE stream = ?", (stream,))
    clear_total(db, stream)


def _insert(db: Database, stream: int, start: int, keys: NDArray[np.int64], data: bytes) -> None:
    packed = pack_numbers(keys)
    checksum = _checksum(stream, start, len(keys), packed, data)
    db.execute(
        "INSERT INTO segments (stream, start, count, crc, keys, data) VALUES (?, ?, ?, ?, ?, ?)",
        (stream, start, len(keys), checksum, packed, data),
    )
    add_to_total(db, stream, len(keys), checksum)


def _checksum(stream: int, start: int, count: int, keys: bytes, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(keys, zlib.crc32(f"{stream} {start} {count}".encode())))
