"""Rows of unit length, and representations of a view."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from diffhash.errors import InputError, ModelFileError
from diffhash.maps import KernelMap, LinearMap
from diffhash.maps.representation import METRICS, Representation, fit_representation
from diffhash.maps.unit import UnitMap, unit_rows


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_unit_rows_equal_a_loop_over_rows(seed, root, sparse):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(7, 4))) * rng.integers(0, 2, (7, 4))
    origin = None if root else rng.integers(0, 2, 4).astype(float)
    found = unit_rows(scipy.sparse.csr_array(X) if sparse else X, origin)
    if root and sparse:
        assert scipy.sparse.issparse(found)
        found = found.toarray()
    for row, unit in zip(X, found, strict=True):
        u = np.sqrt(row) if root else row - origin
        length = np.linalg.norm(u)
        np.testing.assert_allclose(unit, u / length if length else 0 * u, atol=1e-12)


def test_zero_rows_stay_zero_and_large_rows_do_not_overflow():
    X = np.array([[0, 0], [3e38, -3e38], [1e-38, 0]], dtype=np.float32)
    found = unit_rows(X, np.zeros(2))
    np.testing.assert_allclose(found, [[0, 0], [np.sqrt(0.5), -np.sqrt(0.5)], [1, 0]], rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(unit_rows(X, None), axis=1), [0, 1, 1], rtol=1e-6)


@pytest.mark.parametrize("metric", ["cosine", "root-cosine"])
@pytest.mark.parametrize("features", ["linear", "kernel"])
def test_the_state_of_a_unit_map_gives_the_same_map(rng, metric, features):
    X = rng.random((30, 5))
    fitted = fit_representation(X, Representation(features, metric, 0.5), X[:8], who="test")
    assert isinstance(fitted, UnitMap)
    again = UnitMap.from_state(*fitted.state())
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    assert (again.n_features_in, again.n_features_out) == (5, 5 if features == "linear" else 8)


def test_a_damaged_state_is_an_error(rng):
    X = rng.random((30, 5))
    parameters, arrays = fit_representation(X, Representation("linear", "cosine"), None, who="test").state()
    for damaged in (
        {},
        parameters | {"inner": "unit"},
        parameters | {"inner": 3},
        parameters | {"inner_parameters": 1},
    ):
        with pytest.raises(ModelFileError, match="unit map are damaged"):
            UnitMap.from_state(damaged, arrays)
    with pytest.raises(ModelFileError, match="do not fit together"):
        UnitMap.from_state(parameters, arrays | {"origin": np.zeros(4)})
    with pytest.raises(ModelFileError):
        UnitMap.from_state(parameters | {"inner": "unknown"}, arrays)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("features", ["linear", "kernel"])
def test_sparse_rows_give_the_same_centred_features(rng, metric, features):
    if features == "linear" and metric in ("hellinger", "mahalanobis"):
        pytest.skip("for kernel features only")
    X = rng.random((60, 6)) * (rng.random((60, 6)) < 0.6) + 0.01 * np.eye(60, 6)
    how = Representation(features, metric, 2.0)
    dense, sparse = (
        fit_representation(rows, how, X[:10], who="test") for rows in (X, scipy.sparse.csr_array(X))
    )
    P, t = rng.normal(size=(3, dense.n_features_out)), rng.normal(size=3)
    values = dense.project(X, P, t)
    np.testing.assert_allclose(sparse.project(scipy.sparse.csr_array(X), P, t), values, atol=1e-6)
    np.testing.assert_allclose(values.mean(axis=0), t, atol=1e-6)


def test_width_multiplies_the_median_squared_distance_of_landmarks(rng):
    X = rng.normal(size=(50, 3))
    landmarks = X[:9]
    squares = ((landmarks[:, None] - landmarks) ** 2).sum(axis=2)[np.triu_indices(9, 1)]
    found = fit_representation(X, Representation("kernel", "euclidean", 4.0), landmarks, who="test")
    assert isinstance(found, KernelMap)
    assert found.bandwidth == pytest.approx(4 * np.median(squares))
    unit = unit_rows(landmarks, X.mean(axis=0))
    squares = ((unit[:, None] - unit) ** 2).sum(axis=2)[np.triu_indices(9, 1)]
    found = fit_representation(X, Representation("kernel", "cosine", 0.25), landmarks, who="test")
    assert found.inner.bandwidth == pytest.approx(np.median(squares) / 4)


def test_errors_name_the_modality(rng):
    with pytest.raises(InputError, match=r"^modality 'x': metric 'root-cosine' needs"):
        fit_representation(
            rng.normal(size=(9, 2)), Representation("linear", "root-cosine"), None, who="modality 'x'"
        )
    for metric in ("euclidean", "diagonal", "cosine"):
        with pytest.raises(InputError, match=r"^modality 'x': "):
            fit_representation(np.ones((9, 2)), Representation("linear", metric), None, who="modality 'x'")


def test_a_unit_map_of_a_linear_map_is_the_cosine():
    X = np.array([[1.0, 0.0], [5.0, 5.0]])
    unit = UnitMap(LinearMap(np.zeros(2)), np.zeros(2)).transform(X)
    assert unit[0] @ unit[1] == pytest.approx(np.sqrt(0.5))
