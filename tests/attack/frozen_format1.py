"""A reader and a writer of collections of format 1, frozen: what an older release does with a file.

They are written from the description of the format, use nothing of the package, and must not be changed with
it: a later release may share a file with an older one at any time.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path
from typing import Any

__all__ = ["NewerFileError", "OldReader", "OldWriter"]

_APPLICATION_ID = 0x64687368


class NewerFileError(Exception):
    """The file has a format that the old release does not know."""


def _unpack_numbers(data: bytes, count: int) -> list[int]:
    width, least = data[0], int.from_bytes(data[1:9], "little", signed=True)
    if width == 0:
        return list(range(least, least + count))
    return [
        least + int.from_bytes(data[9 + i : 9 + i + width], "little") for i in range(0, width * count, width)
    ]


def _unpack_strings(data: bytes, count: int) -> list[str]:
    lengths = [int.from_bytes(data[4 * i : 4 * i + 4], "little") for i in range(count)]
    strings, at = [], 4 * count
    for length in lengths:
        strings.append(data[at : at + length].decode())
        at += length
    return strings


def _segment_crc(stream: int, start: int, count: int, keys: bytes, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(keys, zlib.crc32(f"{stream} {start} {count}".encode())))


class _File:
    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        (mark,) = self.connection.execute("PRAGMA application_id").fetchone()
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        assert mark == _APPLICATION_ID
        if version > 1:
            self.connection.close()
            raise NewerFileError(f"format version {version}; this release reads up to 1")

    def close(self) -> None:
        self.connection.close()

    def _meta(self) -> dict[str, Any]:
        return dict(self.connection.execute("SELECT name, value FROM meta"))

    def _stream(self, stream: int) -> list[tuple[int, bytes]]:
        """Keys and data of all entries of a stream; an error if a checksum or a number is wrong."""
        entries: list[tuple[int, bytes]] = []
        rows = self.connection.execute(
            "SELECT start, count, crc, keys, data FROM segments WHERE stream = ? ORDER BY start", (stream,)
        )
        for start, count, crc, keys, data in rows:
            assert start == len(entries)
            assert crc == _segment_crc(stream, start, count, keys, data)
            if stream == 0:
                parts = [text.encode() for text in _unpack_strings(data, count)]
            else:
                width = len(data) // count
                parts = [data[i * width : (i + 1) * width] for i in range(count)]
            entries += zip(_unpack_numbers(keys, count), parts, strict=True)
        return entries


class OldReader(_File):
    """Reads everything, in one transaction."""

    def items(self) -> dict[Any, tuple[dict[str, list[int]], dict[str, Any]]]:
        """Codes by modality and payload of each object, by id."""
        self.connection.execute("BEGIN")
        try:
            return self._items()
        finally:
            self.connection.execute("COMMIT")

    def _items(self) -> dict[Any, tuple[dict[str, list[int]], dict[str, Any]]]:
        meta = self._meta()
        names = {key: data.decode() for key, data in self._stream(0)}
        codes: dict[int, dict[str, list[int]]] = {}
        for number, modality in enumerate(json.loads(meta["modalities"])):
            stored = self._stream(1 + 2 * number)
            removed = {position for position, _ in self._stream(2 + 2 * number)}
            for position, (key, data) in enumerate(stored):
                if position not in removed:
                    codes.setdefault(key, {})[modality] = list(data)
        payloads = {}
        for key, crc, text in self.connection.execute("SELECT key, crc, payload FROM payloads"):
            assert crc == zlib.crc32(text.encode())
            payloads[key] = json.loads(text)
        is_text = meta["id_kind"] == "str"
        return {
            names[key] if is_text else key: (found, payloads.get(key, {})) for key, found in codes.items()
        }


class OldWriter(_File):
    """Adds one object with a number as its id, as the old release does."""

    def add(self, id_: int, code: bytes, payload: dict[str, Any]) -> None:
        """Store an object in the first modality, in one transaction."""
        execute = self.connection.execute
        execute("PRAGMA journal_mode = WAL")
        execute("BEGIN IMMEDIATE")
        (start,) = execute("SELECT coalesce(max(start + count), 0) FROM segments WHERE stream = 1").fetchone()
        keys = b"\0" + id_.to_bytes(8, "little", signed=True)
        crc = _segment_crc(1, start, 1, keys, code)
        execute("INSERT INTO segments VALUES (1, ?, 1, ?, ?, ?)", (start, crc, keys, code))
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        execute("INSERT INTO payloads VALUES (?, ?, ?)", (id_, zlib.crc32(text.encode()), text))
        execute("UPDATE meta SET value = max(value, ?) WHERE name = 'next_key'", (id_ + 1,))
        execute("COMMIT")
