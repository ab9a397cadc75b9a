"""Behaviour of DiffHash, KernelDiffHash and BoostedHash that other hashers do not have."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import diffhash as dh
from diffhash.errors import ModelFileError, ParameterError, RankWarning, TooManyBitsError


def test_projections_are_orthonormal_and_singular_values_sorted(small_data, small_pairs):
    hasher = dh.DiffHash(n_bits=10).fit(small_data.train.views, small_pairs)
    for P in hasher.projections_.values():
        np.testing.assert_allclose(P @ P.T, np.eye(10), atol=1e-8)
    assert np.all(np.diff(hasher.singular_values_) <= 0)


def test_an_error_about_too_many_bits_shows_the_limit_and_how_to_get_more(small_data, small_pairs):
    with pytest.raises(
        TooManyBitsError, match=r"n_bits=65 .* limit of 64 .*64 features of 'y'.*KernelDiffHash"
    ):
        dh.DiffHash(n_bits=65).fit(small_data.train.views, small_pairs)
    with pytest.raises(
        TooManyBitsError, match=r"n_bits=31 .* limit of 30 .*30 features of 'y'.*more landmarks"
    ):
        dh.KernelDiffHash(n_bits=31, n_landmarks={"x": 40, "y": 30}).fit(small_data.train.views, small_pairs)


def test_more_bits_than_the_rank_give_a_warning(small_data):
    """Five classes determine four directions; all others are arbitrary."""
    labels = small_data.train.labels
    with pytest.warns(RankWarning, match="determine only 4 of the 6 bits"):
        dh.DiffHash(n_bits=6).fit(small_data.train.views, dh.Pairs.from_labels(labels["x"], labels["y"]))


@pytest.mark.parametrize("gamma", [-1.0, np.nan, "10", None])
def test_gamma_must_be_a_number(small_data, small_pairs, gamma):
    with pytest.raises(ParameterError, match="gamma"):
        dh.DiffHash(n_bits=4, gamma=gamma).fit(small_data.train.views, small_pairs)


def test_infinite_gamma_needs_negatives_only_for_joint_thresholds(small_data):
    i = np.arange(400)
    only_positive = dh.Pairs(positive=(i, i), negative=([], []))
    hasher = dh.DiffHash(n_bits=4, gamma=np.inf, thresholds="zero").fit(small_data.train.views, only_positive)
    assert hasher.projections_["x"].shape == (4, 128)
    with pytest.raises(dh.errors.PairsError, match="no negative pair"):
        dh.DiffHash(n_bits=4, gamma=np.inf).fit(small_data.train.views, only_positive)


def test_infinite_gamma_and_parameters_by_modality_can_be_saved(small_data, small_pairs, tmp_path):
    hasher = dh.KernelDiffHash(
        n_bits=3,
        gamma=np.inf,
        landmarks={"x": small_data.train.views["x"][:20], "y": "kmeans"},
        n_landmarks={"x": 5, "y": 10},
        bandwidth={"x": 50.0, "y": "median"},
    ).fit(small_data.train.views, small_pairs)
    hasher.save(tmp_path / "m")
    loaded = dh.load(tmp_path / "m")
    assert loaded.gamma == np.inf
    assert loaded.bandwidth == {"x": 50.0, "y": "median"}
    np.testing.assert_array_equal(loaded.landmarks["x"], small_data.train.views["x"][:20])
    assert loaded.maps_["x"].n_features_out == 20
    assert loaded.maps_["y"].n_features_out == 10


def test_kernel_functions_must_be_passed_to_load(small_data, small_pairs, tmp_path):
    def linear(X, landmarks):
        return X @ landmarks.T

    hasher = dh.KernelDiffHash(n_bits=3, n_landmarks=20, kernel={"x": linear, "y": "gaussian"})
    hasher.fit(small_data.train.views, small_pairs).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="kernel function of your own"):
        dh.load(tmp_path / "m")
    loaded = dh.load(tmp_path / "m", kernel={"x": linear})
    X = small_data.test.views["x"]
    np.testing.assert_array_equal(loaded.encode(X, modality="x"), hasher.encode(X, modality="x"))


def test_difference_statistic_needs_one_view(small_data, small_pairs):
    with pytest.raises(ParameterError, match="one view"):
        dh.DiffHash(n_bits=4, statistic="difference").fit(small_data.train.views, small_pairs)
    labels, X = small_data.train.labels["x"], small_data.train.views["x"]
    hasher = dh.DiffHash(n_bits=4, statistic="difference").fit({"x": X}, dh.Pairs.from_labels(labels))
    truth, codes = small_data.test.labels["x"], hasher.encode(small_data.test.views["x"])
    assert dh.evaluate(codes, codes, truth, truth).mean_average_precision > 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"thresholds": "best"}, "thresholds must be one of"),
        ({"miss_weight": 0}, "miss_weight"),
        ({"min_share": 0.6}, "min_share"),
        ({"n_bins": 3}, "n_bins"),
        ({"n_bins": 257}, "n_bins must be at most 256"),
        ({"center": "yes"}, "center must be True or False"),
        ({"center": {"x": True}}, "center given by modality must name 'x', 'y'"),
        ({"shrinkage": 2.0}, "shrinkage"),
        ({"statistic": "ratio"}, "statistic must be one of"),
    ],
)
def test_bad_parameters_of_diff_hash_raise_an_error(small_data, small_pairs, parameters, message):
    with pytest.raises(ParameterError, match=message):
        dh.DiffHash(n_bits=4, **parameters).fit(small_data.train.views, small_pairs)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_landmarks": 0}, "n_landmarks"),
        ({"landmarks": "best"}, "landmarks must be one of"),
        ({"landmarks": {"x": np.ones((3, 128)), "y": "random"}}, "only 1 are different"),
        ({"metric": "manhattan"}, "metric must be one of"),
        ({"bandwidth": 0.0}, "bandwidth"),
        ({"bandwidth": "wide"}, "bandwidth must be one of"),
        ({"kernel": "linear"}, "kernel must be"),
        ({"width": 0.0}, "width"),
        ({"width": 2.0, "bandwidth": "median"}, "Give only one of them"),
        ({"shrinkage": "much"}, "shrinkage must be one of"),
    ],
)
def test_bad_parameters_of_kernel_diff_hash_raise_an_error(small_data, small_pairs, parameters, message):
    with pytest.raises(ParameterError, match=message):
        dh.KernelDiffHash(**{"n_bits": 4, "n_landmarks": 50, **parameters}).fit(
            small_data.train.views, small_pairs
        )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_directions": 0}, "n_directions"),
        ({"sample_size": 100}, "sample_size must be two numbers"),
        ({"sample_size": (0, 5)}, "sample_size"),
        ({"n_bins": 1000}, "n_bins"),
        ({"min_share": -0.1}, "min_share"),
    ],
)
def test_bad_parameters_of_boosted_hash_raise_an_error(small_data, small_pairs, parameters, message):
    with pytest.raises(ParameterError, match=message):
        dh.BoostedHash(n_bits=2, **parameters).fit(small_data.train.views, small_pairs)


def test_boosted_codes_may_be_longer_than_the_features(small_data, small_pairs):
    hasher = dh.BoostedHash(n_bits=70, sample_size=(200, 500)).fit(small_data.train.views, small_pairs)
    assert hasher.encode(small_data.test.views["y"], modality="y").shape == (200, 9)
    assert hasher.correlations_.shape == (70,)


def test_pairs_of_aligned_rows_are_not_listed():
    """30,000 aligned rows have 9e8 pairs; the fit neither lists nor samples them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30_000, 6)).astype(np.float32)
    y = (x @ rng.normal(size=(6, 5))).astype(np.float32)
    hasher = dh.DiffHash(n_bits=5).fit({"x": x, "y": y}, dh.Pairs.aligned(30_000))
    distance = np.bitwise_count(hasher.encode(x, modality="x") ^ hasher.encode(y, modality="y")).mean()
    assert distance < 1.5


