"""Pairs: accepted and refused input, numbers of implied pairs, and drawing pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import InputError, PairsError, ParameterError
from diffhash.pairs.labels import MAX_LABEL_SETS, group_labels

from ..strategies import problems

CODES = np.array([[0], [1]], dtype=np.uint8)


def resolved_of(problem):
    return problem.pairs.resolve(len(problem.x), None if problem.one_view else len(problem.y))


@given(problems())
def test_counts_of_implied_pairs_are_exact(problem):
    resolved = resolved_of(problem)

    assert resolved.n_positive == len(problem.positive)
    assert resolved.n_negative == len(problem.negative)


@given(problems(), st.integers(0, 2**31))
def test_listed_draws_distinct_pairs_of_the_right_kind(problem, seed):
    resolved = resolved_of(problem)
    if not resolved.n_positive:
        return

    listed = resolved.listed(5, 7, np.random.default_rng(seed), caller="test")

    for index, whole, limit, given_list in (
        (listed.positive, problem.positive, 5, resolved.positive),
        (listed.negative, problem.negative, 7, resolved.negative),
    ):
        drawn = list(zip(*index, strict=True))
        assert set(drawn) <= whole
        assert len(set(drawn)) == len(drawn)
        assert len(drawn) == (len(given_list[0]) if given_list is not None else min(limit, len(whole)))


@given(problems(one_view=True))
def test_degrees_count_the_pairs_of_each_object(problem):
    for degrees, pairs in zip(
        resolved_of(problem).degrees(), (problem.positive, problem.negative), strict=True
    ):
        expected = [sum(r in pair for pair in pairs) for r in range(len(problem.x))]
        np.testing.assert_array_equal(degrees, expected)


@given(st.integers(0, 2**31), st.booleans(), st.booleans())
def test_drawing_as_many_pairs_as_there_are_gives_all_of_them(seed, multi, one_view):
    """Each pair is drawn once. One pair more than there are is an error."""
    rng = np.random.default_rng(seed)
    labels = rng.random((9, 3)) < 0.4 if multi else rng.integers(0, 3, size=9)
    whole = dh.Pairs.from_labels(labels) if one_view else dh.Pairs.from_labels(labels, labels)
    resolved = whole.resolve(9, None if one_view else 9)
    if not (resolved.n_positive and resolved.n_negative):
        return

    second = None if one_view else labels
    drawn = dh.Pairs.from_labels(labels, second, resolved.n_positive, resolved.n_negative, random_state=seed)

    assert len(set(zip(*drawn.positive, strict=True))) == resolved.n_positive
    assert len(set(zip(*drawn.negative, strict=True))) == resolved.n_negative
    with pytest.raises(PairsError, match=f"only {resolved.n_positive}"):
        dh.Pairs.from_labels(labels, second, resolved.n_positive + 1, random_state=seed)


def test_every_similar_pair_is_equally_likely_to_be_drawn():
    """A pair with several common labels must not be drawn more often than others."""
    labels = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=bool)
    counts = np.zeros((4, 4))
    for seed in range(600):
        i, j = dh.Pairs.from_labels(labels, labels, n_positive=1, n_negative=1, random_state=seed).positive
        counts[i[0], j[0]] += 1

    similar = (labels.astype(int) @ labels.T) > 0
    assert not counts[~similar].any()
    assert counts[similar].min() > 0.5 * 600 / similar.sum()
    assert counts[similar].max() < 1.6 * 600 / similar.sum()


def test_with_sampled_positives_the_negatives_are_still_all_pairs_without_a_common_label():
    labels = np.repeat([0, 1, 2], 10)
    pairs = dh.Pairs.from_labels(labels, labels, n_positive=5, random_state=0)

    assert len(pairs.positive[0]) == 5
    assert pairs.negative is None
    assert pairs.resolve(30, 30).n_negative == 30 * 30 - 3 * 100


def test_the_same_seed_draws_the_same_pairs():
    labels = np.arange(50) % 5
    first, again, other = (
        dh.Pairs.from_labels(labels, labels, 40, 60, random_state=seed).positive for seed in (4, 4, 5)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_labels_may_be_strings():
    assert dh.Pairs.from_labels(["a", "b"], ["b", "c", "b"]).resolve(2, 3).n_positive == 2


def test_an_error_about_too_many_label_sets_recommends_sampling(monkeypatch):
    monkeypatch.setattr("diffhash.pairs.labels.MAX_LABEL_SETS", 3)
    labels = np.eye(5, dtype=bool)

    with pytest.raises(PairsError, match=r"5 distinct sets.*n_positive and n_negative"):
        dh.Pairs.from_labels(labels, labels)
    drawn = dh.Pairs.from_labels(labels, labels, n_positive=3, n_negative=3, random_state=0)
    assert len(drawn.positive[0]) == 3
    assert MAX_LABEL_SETS > 1000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dh.Pairs(positive=5), "tuple"),
        (lambda: dh.Pairs(positive=([0, 1], [0])), "same length"),
        (lambda: dh.Pairs(positive=([0.5], [1.0])), "whole numbers"),
        (
            lambda: dh.Pairs(positive=([0], [9])).resolve(3, 3),
            "row 9 of the second view, which has rows 0 to 2",
        ),
        (lambda: dh.Pairs(positive=([-1], [0])).resolve(3, 3), "row -1 of the first view"),
        (
            lambda: dh.Pairs(([0, 1], [0, 1]), ([1], [1])).resolve(3, 3),
            r"both positive and negative.*\(1, 1\)",
        ),
        (lambda: dh.Pairs.aligned(4).resolve(4, 5), "4 aligned rows"),
        (lambda: dh.Pairs.aligned(4).resolve(4), "one view"),
        (lambda: dh.Pairs.aligned(0), ">= 1"),
        (lambda: dh.Pairs.from_labels([0, 1], [[True], [False]]), "same form"),
        (lambda: dh.Pairs.from_labels([0, np.nan]), "NaN in row 1"),
        (lambda: dh.Pairs.from_labels([0, 1], ["a", "b"]), "cannot be compared"),
        (lambda: dh.Pairs.from_labels([[0, 2]], [[0, 1]]), "only 0 and 1"),
        (lambda: dh.Pairs.from_labels([], []), "labels are empty"),
        (lambda: dh.Pairs.from_labels([0, 1], [0, 1]).resolve(2, 3), "labels for 2 and 2"),
        (lambda: dh.Pairs.from_labels([0, 1], [1, 0]).resolve(2), "leave out the second"),
        (lambda: dh.Pairs.from_labels([0, 1], [0, 1], n_positive=0), ">= 1"),
    ],
)
def test_bad_pairs_raise_an_error_that_names_the_problem(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_equal_labels_of_both_views_have_the_same_group_number():
    groups = group_labels(["b", "a"], ["c", "b"], caller="test")
    assert groups.x.tolist() == [1, 0]
    assert groups.y.tolist() == [2, 1]


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


class Tensor:
    """Behaves as a torch tensor that requires grad."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def detach(self):
        return self

    cpu = detach


