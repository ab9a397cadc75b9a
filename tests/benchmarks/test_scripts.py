"""What the smaller benchmarks compute besides times."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from benchmarks import evaluation, refined_time


def test_sorting_gives_the_same_mean_average_precision_without_ties():
    items = np.packbits(np.tril(np.ones((8, 8), dtype=np.uint8)), axis=1)
    queries = np.zeros((2, 1), dtype=np.uint8)
    labels = np.array([0, 1, 0, 0, 1, 1, 0, 1])

    found = evaluation.by_sorting(queries, [0, 1], items, labels)

    assert found == pytest.approx(dh.evaluate(queries, items, [0, 1], labels).mean_average_precision)


def test_time_of_refined_hash_without_data_is_that_of_made_up_pairs(capsys, monkeypatch):
    monkeypatch.delenv("DIFFHASH_DATA", raising=False)
    refined_time.main(["--pairs", "150", "--repeats", "1"])

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("150 pairs of 1,280 + 384 features, 128 bits: ")
    assert "of CPU" in lines[0]
    assert "expected" in lines[1]


def test_made_up_embeddings_share_something():
    views = refined_time.make_embeddings(400)

    assert {m: X.shape for m, X in views.items()} == {"image": (400, 1280), "text": (400, 384)}
    a, b = ((X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T for X in views.values())
    above = np.triu_indices(400, 1)
    assert np.corrcoef(a[above], b[above])[0, 1] > 0.2
