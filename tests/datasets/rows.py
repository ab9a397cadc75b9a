"""Where rows of a part come from."""

from __future__ import annotations

import numpy as np


def rows_of(part, whole):
    """Row of each object of a part in the whole, found by its features."""
    return [int(np.flatnonzero((whole == row).all(axis=1))[0]) for row in part]
