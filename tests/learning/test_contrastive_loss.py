"""The softmax loss over the pairs of all couples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.hashers.refined.couple_scores import found_early
from diffhash.learning.contrastive_loss import ContrastiveLoss, can_be_contrasted
from diffhash.pairs.couples import ResolvedCouple, ResolvedCouples
from tests.reference import contrastive as reference

index = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=9, unique=True)


def couple(sides, listed, n_rows, weight=1.0, weights=None):
    i, j = (np.array(side) for side in zip(*listed, strict=True))
    sizes = (n_rows[0],) if sides[0] == sides[1] else [n_rows[side] for side in sides]
    pairs = dh.Pairs(positive=(i, j), weights=weights).resolve(*sizes)
    return ResolvedCouple(*sides, weight, pairs)


def relaxed(n_rows, n_bits, seed):
    rng = np.random.default_rng(seed)
    return [np.tanh(rng.normal(size=(n, n_bits))) for n in n_rows]


@given(index, index, st.integers(1, 9), st.sampled_from([0.5, 1.0, 3.0]), st.integers(0, 99))
def test_loss_equals_the_sum_over_pairs(first, second, n_bits, contrast, seed):
    """Several pairs of one object, weights of pairs and of couples included."""
    n_rows = (6, 5, 5)
    weights = np.random.default_rng(seed).uniform(0.1, 2.0, len(first))
    couples = ResolvedCouples(
        n_rows, (couple((0, 1), first, n_rows, 2.0, weights), couple((0, 2), second, n_rows))
    )
    codes = relaxed(n_rows, n_bits, seed)

    value, _ = ContrastiveLoss(couples, n_bits, contrast, random_state=0)(codes)

    assert value == pytest.approx(reference.softmax_loss(codes, couples, contrast), rel=1e-9, abs=1e-12)


@given(index, st.integers(1, 5), st.integers(0, 99))
def test_gradient_is_that_of_the_loss(listed, n_bits, seed):
    n_rows = (6, 5)
    loss = ContrastiveLoss(
        ResolvedCouples(n_rows, (couple((0, 1), listed, n_rows),)), n_bits, 2.0, random_state=0
    )
    codes = relaxed(n_rows, n_bits, seed)
    steps = relaxed(n_rows, n_bits, seed + 1)

    _, gradients = loss(codes)

    moved = [loss([c + sign * 1e-5 * s for c, s in zip(codes, steps, strict=True)])[0] for sign in (1, -1)]
    expected = sum(float(np.vdot(g, s)) for g, s in zip(gradients, steps, strict=True))
    assert (moved[0] - moved[1]) / 2e-5 == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_rows_of_one_object_are_not_compared_with_each_other():
    """Two pictures and two captions of one object are four positive pairs; two of them share no row."""
    n_rows = (3, 3)
    couples = ResolvedCouples(n_rows, (couple((0, 1), [(0, 0), (0, 1), (1, 0), (1, 1)], n_rows),))

    value, gradients = ContrastiveLoss(couples, 4, 1.0, random_state=0)(relaxed(n_rows, 4, 0))

    assert value == pytest.approx(0.0)
    assert all(np.allclose(gradient, 0.0) for gradient in gradients)


def test_pairs_within_a_modality_are_not_compared_with_themselves():
    n_rows = (6,)
    couples = ResolvedCouples(n_rows, (couple((0, 0), [(0, 1), (1, 2), (3, 4)], n_rows),))
    codes = relaxed(n_rows, 7, 0)

    value, _ = ContrastiveLoss(couples, 7, 1.0, random_state=0)(codes)

    assert value == pytest.approx(reference.softmax_loss(codes, couples, 1.0))


def test_many_pairs_are_compared_in_blocks():
    """The loss of 1,200 pairs is a mean over blocks: near that of each block of a third, below that of all."""
    n = 1200
    codes = relaxed((n, n), 16, 0)
    couples = ResolvedCouples.of_pairs(dh.Pairs.aligned(n).resolve(n, n))

    value, _ = ContrastiveLoss(couples, 16, 1.0, random_state=0)(codes)

    similarities = codes[0] @ codes[1].T / 4
    whole = 2 * np.log(np.exp(similarities).sum(axis=1)).mean() - 2 * np.diagonal(similarities).mean()
    assert whole - 2 * np.log(3) - 0.1 < value < whole - 2 * np.log(3) + 0.1


def test_listed_negatives_and_labels_are_left_to_the_squared_loss():
    listed = dh.Pairs(positive=([0], [0]), negative=([1], [1])).resolve(2, 2)
    labelled = dh.Pairs.from_labels([0, 1], [0, 1]).resolve(2, 2)

    assert can_be_contrasted(ResolvedCouples.of_pairs(dh.Pairs.aligned(2).resolve(2, 2)))
    assert not can_be_contrasted(ResolvedCouples.of_pairs(listed))
    assert not can_be_contrasted(ResolvedCouples.of_pairs(labelled))


@given(index, st.integers(1, 6), st.integers(0, 99))
def test_partners_found_early_equal_a_count_over_queries(listed, first, seed):
    """Short codes, so that many items are at equal distances."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 8, (6, 1), dtype=np.uint8), rng.integers(0, 8, (5, 1), dtype=np.uint8)
    couples = ResolvedCouples((6, 5), (couple((0, 1), listed, (6, 5)),))

    found = found_early([x, y], couples, first)

    distances = np.bitwise_count(x ^ y.T).tolist()
    there = [[j for i, j in listed if i == query] for query in range(6)]
    back = [[i for i, j in listed if j == query] for query in range(5)]
    flipped = [list(column) for column in zip(*distances, strict=True)]
    expected = (
        reference.found_early(distances, there, first) + reference.found_early(flipped, back, first)
    ) / 2
    assert found == {(0, 1): pytest.approx(expected)}
