"""RefinedHash with very many small classes learns from the pairs of their objects."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.hashers.refined import label_fit
from diffhash.hashers.refined.label_fit import classes_are_tiny


def classes(n_classes, n_rows_each, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_classes), n_rows_each))
    centres = rng.normal(size=(n_classes, 6))
    views = {m: centres[labels] + 0.3 * rng.normal(size=(len(labels), 6)) for m in "xy"}
    return views, labels


@pytest.mark.parametrize("one_view", [False, True])
def test_small_classes_count_as_pairs_only_if_they_are_very_many(one_view, monkeypatch):
    _, labels = classes(50, 3)
    pairs = dh.Pairs.from_labels(labels, None if one_view else labels).resolve(150, None if one_view else 150)
    assert not classes_are_tiny(pairs)

    monkeypatch.setattr(label_fit, "_MAX_SMALL_CLASSES", 49)
    assert classes_are_tiny(pairs)

    monkeypatch.setattr(label_fit, "_FEW_PARTNERS", 2)
    assert not classes_are_tiny(pairs)


def test_the_model_is_that_of_the_listed_pairs(monkeypatch):
    views, labels = classes(60, 2)
    i, j = np.nonzero(labels[:, None] == labels)
    hasher = dh.RefinedHash(8, features="linear", max_iter=5)
    listed = hasher.fit(views, dh.Pairs(positive=(i, j))).encode(views["x"], modality="x")
    by_class = hasher.fit(views, dh.Pairs.from_labels(labels, labels)).encode(views["x"], modality="x")

    monkeypatch.setattr(label_fit, "_MAX_SMALL_CLASSES", 59)
    by_pair = hasher.fit(views, dh.Pairs.from_labels(labels, labels)).encode(views["x"], modality="x")

    np.testing.assert_array_equal(by_pair, listed)
    assert (by_pair != by_class).any(), "the classes were not counted as pairs before"
