"""The checksum of a collection's description (format 2).

It covers all of the table ``meta`` except the model and the checksum itself, the tables ``totals`` and
``fields``. The model is covered by its own checksum, ``model_sha256``, which is a row of ``meta``. So no
modality, id kind, next key, count or name of a field can change without notice.

The checksum is the SHA-256 of a JSON text: the rows of each table as lists, ordered by their first column,
without spaces; BLOBs are written as hexadecimal digits.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Protocol

__all__ = ["description_checksum", "seal"]


class Executes(Protocol):
    """A connection: SQLite's own, or :class:`.database.Database`."""

    def execute(self, statement: str, parameters: Any = ..., /) -> Any:
        """Run one statement."""


_COVERED = (
    "SELECT name, value FROM meta WHERE name NOT IN ('model', 'checksum') ORDER BY name",
    "SELECT part, count, crc FROM totals ORDER BY part",
    "SELECT field, name FROM fields ORDER BY field",
)


def description_checksum(connection: Executes) -> str:
    """The checksum that the description should have."""
    tables = [[list(row) for row in connection.execute(statement)] for statement in _COVERED]
    return sha256(json.dumps(tables, separators=(",", ":"), default=bytes.hex).encode()).hexdigest()


def seal(connection: Executes) -> None:
    """Store the checksum of the description; the last step of every write transaction."""
    connection.execute(
        "INSERT INTO meta (name, value) VALUES ('checksum', ?1) "
        "ON CONFLICT (name) DO UPDATE SET value = ?1 WHERE value IS NOT ?1",
        (description_checksum(connection),),
    )
