"""Labels as a modality: a view of class indicators is a modality like any other."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import diffhash as dh
from tests.hashers.test_many_modalities import HASHERS

N_CLASSES = 6


def noisy_views(seed, n=300):
    """Two views that say little about the class."""
    rng, classes = np.random.default_rng(seed), np.random.default_rng(1)
    labels = rng.permutation(np.arange(n) % N_CLASSES)
    means = {m: classes.normal(size=(N_CLASSES, 12)) for m in ("image", "text")}
    return {m: mean[labels] + 1.5 * rng.normal(size=(n, 12)) for m, mean in means.items()}, labels


def indicators(labels, kind):
    dense = np.eye(N_CLASSES)[labels]
    return scipy.sparse.csr_array(dense) if kind == "sparse" else dense


def fit(hasher, views, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dh.errors.RankWarning)
        return hasher.fit(views, dh.Pairs.from_labels(dict.fromkeys(views, labels)), calibrate=True)


def precision(queries, database, labels, others):
    return dh.evaluate(queries, database, labels, others).mean_average_precision


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", ["diff", "diff-rotated", "kernel-rotated", "boosted"])
def test_a_database_that_knows_its_labels_is_found_better_by_queries_without_labels(name, kind):
    views, labels = noisy_views(0)
    hasher = fit(
        clone(HASHERS[name]).set_params(n_bits=5), {**views, "label": indicators(labels, kind)}, labels
    )
    items, item_labels = noisy_views(2)
    queries, query_labels = noisy_views(3)
    asked = hasher.encode(queries["image"], modality="image")

    without = hasher.encode_fused(items).codes
    known = hasher.encode_fused({**items, "label": indicators(item_labels, kind)}).codes

    assert precision(asked, known, query_labels, item_labels) > 0.02 + precision(
        asked, without, query_labels, item_labels
    )


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_some_of_the_database_may_lack_labels(kind):
    views, labels = noisy_views(0)
    hasher = dh.DiffHash(8, whiten=True, rotate=True, shrinkage=0.1)
    fit(hasher, {**views, "label": indicators(labels, kind)}, labels)
    items, item_labels = noisy_views(2)
    ids = np.arange(len(item_labels))
    labelled = ids % 3 == 0

    codes, found = hasher.encode_fused(
        {**items, "label": indicators(item_labels[labelled], kind)},
        ids={"image": ids, "text": ids, "label": ids[labelled]},
    )

    np.testing.assert_array_equal(found, ids)
    np.testing.assert_array_equal(codes[~labelled], hasher.encode_fused(items).codes[~labelled])
    assert (codes[labelled] != hasher.encode_fused(items).codes[labelled]).any()


def test_labels_join_a_fitted_refined_hash():
    views, labels = noisy_views(0)
    hasher = dh.RefinedHash(16, features="linear", metric="diagonal", ridge=0.01)
    hasher.fit(views, dh.Pairs.from_labels(labels, labels), calibrate=True)
    items, item_labels = noisy_views(2)
    queries, query_labels = noisy_views(3)

    known = {**views, "label": np.eye(N_CLASSES)[labels]}
    labelled = hasher.extend(known, dh.Pairs.from_labels(dict.fromkeys(known, labels)), modality="label")

    asked = hasher.encode(queries["text"], modality="text")
    np.testing.assert_array_equal(labelled.encode(queries["text"], modality="text"), asked)
    codes = labelled.encode_fused({**items, "label": np.eye(N_CLASSES)[item_labels]}).codes
    assert precision(asked, codes, query_labels, item_labels) > 0.05 + precision(
        asked, hasher.encode_fused(items).codes, query_labels, item_labels
    )


def test_several_labels_of_an_object_are_one_row_of_indicators():
    rng = np.random.default_rng(0)
    sets = rng.random((240, 4)) < 0.35
    sets[~sets.any(axis=1), 0] = True
    X = sets @ rng.normal(size=(4, 10)) + 0.3 * rng.normal(size=(240, 10))
    views = {"image": X, "label": sets.astype(float)}
    hasher = dh.DiffHash(8, whiten=True, rotate=True, shrinkage=0.1)

    hasher.fit(views, dh.Pairs.from_labels(dict.fromkeys(views, sets)), calibrate=True)

    codes = hasher.encode_fused(views).codes
    images = hasher.encode(X, modality="image")
    assert precision(images, codes, sets, sets) > precision(images, images, sets, sets)
