"""Find the rows of a part in the whole data set."""

from __future__ import annotations

import numpy as np


def rows_of(part, whole):
    """Return the row of each object of ``part`` in ``whole``, found by its features."""
    return [int(np.flatnonzero((whole == row).all(axis=1))[0]) for row in part]