def test_with_whitening_the_default_bandwidth_is_the_median():
    rng = np.random.default_rng(0)
    views = {m: rng.normal(size=(80, 5)) for m in ("x", "y")}

    def bandwidths(**settings):
        hasher = dh.KernelDiffHash(n_bits=4, n_landmarks=50, **settings)
        maps = hasher.fit(views, dh.Pairs.aligned(80)).maps_
        return [maps[m].bandwidth for m in ("x", "y")]

    balanced, median = bandwidths(bandwidth="balanced"), bandwidths(bandwidth="median")
    assert balanced != median
    assert bandwidths() == balanced
    assert bandwidths(whiten=True) == median
    assert bandwidths(whiten={"x": True, "y": False}) == [median[0], balanced[1]]
    assert bandwidths(whiten=True, bandwidth="balanced") == balanced
    assert bandwidths(whiten=True, bandwidth={"x": "auto", "y": 2.5}) == [median[0], 2.5]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("metric", ["cosine", "root-cosine"])
def test_cosine_metrics_equal_the_kernel_of_rows_of_unit_length(metric, sparse, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 4
    X = rng.gamma(0.3 + np.eye(4)[labels] @ rng.random((4, 6)))
    rows = scipy.sparse.csr_array(X) if sparse else X
    pairs = dh.Pairs.from_labels(labels)
    hasher = dh.KernelDiffHash(n_bits=3, n_landmarks=40, metric=metric).fit({"x": rows}, pairs)
    unit = np.sqrt(X) if metric == "root-cosine" else X - X.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    plain = dh.KernelDiffHash(n_bits=3, n_landmarks=40, metric="euclidean").fit({"x": unit}, pairs)
    np.testing.assert_allclose(
        hasher.project(rows, modality="x"), plain.project(unit, modality="x"), atol=1e-8
    )
    assert hasher.n_landmarks_ == {"x": 40}
    hasher.save(tmp_path / "m.dhm")
    np.testing.assert_array_equal(
        dh.load(tmp_path / "m.dhm").encode(rows, modality="x"), hasher.encode(rows, modality="x")
    )


def test_root_cosine_needs_features_that_are_never_negative():
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(dh.errors.InputError, match=r"modality 'x'.*never negative"):
        dh.KernelDiffHash(n_bits=2, metric="root-cosine").fit(
            {"x": X}, dh.Pairs.from_labels(np.arange(50) % 2)
        )
