"""Traps that careful reading found, one test each."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import diffhash as dh
from diffhash.errors import InputError, PairsError, ParameterError
from diffhash.evaluation import evaluate_model
from diffhash.evaluation.pair_score import score_codes
from diffhash.learning.moments import PairMoments
from diffhash.maps import LinearMap
from diffhash.maps.landmarks import choose_landmarks


@pytest.mark.parametrize("sparse", [False, True])
def test_a_constant_feature_stays_constant_whatever_its_rounding(sparse):
    """The mean of many 0.1 is not 0.1: its variance must not become a scale of 10^12."""
    X = np.column_stack([np.full(100_000, 0.1), np.random.default_rng(0).normal(size=100_000)])
    fitted = LinearMap.fit(scipy.sparse.csr_array(X) if sparse else X, standardize=True)
    assert fitted.scale[0] == 1.0
    with pytest.raises(InputError, match="every feature is constant"):
        LinearMap.fit(np.full((100_000, 3), 0.1))


def test_sparse_float32_rows_far_from_zero_keep_their_digits():
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


def test_within_one_view_a_query_does_not_score_against_itself():
    codes = np.array([[0], [0], [255], [255]], dtype=np.uint8)
    assert score_codes(codes, codes, dh.Pairs(positive=([0, 2], [1, 3])).resolve(4)) == 1.0
    assert score_codes(codes, codes, dh.Pairs.from_labels([0, 0, 1, 1]).resolve(4)) == 1.0


def test_a_database_needs_its_labels_and_known_modalities(small_data, small_pairs):
    hasher = dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs)
    with pytest.raises(ParameterError, match="its labels, or neither"):
        evaluate_model(hasher, small_data.test.views, small_data.test.labels, database=small_data.train.views)
    with pytest.raises(InputError, match="unknown modality 'X'"):
        evaluate_model(hasher, {"X": small_data.test.views["x"]}, {"X": small_data.test.labels["x"]})


def test_nothing_relevant_has_no_equal_error_rate():
    codes = np.zeros((2, 1), np.uint8)
    assert np.isnan(dh.evaluate(codes, codes, [0, 0], [1, 1]).equal_error_rate)


def test_refined_hash_takes_similar_opposites_and_few_different_objects():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 4))
    opposites = np.concatenate([x, -x])
    i = np.arange(40)
    dh.RefinedHash(n_bits=4, features="linear").fit({"x": opposites}, dh.Pairs(positive=(i, i + 40)))
    kinds = rng.integers(0, 12, 300)
    views = {"x": np.eye(12)[kinds], "y": np.eye(12)[kinds] @ rng.normal(size=(12, 6))}
    hasher = dh.RefinedHash(n_bits=8).fit(views, dh.Pairs.from_labels(kinds, kinds))
    assert hasher.encode(views["x"], modality="x").shape == (300, 1)


def test_repeated_k_means_centres_are_told():
    X = np.repeat(np.random.default_rng(0).normal(size=(5, 3)), 40, axis=0)
    with pytest.raises(ParameterError, match="different centres"):
        choose_landmarks(X, 10, "kmeans", 0, caller="test", modality="x")


@pytest.mark.parametrize("seed", [-1, "a", 1.5])
def test_seeds_are_checked(small_data, small_pairs, seed):
    for make in (dh.BoostedHash, dh.RefinedHash, dh.KernelDiffHash):
        with pytest.raises(ParameterError, match="random_state"):
            make(n_bits=2, random_state=seed).fit(small_data.train.views, small_pairs)
    with pytest.raises(ParameterError, match="random_state"):
        dh.Pairs.from_labels([0, 1], [0, 1], 1, 1, random_state=seed)


def test_ragged_rows_masks_wild_kernels_and_gammas_get_one_clear_error(small_data, small_pairs):
    hasher = dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs)
    with pytest.raises(InputError, match="differ in length"):
        hasher.encode([[1.0, 2.0], [1.0]], modality="x")
    masked = np.ma.masked_greater(small_data.test.views["x"], 0)
    with pytest.raises(InputError, match="masked"):
        hasher.encode(masked, modality="x")
    with pytest.raises(ParameterError, match="NaN or infinity"):
        dh.KernelDiffHash(n_bits=2, n_landmarks=5, kernel=lambda X, z: np.full((len(X), len(z)), np.nan)).fit(
            small_data.train.views, small_pairs
        )
    with pytest.raises(ParameterError, match="gamma"):
        dh.DiffHash(n_bits=2, gamma=1e45).fit(small_data.train.views, small_pairs)


def test_parts_of_other_shapes_do_not_merge():
    one = dh.Pairs.aligned(4).resolve(4, 4).scheme
    three = dh.Pairs.from_labels([0, 1, 2, 0], [0, 1, 2, 0]).resolve(4, 4).scheme
    with pytest.raises(InputError, match="same views and groups"):
        PairMoments(one, np.zeros(2), np.zeros(2)).merge(PairMoments(three, np.zeros(2), np.zeros(2)))
    with pytest.raises(InputError, match="groups where labels imply"):
        PairMoments(three, np.zeros(2), np.zeros(2)).update(np.ones((4, 2)), np.ones((4, 2)))
    with pytest.raises(InputError, match="give y unless"):
        PairMoments(one, np.zeros(2), np.zeros(2)).update(np.ones((4, 2)))


def test_large_ids_are_different_labels():
    big = 2**60
    pairs = dh.Pairs.from_labels(np.array([big, big + 1]), np.array([big, big + 1], dtype=np.uint64))
    assert pairs.resolve(2, 2).n_positive == 2
    with pytest.raises(PairsError, match="below 2"):
        dh.Pairs.from_labels(np.array([1, 2]), np.array([2**63 + 1, 2], dtype=np.uint64))


def test_rare_negatives_are_drawn_without_listing_all_pairs():
    labels = np.zeros(100_000, dtype=int)
    labels[:20] = 1
    i, j = dh.Pairs.from_labels(labels, labels, 100, 1000, random_state=0).negative
    assert len(i) == 1000
    assert np.all(labels[i] != labels[j])


def test_as_many_classes_as_objects_are_summed_like_aligned_rows():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3000, 6)), rng.normal(size=(3000, 5))
    y[:, :3] += x[:, :3]
    labels = rng.permutation(3000)
    by_label = dh.DiffHash(n_bits=4).fit({"x": x, "y": y}, dh.Pairs.from_labels(labels, labels))
    aligned = dh.DiffHash(n_bits=4).fit({"x": x, "y": y}, dh.Pairs.aligned(3000))
    np.testing.assert_allclose(by_label.projections_["x"], aligned.projections_["x"], atol=1e-8)
