"""Hash functions that are prepared once give what map, projection and threshold say."""

import pickle

import numpy as np
import pytest

import diffhash as dh
from diffhash.codes import unpack
from diffhash.errors import NonFiniteError
from diffhash.maps import KernelMap, LinearMap, PreparedEncoder, UnitMap, prepared_encoder

N_BITS = 11


def make_map(kind, X):
    if kind == "centred":
        return LinearMap.fit(X)
    if kind == "standardised":
        return LinearMap.fit(X, standardize=True)
    if kind == "whitened":
        root = np.linalg.inv(np.linalg.cholesky(np.cov(X.T)))
        return LinearMap(X.mean(axis=0), root @ root.T)
    if kind == "unit":
        return UnitMap(LinearMap.fit(X), X.mean(axis=0))
    return KernelMap.fit(X, X[:20], center=kind == "centred kernel")


@pytest.mark.parametrize("kind", ["centred", "standardised", "whitened", "unit", "kernel", "centred kernel"])
@pytest.mark.parametrize("mean", [0.0, 1.0, 1e4])
def test_projections_are_those_of_the_mapped_features(kind, mean):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * [1, 2, 3, 4, 5, 6] + mean
    fitted = make_map(kind, X)
    P, a = rng.normal(size=(N_BITS, fitted.n_features_out)), rng.normal(size=N_BITS)
    encoder = PreparedEncoder(fitted, P, a, X.dtype)

    values = encoder.project(X)

    np.testing.assert_allclose(values, fitted.transform(X) @ P.T + a, atol=1e-9)
    np.testing.assert_array_equal(unpack(encoder.encode(X), N_BITS), values >= 0)


def test_float32_rows_far_from_zero_keep_their_digits():
    """Means of thousands of standard deviations are subtracted before the product, not after it."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 8)) + 3e4).astype(np.float32)
    P = rng.normal(size=(N_BITS, 8))
    fitted = LinearMap.fit(X, standardize=True)

    values = PreparedEncoder(fitted, P, np.zeros(N_BITS), X.dtype).project(X)

    exact = ((X.astype(np.float64) - fitted.mean) * fitted.scale) @ P.T
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, exact, atol=0.02)


def test_blocks_and_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 16)).astype(np.float32)
    function = LinearMap.fit(X, standardize=True), rng.normal(size=(N_BITS, 16)), np.zeros(N_BITS)
    whole = PreparedEncoder(*function, X.dtype).encode(X)
    monkeypatch.setattr(prepared_encoder, "_BLOCK_SIZE", 16 * 7)
    monkeypatch.setattr(prepared_encoder, "_MIN_THREADED_SIZE", 1)
    monkeypatch.setenv("DIFFHASH_NUM_THREADS", "3")

    in_parts = PreparedEncoder(*function, X.dtype).encode(X)

    assert np.mean(in_parts == whole) > 0.999


@pytest.fixture
def model():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 6)).astype(np.float32)
    return dh.DiffHash(4).fit({"x": X, "y": X}, dh.Pairs.aligned(200)).model_


@pytest.mark.parametrize("row", [0, 50_000, 99_999])
def test_encode_names_the_row_of_a_value_that_is_not_finite(model, row):
    """Blocks are checked one by one; the message counts rows from the first one."""
    X = np.ones((100_000, 6), dtype=np.float32)
    X[row, 3] = np.nan

    with pytest.raises(NonFiniteError, match=rf"NaN in row {row}, feature 3 \(the only such value\)"):
        model.encode(X, modality="x")


@pytest.mark.parametrize("unusual", [1e30, 1e-30])
def test_encode_uses_float64_if_a_block_is_out_of_the_range_of_float32(model, unusual):
    X = np.random.default_rng(3).normal(size=(100_000, 6)).astype(np.float32)
    X[70_000:] *= np.float32(unusual)
    wide = X.astype(np.float64) if unusual > 1 else X

    assert np.mean(model.encode(X, modality="x") == model.encode(wide, modality="x")) > 0.9999


def test_encode_of_no_rows_gives_no_codes(model):
    assert model.encode(np.empty((0, 6)), modality="x").shape == (0, 1)


def test_a_model_that_has_encoded_can_be_pickled(model):
    """Workers of a cluster get models by pickle."""
    X = np.random.default_rng(4).normal(size=(50, 6)).astype(np.float32)
    codes = model.encode(X, modality="x")

    again = pickle.loads(pickle.dumps(model))

    np.testing.assert_array_equal(again.encode(X, modality="x"), codes)