@pytest.mark.parametrize(
    "act",
    [
        lambda t: dh.Pairs((t, t)),
        lambda t: dh.Pairs(([0], [0]), (t, t)),
        lambda t: dh.Pairs.from_labels(t, t),
        lambda t: dh.evaluate(CODES, CODES, t, t),
        lambda t: dh.evaluate(CODES, CODES, relevant=(t, t)),
        lambda t: dh.evaluate(CODES, CODES, [0, 1], [0, 1], own=t),
        lambda t: dh.asymmetric_search(t, CODES, k=1),
    ],
)
def test_tensors_that_numpy_cannot_read_get_our_error(act):
    with pytest.raises(InputError, match=r"x\.detach\(\)\.cpu\(\)"):
        act(Tensor())


@pytest.mark.parametrize("n_rows", [[10, 10], (10, 10), np.array([10, 10])])
def test_sample_takes_any_sequence_of_row_numbers(n_rows):
    sampled = dh.Pairs(([0, 1], [0, 1])).sample(2, 3, random_state=0, n_rows=n_rows)

    assert len(sampled.negative[0]) == 3


@pytest.mark.parametrize("n_rows", [(10, 10, 10), "ab", (10.0, 10.0), -1, (), (10, 0)])
def test_sample_refuses_other_row_numbers(n_rows):
    with pytest.raises((PairsError, ParameterError), match=r"Pairs\.sample: n_rows"):
        dh.Pairs(([0, 1], [0, 1])).sample(1, 1, n_rows=n_rows)
