"""What the smaller benchmarks compute besides times."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from benchmarks import evaluation, pair_scatter, refined_time


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


def test_scatter_tells_models_that_differ_from_objects_that_differ():
    """Noise of each object is in the figures, and not in the estimate for the models."""
    rng = np.random.default_rng(0)
    noise = 0.3 * rng.standard_normal((400, 100))

    of_figures, of_models = pair_scatter.scatter(0.5 + noise)
    assert of_figures == pytest.approx(0.03, rel=0.15)
    assert of_models < 0.01

    better = 0.05 * rng.standard_normal((400, 1))
    assert pair_scatter.scatter(0.5 + better + noise)[1] == pytest.approx(0.05, rel=0.15)


def test_scatter_without_the_data_is_that_of_made_up_pairs(capsys, monkeypatch):
    monkeypatch.delenv("DIFFHASH_DATA", raising=False)
    monkeypatch.setattr(pair_scatter, "N_TRAIN", 60)
    monkeypatch.setattr(pair_scatter, "N_TEST", 40)
    pair_scatter.main(["--datasets", "aligned", "scene15", "--bits", "8", "--seeds", "2"])

    out = capsys.readouterr().out
    assert "aligned, 8 bits, 60 pairs, recall@10 of 40 objects: mean of 2 seeds" in out
    assert "scene15: skipped, no scene15.npz" in out
