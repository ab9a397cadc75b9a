"""Rotated and whitened hashers on unusual data: tiny, wide, narrow, unbalanced, heavy tails, many classes."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh

HASHERS = {
    "linear": lambda n_bits: dh.DiffHash(n_bits=n_bits, whiten=True, rotate=True),
    "kernel": lambda n_bits: dh.KernelDiffHash(n_bits=n_bits, n_landmarks=60, whiten=True, rotate=True),
}

pytestmark = pytest.mark.parametrize("make", HASHERS.values(), ids=HASHERS)


def class_views(labels, d=(12, 7), noise=0.5):
    """Two views whose rows are centres of their classes and noise."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(labels.max() + 1, 8))
    return {
        m: centres[labels] @ rng.normal(size=(8, k)) / np.sqrt(8) + noise * rng.normal(size=(len(labels), k))
        for m, k in zip("xy", d, strict=True)
    }


def precision(make, views, labels, n_bits=16, rows=slice(None)):
    """Mean average precision of codes of some rows, after checks that everything is finite."""
    hasher = make(n_bits).fit(views, dh.Pairs.from_labels(labels, labels))
    codes = [hasher.encode(views[m][rows], modality=m) for m in "xy"]
    for m in "xy":
        assert np.isfinite(hasher.projections_[m]).all()
        assert np.isfinite(hasher.thresholds_[m]).all()
    return dh.evaluate(*codes, labels[rows], labels[rows]).mean_average_precision


def test_ten_objects(make):
    labels = np.arange(10) % 2
    assert precision(make, class_views(labels), labels, 8) > 0.6


def test_a_class_with_one_object(make):
    labels = np.r_[np.arange(60) % 3, 3]
    assert precision(make, class_views(labels), labels) > 0.6


def test_few_objects_with_many_features(make):
    """No direction of the training objects is thrown away because in-sample correlations are all 1."""
    labels = np.arange(80) % 4
    views = class_views(labels, (1500, 1500))
    assert precision(make, views, labels) > 0.95


def test_all_directions_of_unbalanced_classes_of_embeddings_are_kept(make):
    """Sixteen classes span 15 directions, also if they are of unequal sizes and features are many."""
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(16), np.linspace(12, 60, 16).astype(int))
    centres = rng.normal(size=(16, 24))
    latent = centres[labels] + 0.5 * rng.normal(size=(len(labels), 24))
    views = {m: np.maximum(latent @ rng.normal(size=(24, d)), 0) for m, d in (("x", 640), ("y", 200))}
    hasher = make(32).fit(views, dh.Pairs.from_labels(labels, labels))
    assert 13 <= len(hasher.singular_values_) <= 15


def test_many_objects_with_one_feature(make):
    labels = np.arange(2000) % 2
    rng = np.random.default_rng(0)
    views = {m: (labels + 0.1 * rng.normal(size=2000))[:, None] for m in "xy"}
    assert precision(make, views, labels, 4, slice(0, 300)) > 0.95


def test_ten_thousand_classes(make):
    labels = np.arange(20_000) % 10_000
    views = class_views(labels, (8, 8), noise=0.1)
    # Ten times what codes that say nothing would score.
    assert precision(make, views, labels, 32, slice(0, 500)) > 0.06


def test_heavy_tails(make):
    labels = np.arange(300) % 3
    rng = np.random.default_rng(0)
    views = {m: X + rng.standard_cauchy(X.shape) for m, X in class_views(labels, noise=0.1).items()}
    assert precision(make, views, labels) > 1 / 3
