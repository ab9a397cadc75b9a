"""Hypothesis strategies: codes of odd widths, with ties, and what one can ask of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

WIDTHS = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 96, 119, 120, 121, 128, 511, 512]


class Problem(NamedTuple):
    codes: np.ndarray
    queries: np.ndarray
    n_bits: int
    ids: np.ndarray | None
    allowed: np.ndarray | None

    @property
    def clean_queries(self):
        queries = self.queries.copy()
        if self.n_bits % 8:
            queries[:, -1] &= (1 << self.n_bits % 8) - 1
        return queries


@st.composite
def problems(draw, max_rows=200, max_queries=5, *, min_rows=0, min_queries=0, max_width=512):
    """Few distinct codes make many ties; rows cross the chunks of 64 of the kernels."""
    width = draw(st.sampled_from([width for width in WIDTHS if width <= max_width]))
    n_bits = 8 * width - draw(st.integers(0, 7)) if draw(st.booleans()) else 8 * width
    n = draw(st.integers(min_rows, max_rows))
    n_queries = draw(st.integers(min_queries, max_queries))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    distinct = rng.integers(0, 256, (draw(st.integers(1, 300)), width), dtype=np.uint8)
    codes = distinct[rng.integers(0, len(distinct), n)]
    if n_bits % 8:
        codes[:, -1] &= (1 << n_bits % 8) - 1
    queries = distinct[rng.integers(0, len(distinct), n_queries)]  # their padding bits stay dirty
    flips = rng.random(queries.shape) < draw(st.sampled_from([0.0, 0.1, 1.0]))
    queries = np.where(flips, rng.integers(0, 256, queries.shape, dtype=np.uint8), queries)
    ids = draw(st.sampled_from([None, "increasing", "shuffled"]))
    if ids is not None:
        numbers = np.sort(rng.choice(10 * n + 10, n, replace=False)).astype(np.int64) - 5
        ids = rng.permutation(numbers) if ids == "shuffled" else numbers
    allowed = rng.random(n) < draw(st.sampled_from([0.0, 0.1, 0.9])) if draw(st.booleans()) else None
    return Problem(codes, queries, n_bits, ids, allowed)
