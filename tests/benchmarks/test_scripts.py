"""What the smaller benchmarks compute besides times."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from benchmarks import evaluation


def test_sorting_gives_the_same_mean_average_precision_without_ties():
    items = np.packbits(np.tril(np.ones((8, 8), dtype=np.uint8)), axis=1)
    queries = np.zeros((2, 1), dtype=np.uint8)
    labels = np.array([0, 1, 0, 0, 1, 1, 0, 1])

    found = evaluation.by_sorting(queries, [0, 1], items, labels)

    assert found == pytest.approx(dh.evaluate(queries, items, [0, 1], labels).mean_average_precision)
