"""BoostedHash with more features than rows learns in the space of the rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

import diffhash as dh
from diffhash.codes import unpack
from diffhash.hashers import boosted


def _views(n_rows, n_features, seed):
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n_rows, 6))
    return {
        m: hidden @ rng.normal(size=(6, d)) + rng.normal(size=(n_rows, d))
        for m, d in zip("xy", n_features, strict=True)
    }


@pytest.mark.parametrize("n_features", [(90, 120), (90, 20), (41, 300)])
def test_first_bit_is_that_of_the_features(n_features, monkeypatch):
    """Later bits depend on rounding: a pair at a threshold changes all weights that follow."""
    views = _views(40, n_features, seed=3)
    pairs = dh.Pairs.aligned(40)
    by_features = dh.BoostedHash(n_bits=1).fit(views, pairs)
    monkeypatch.setattr(boosted, "_MANY_FEATURES", 0)

    by_rows = dh.BoostedHash(n_bits=1).fit(views, pairs)

    np.testing.assert_allclose(by_rows.correlations_, by_features.correlations_, rtol=1e-6)
    for m, X in views.items():
        a, b = (unpack(each.encode(X, modality=m), 1) for each in (by_features, by_rows))
        assert (a == b).all()


def test_very_many_sparse_features_take_little_memory():
    rng = np.random.default_rng(0)
    n, d = 60, 40_000
    words = {m: rng.integers(0, d, (n, 30)) for m in "xy"}
    rows = np.repeat(np.arange(n), 30)
    views = {
        m: scipy.sparse.csr_array((np.ones(n * 30), (rows, each.ravel())), shape=(n, d))
        for m, each in words.items()
    }
    tracemalloc.start()

    hasher = dh.BoostedHash(n_bits=4).fit(views, dh.Pairs.aligned(n))

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A product of all features with all features would take 12.8 GB.
    assert peak < 500e6
    distance = np.bitwise_count(
        hasher.encode(views["x"], modality="x") ^ hasher.encode(views["y"], modality="y")
    ).sum(axis=1)
    assert distance.mean() < 1
