"""How many rows each part of a collection has, and the sum of their checksums (format 2).

A part is a stream, under its number, the payloads, or the captions in the word index. A checksum in a row
cannot tell that the row itself is missing, or is an older one; the total of its part can.
"""

from __future__ import annotations

from typing import NamedTuple

from .database import Database

__all__ = ["CAPTIONS", "PAYLOADS", "Total", "add_to_total", "clear_total", "read_totals"]

#: The parts that are not streams.
PAYLOADS, CAPTIONS = -1, -2
_MODULUS = 1 << 32


class Total(NamedTuple):
    """Number of entries of a part, and the sum of the checksums of its rows modulo 2**32."""

    entries: int = 0
    crc: int = 0

    def plus(self, count: int, crc: int) -> Total:
        """The total with more entries, or with fewer if the numbers are negative."""
        return Total(self.entries + count, (self.crc + crc) % _MODULUS)


def read_totals(db: Database) -> dict[int, Total]:
    """All totals by part."""
    return {part: Total(count, crc) for part, count, crc in db.execute("SELECT part, count, crc FROM totals")}


def add_to_total(db: Database, part: int, count: int, crc: int) -> None:
    """Count new entries of a part, or removed ones as negative numbers; within a transaction."""
    if db.format < 2 or not count:
        return
    row = db.execute("SELECT count, crc FROM totals WHERE part = ?", (part,)).fetchone()
    changed = Total(*(row or ())).plus(count, crc)
    db.execute("INSERT OR REPLACE INTO totals (part, count, crc) VALUES (?, ?, ?)", (part, *changed))


def clear_total(db: Database, part: int) -> None:
    """Remove the total of a part that is removed as a whole; within a transaction."""
    if db.format >= 2:
        db.execute("DELETE FROM totals WHERE part = ?", (part,))
