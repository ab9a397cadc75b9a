"""All payloads in blocks, each read by one call of the JSON decoder.

A call for each payload takes three times as long. A block in which anything is unusual is not parsed; the caller then
reads its payloads one by one, which finds out what is wrong.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from ..payload_json import check_values, to_json
from .database import Database

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment] # to_json does the same, in more time

__all__ = ["DECODER", "ParsedBlock", "PayloadBlock", "payload_blocks"]

#: Few enough that a block stays in the cache: blocks of 5,000 payloads take a quarter longer.
_BLOCK = 500
#: Types of values for which orjson writes what ``to_json`` writes. It writes some floats in another way.
_SAME_IN_ORJSON = {str, int, bool, type(None)}
_DIGITS_TO_ZERO = bytes(ord("0") if ord("0") <= byte <= ord("9") else byte for byte in range(256))
#: No number with fewer digits is beyond 64 bits.
_LONG_NUMBER = b"0" * 19


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


#: Python would accept NaN and Infinity, which are never stored.
DECODER = json.JSONDecoder(parse_constant=_refuse)


def _may_be_long(data: bytes) -> bool:
    """Whether a number may be beyond 64 bits."""
    return _LONG_NUMBER in data.translate(_DIGITS_TO_ZERO)


def _decode(text: str) -> Any:
    """What ``DECODER`` reads. orjson reads the same in less time, but long integers as floats, and refuses more."""
    if orjson is not None:
        try:
            data = text.encode()
            if not _may_be_long(data):
                return orjson.loads(data)
        except ValueError:
            pass  # the decoder below decides
    return DECODER.decode(text)


class ParsedBlock(NamedTuple):
    """Payloads of a block, and the text from which they were parsed: a list with a word between two payloads."""

    payloads: list[dict[str, Any]]
    mixed: list[Any]
    text: str

    def is_canonical(self) -> bool:
        """Whether each payload is what diffhash would write; False also if that is not certain."""
        data = self.text.encode()
        types = {*map(type, chain.from_iterable(map(dict.values, self.payloads)))}
        try:
            if types <= _SAME_IN_ORJSON and not _may_be_long(data):
                if orjson is not None:
                    return orjson.dumps(self.mixed) == data
            else:
                for payload in self.payloads:
                    check_values(payload)
            # The word is between the payloads of both texts, so that all payloads are equal if the texts are.
            return to_json(self.mixed) == self.text
        except (TypeError, ValueError, RecursionError):
            return False


class PayloadBlock(NamedTuple):
    """Rows of the table of payloads, as they are stored."""

    keys: tuple[int, ...]
    crcs: tuple[Any, ...]
    texts: tuple[Any, ...]

    def rows(self) -> Iterator[tuple[int, Any, Any]]:
        """Key, checksum and text of each payload."""
        return zip(self.keys, self.crcs, self.texts, strict=True)

    def parse(self, format_: int) -> ParsedBlock | None:
        """Payloads whose checksums are right; None if something is unusual."""
        if {*map(type, self.texts)} != {str} or {*map(type, self.crcs)} != {int}:
            return None
        if format_ >= 2:
            pairs = zip(self.keys, self.texts, strict=True)
            crcs = [zlib.crc32(f"{key} {text}".encode()) for key, text in pairs]
        else:
            crcs = [zlib.crc32(text.encode()) for text in self.texts]
        if crcs != list(self.crcs):
            return None
        # Nobody can know the word, so no payload contains it. If it is every second item of the list, then
        # each text between two words is one value of its own.
        word = secrets.token_hex(16)
        between = f',"{word}",'
        joined = f"[{between.join(self.texts)}]"
        try:
            mixed = _decode(joined)
        except (ValueError, RecursionError):
            return None
        payloads = mixed[::2]
        n = len(self.keys)
        if len(payloads) != n or mixed[1::2] != [word] * (n - 1) or {*map(type, payloads)} != {dict}:
            return None
        return ParsedBlock(payloads, mixed, joined)


def payload_blocks(db: Database) -> Iterator[PayloadBlock]:
    """All rows of the table."""
    cursor = db.execute("SELECT key, crc, payload FROM payloads")
    while rows := cursor.fetchmany(_BLOCK):
        keys, crcs, texts = zip(*rows, strict=True)
        yield PayloadBlock(keys, crcs, texts)
