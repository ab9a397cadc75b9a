"""Rows with very many features are compared in the space of the rows, where representations are the same."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import diffhash as dh
from diffhash.maps import MappedView, wide_rows
from diffhash.maps.representation import Representation, fit_representation
from diffhash.maps.wide_rows import WideRows, fit_linear_rows

METRICS = ["euclidean", "cosine", "diagonal", "root-cosine"]


def counts(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return scipy.sparse.csr_array(rng.poisson(0.2, (n, d)).astype(np.float64))


def products(X):
    """Products of rows with each other; the rest of the mean, which sparse rows keep, is subtracted."""
    X = X.toarray() if scipy.sparse.issparse(X) else X
    return (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("features", ["linear", "kernel"])
@pytest.mark.parametrize("metric", METRICS)
def test_representations_are_the_same_in_the_space_of_the_rows(metric, features, sparse):
    X = counts(30, 200) if sparse else counts(30, 200).toarray()
    fit, new = np.arange(0, 30, 2), np.arange(1, 30, 2)
    wide = WideRows(X)

    Z = wide.coordinates(metric, fit, who="test")

    assert Z.shape[1] <= 30
    reduced = Representation(features, wide.metric(metric), 0.5)
    found = fit_representation(Z[fit], reduced, Z[fit][:7], who="test").transform(Z[new])
    points = X[fit][:7].toarray() if sparse else X[fit][:7]
    expected = fit_representation(X[fit], Representation(features, metric, 0.5), points, who="test")
    np.testing.assert_allclose(products(found), products(expected.transform(X[new])), atol=1e-9)


def test_other_metrics_and_negative_values_have_no_counterpart():
    X = counts(5, 20).toarray()
    assert WideRows(X).metric("mahalanobis") is None
    assert WideRows(X).metric("root-cosine") == "euclidean"
    assert WideRows(X - 1.0).metric("root-cosine") is None
    assert WideRows(X - 1.0).metric("cosine") == "cosine"


def test_only_very_many_features_are_left():
    assert WideRows.suits(np.empty((500, 2049)))
    assert not WideRows.suits(np.empty((500, 2048)))
    assert not WideRows.suits(np.empty((1000, 4000)))
    assert WideRows.suits(np.empty((1000, 4000)), 500)
    assert WideRows.suits(scipy.sparse.csr_array((500, 16_385)))
    assert not WideRows.suits(scipy.sparse.csr_array((500, 16_384)))


@pytest.mark.parametrize("metric", METRICS)
def test_linear_features_of_sparse_rows_have_coordinates_in_their_space(metric):
    X = counts(20, 150)
    representation = Representation("linear", metric)
    expected = MappedView(X, fit_representation(X, representation, None, who="test"))

    fitted, view, basis = fit_linear_rows(X, representation, who="test")

    P = np.random.default_rng(1).normal(size=(3, view.n_features))
    projected = MappedView(X, fitted).project(basis.spread(P))
    np.testing.assert_allclose(projected, view.X @ P.T, atol=1e-9)
    np.testing.assert_allclose(projected, expected.project(basis.spread(P)), atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_codes_find_as_much_as_those_learned_from_the_features(sparse, monkeypatch):
    rng = np.random.default_rng(0)
    hidden = rng.gamma(0.5, size=(120, 12))
    views = {m: rng.poisson(hidden @ rng.gamma(0.3, size=(12, 300))).astype(float) for m in "xy"}
    views = {m: scipy.sparse.csr_array(X) if sparse else X for m, X in views.items()}
    train, test = np.arange(80), np.arange(80, 120)
    ids = np.arange(40)
    found = []
    for limit in (2048, 10):
        monkeypatch.setattr(wide_rows, "_MIN_FEATURES", limit)
        monkeypatch.setattr(wide_rows, "_MIN_SPARSE_FEATURES", limit)
        monkeypatch.setattr(wide_rows, "_FEATURES_A_ROW", 2)
        hasher = dh.RefinedHash(16).fit({m: X[train] for m, X in views.items()}, dh.Pairs.aligned(80))
        x, y = (hasher.encode(X[test], modality=m) for m, X in views.items())
        found.append(dh.evaluate(x, y, ids, ids).mean_average_precision)

    assert found[0] > 0.3
    assert abs(found[1] - found[0]) < 0.1


@pytest.mark.parametrize("metric", METRICS)
def test_a_feature_far_from_zero_leaves_rows_as_they_are(metric):
    """Such as a time stamp: products of rows that are not centred leave no digits for the other features."""
    X = counts(20, 150).tolil()
    X[:, 3] = 1.7e9
    X = scipy.sparse.csr_array(X)
    representation = Representation("linear", metric)

    found = WideRows(X).coordinates(metric, np.arange(15), who="test")

    assert found is None
    assert fit_linear_rows(X, representation, who="test") is None


@pytest.mark.parametrize("constant", [0.0, 1e6, 1e9])
def test_a_constant_feature_hardly_changes_what_codes_find(constant):
    rng = np.random.default_rng(0)
    topics = np.abs(rng.standard_normal((12, 17_000))) * (rng.random((12, 17_000)) < 0.02)
    hidden = rng.random((320, 12)) * (rng.random((320, 12)) < 0.4)
    words = (hidden @ topics) * (rng.random((320, 17_000)) < 0.3)
    words[:, 5] = constant
    X, Y = scipy.sparse.csr_array(words), hidden @ rng.standard_normal((12, 10))

    hasher = dh.RefinedHash(16).fit({"x": X[:200], "y": Y[:200]}, dh.Pairs.aligned(200))

    x, y = hasher.encode(X[200:], modality="x"), hasher.encode(Y[200:], modality="y")
    assert dh.evaluate(x, y, np.arange(120), np.arange(120)).mean_average_precision > 0.6


def test_coordinates_are_computed_once(monkeypatch):
    """Although representations are fitted in several threads."""
    monkeypatch.setenv("DIFFHASH_NUM_THREADS", "4")
    calls = []
    compute = wide_rows._row_coordinates
    monkeypatch.setattr(wide_rows, "_row_coordinates", lambda X: (calls.append(X.tobytes()), compute(X))[1])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3000))

    dh.RefinedHash(8).fit({"x": X, "y": X[:, :20] + rng.normal(size=(60, 20))}, dh.Pairs.aligned(60))

    assert len(calls) >= 2
    assert len(set(calls)) == len(calls)
