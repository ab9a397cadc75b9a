"""What the smaller benchmarks compute besides times."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from benchmarks import bits, evaluation, refined


def test_sorting_gives_the_same_mean_average_precision_without_ties():
    items = np.packbits(np.tril(np.ones((8, 8), dtype=np.uint8)), axis=1)
    queries = np.zeros((2, 1), dtype=np.uint8)
    labels = np.array([0, 1, 0, 0, 1, 1, 0, 1])

    found = evaluation.by_sorting(queries, [0, 1], items, labels)

    assert found == pytest.approx(dh.evaluate(queries, items, [0, 1], labels).mean_average_precision)


def test_falls_finds_the_largest_loss_when_bits_double():
    curves = {"a": {"m": {"4": 0.5, "8": 0.4, "16": 0.45}}, "b": {"m": {"4": 0.5, "8": 0.49, "16": None}}}
    assert bits.falls(curves) == {"m": (pytest.approx(0.1), "a")}


def test_jobs_of_refined_cover_every_source_of_pairs(tmp_path):
    names = [name for name, _, _ in refined.jobs(5, tmp_path)]
    assert len(names) == 7
    assert sum("labels" in name for name in names) == sum("pairs" in name for name in names) == 3
