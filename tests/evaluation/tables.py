"""Small random rankings and codes for the tests of this folder."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

rankings = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=7)


def table_of(items, n_distances=4):
    table = np.zeros((1, n_distances, 2), dtype=np.int64)
    for distance, relevant in items:
        table[0, distance, int(relevant)] += 1
    return table


def random_codes(rng, n):
    return rng.integers(0, 16, size=(n, 1), dtype=np.uint8)
