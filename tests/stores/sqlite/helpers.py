"""Helpers of several tests."""

from __future__ import annotations

import os
import sqlite3

import numpy as np
import pytest

from diffhash.stores.sqlite import segments
from diffhash.stores.sqlite.payloads import payload_checksum
from diffhash.stores.sqlite.seal import seal

posix = pytest.mark.skipif(os.name != "posix", reason="permissions and limits of POSIX")


def codes(n):
    """Codes of 16 bits, the same for the same ``n``."""
    return np.random.default_rng(n).integers(0, 256, (n, 2), dtype=np.uint8)


def sql(path, *statements):
    """Change a file without the collection."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def forge(path, *statements):
    """Change a file and make all its checksums right again, as somebody does who knows the format."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(*((statement,) if isinstance(statement, str) else statement))
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    renew_checksums(connection, version)
    connection.close()


def renew_checksums(connection, version):
    connection.create_function("segment_crc", 5, segments._checksum)
    connection.create_function("payload_crc", 2, lambda key, text: payload_checksum(version, key, text))
    connection.execute(
        "UPDATE segments SET crc = segment_crc(stream, start, count, keys, data) "
        "WHERE typeof(keys) = 'blob' AND typeof(data) = 'blob'"
    )
    connection.execute("UPDATE payloads SET crc = payload_crc(key, payload) WHERE typeof(payload) = 'text'")
    if version >= 2:
        connection.execute("DELETE FROM totals")
        connection.execute(
            "INSERT INTO totals SELECT stream, sum(count), sum(crc) % (1 << 32) FROM segments GROUP BY stream"
        )
        connection.execute(
            "INSERT INTO totals SELECT -1, count(*), sum(crc) % (1 << 32) FROM payloads HAVING count(*)"
        )
        seal(connection)


def to_format_1(path):
    """Turn a collection into the file that the release before format 2 would have written."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("DROP TABLE totals")
    connection.execute("DELETE FROM meta WHERE name IN ('checksum', 'model_sha256')")
    connection.execute("PRAGMA user_version = 1")
    renew_checksums(connection, 1)
    connection.execute("COMMIT")
    connection.close()
