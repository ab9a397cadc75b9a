"""What several tests of collections need."""

from __future__ import annotations

import os
import sqlite3

import numpy as np
import pytest

posix = pytest.mark.skipif(os.name != "posix", reason="permissions and limits of POSIX")


def codes(n):
    """Codes of 16 bits, the same for the same ``n``."""
    return np.random.default_rng(n).integers(0, 256, (n, 2), dtype=np.uint8)


def sql(path, *statements):
    """Change a file behind the back of the collection."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()
