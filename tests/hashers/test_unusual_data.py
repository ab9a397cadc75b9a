"""Data on which fitting could fail or lose precision: outliers, repeated objects, values far from zero."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import diffhash as dh


def test_sparse_float32_rows_far_from_zero_keep_their_precision():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(20_000, 5)) @ rng.normal(size=(5, 5)) + 300).astype(np.float32)
    y = (x @ rng.normal(size=(5, 4))).astype(np.float32)
    dense = dh.DiffHash(n_bits=3).fit({"x": x, "y": y}, dh.Pairs.aligned(len(x)))
    sparse = dh.DiffHash(n_bits=3, standardize=True).fit(
        {"x": scipy.sparse.csr_array(x), "y": scipy.sparse.csr_array(y)}, dh.Pairs.aligned(len(x))
    )
    np.testing.assert_allclose(sparse.singular_values_, dense.singular_values_, rtol=1e-3)


@pytest.mark.filterwarnings("ignore::diffhash.errors.RankWarning")
@pytest.mark.parametrize("method", [dh.DiffHash, dh.BoostedHash])
def test_one_outlier_does_not_make_bits_constant(small_data, small_pairs, method):
    views = {m: X.copy() for m, X in small_data.train.views.items()}
    views["x"][0] *= 1e6
    hasher = method(n_bits=4).fit(views, small_pairs)
    share = dh.codes.unpack(hasher.encode(views["x"], modality="x"), 4).mean(axis=0)
    assert share.min() >= 0.01
    assert share.max() <= 0.99


def test_refined_hash_can_fit_opposite_similar_objects_and_few_different_objects():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 4))
    opposites = np.concatenate([x, -x])
    i = np.arange(40)
    with pytest.warns(dh.errors.WeakModelWarning, match="hardly better than by chance"):
        dh.RefinedHash(n_bits=4, features="linear").fit({"x": opposites}, dh.Pairs(positive=(i, i + 40)))
    kinds = rng.integers(0, 12, 300)
    views = {"x": np.eye(12)[kinds], "y": np.eye(12)[kinds] @ rng.normal(size=(12, 6))}
    hasher = dh.RefinedHash(n_bits=8).fit(views, dh.Pairs.from_labels(kinds, kinds))
    assert hasher.encode(views["x"], modality="x").shape == (300, 1)


def test_one_class_per_object_gives_the_same_model_as_aligned_rows():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3000, 6)), rng.normal(size=(3000, 5))
    y[:, :3] += x[:, :3]
    labels = rng.permutation(3000)
    by_label = dh.DiffHash(n_bits=4).fit({"x": x, "y": y}, dh.Pairs.from_labels(labels, labels))
    aligned = dh.DiffHash(n_bits=4).fit({"x": x, "y": y}, dh.Pairs.aligned(3000))
    np.testing.assert_allclose(by_label.projections_["x"], aligned.projections_["x"], atol=1e-8)
