"""Rank correlation of Hamming distances with the distances within a modality."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import InputError, ParameterError, UnknownModalityError
from diffhash.evaluation import model_rank_correlations, rank_correlation
from diffhash.evaluation.rank_correlation import mid_ranks
from tests.reference import rank_correlation as reference


def euclidean(x, y):
    return float(np.sqrt(((x - y) ** 2).sum()))


def manhattan(X, Y):
    return np.abs(X[:, None] - Y).sum(axis=2)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 9), n_bytes=st.integers(1, 3), d=st.integers(1, 4))
def test_all_pairs_give_what_the_loop_gives(seed, n, n_bytes, d):
    """Few different values, so that both kinds of distances have ties."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, size=(n, n_bytes), dtype=np.uint8)
    X = rng.integers(0, 3, size=(n, d)).astype(float)
    X[0] += 7  # no feature is constant

    for metric, of_pair in (
        ("euclidean", euclidean),
        (manhattan, lambda x, y: float(np.abs(x - y).sum())),
    ):
        found = rank_correlation(codes, X, metric=metric)
        expected = reference.of_codes(codes, X, of_pair)
        assert found.n_pairs == n * (n - 1) // 2
        assert found.value == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_value_is_that_of_scipy(rng):
    X = rng.normal(size=(60, 5))
    codes = dh.codes.pack(X[:, :4] > 0)

    found = rank_correlation(codes, X, metric="diagonal")

    i, j = found.pairs
    hamming = np.bitwise_count(codes[i] ^ codes[j]).sum(axis=1)
    scaled = X / X.std(axis=0)
    expected = scipy.stats.spearmanr(hamming, np.linalg.norm(scaled[i] - scaled[j], axis=1)).statistic
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.value > 0.2


def test_tied_values_share_their_ranks():
    assert mid_ranks(np.array([3, 1, 3, 2])).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_pairs_are_different_and_bounded(rng):
    X = rng.normal(size=(300, 3))
    codes = dh.codes.pack(X > 0)

    found = rank_correlation(codes, X, n_objects=50, n_pairs=1_000)

    i, j = found.pairs
    assert found.n_pairs == len(set(zip(i.tolist(), j.tolist(), strict=True))) == 1_000
    assert np.all(i < j)
    assert len(np.unique([i, j])) <= 50
    everything = rank_correlation(codes, X).value
    assert found.value == pytest.approx(everything, abs=0.15)
    assert rank_correlation(codes, X, n_pairs=1_000, random_state=1).value != found.value


def test_sparse_features_give_what_dense_features_give(rng):
    X = np.maximum(rng.normal(size=(40, 6)), 0)
    codes = dh.codes.pack(X > 0.5)
    for metric in ("euclidean", "diagonal", "cosine", "root-cosine"):
        dense = rank_correlation(codes, X, metric=metric).value
        sparse = rank_correlation(codes, scipy.sparse.csr_array(X), metric=metric).value
        assert sparse == pytest.approx(dense, abs=1e-6)


def test_equal_codes_have_no_correlation(rng):
    found = rank_correlation(np.zeros((9, 1), np.uint8), rng.normal(size=(9, 2)))

    assert np.isnan(found.value)
    assert np.isnan(found.confidence_interval()).all()


def test_the_interval_contains_the_value_and_narrows_with_more_objects(rng):
    X = rng.normal(size=(400, 4))
    codes = dh.codes.pack(np.concatenate([X > 0, X > 0.5], axis=1))

    widths = []
    for n in (40, 400):
        found = rank_correlation(codes[:n], X[:n], n_pairs=20_000)
        low, high = found.confidence_interval()
        assert low < found.value < high
        widths.append(high - low)

    assert widths[1] < widths[0] / 2


def test_a_model_is_measured_in_every_modality(small_data, small_pairs):
    hasher = dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs)
    views = small_data.test.views

    for learned in (hasher, hasher.model_):
        found = model_rank_correlations(learned, views, metric={"x": "diagonal", "y": manhattan})
        assert set(found) == {"x", "y"}
        codes = hasher.encode(views["y"], modality="y")
        assert found["y"].value == rank_correlation(codes, views["y"], metric=manhattan).value
    with pytest.raises(UnknownModalityError, match=r"^model_rank_correlations: unknown modality 'z'"):
        model_rank_correlations(hasher, {"z": views["x"]})


def test_bad_input_is_refused():
    codes, X = np.zeros((3, 1), np.uint8), np.eye(3)
    with pytest.raises(InputError, match=r"same objects.*3 codes and 2 rows"):
        rank_correlation(codes, X[:2])
    with pytest.raises(InputError, match="at least 2"):
        rank_correlation(codes[:1], X[:1])
    with pytest.raises(ParameterError, match="metric must be one of"):
        rank_correlation(codes, X, metric="hamming")
    with pytest.raises(ParameterError, match="n_objects must be a whole number >= 2"):
        rank_correlation(codes, X, n_objects=1)
    with pytest.raises(ParameterError, match=r"shape \(3, 3\), got float64 of shape \(3,\)"):
        rank_correlation(codes, X, metric=lambda X, Y: np.zeros(3))
    with pytest.raises(ParameterError, match="NaN or infinity"):
        rank_correlation(codes, X, metric=lambda X, Y: np.full((3, 3), np.nan))
    with pytest.raises(ParameterError, match=r"returned -1\. Distances must not be negative"):
        rank_correlation(codes, X, metric=lambda X, Y: np.full((3, 3), -1.0))
