"""``Pairs.sample``: distinct pairs of the right kind, each with equal chance."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import PairsError

from ..strategies import problems


def listed(index):
    return list(zip(*(side.tolist() for side in index), strict=True))


def rows_of(problem):
    return len(problem.x) if problem.one_view else (len(problem.x), len(problem.y))


@given(problems(), st.data(), st.integers(0, 2**31))
def test_a_sample_has_distinct_pairs_of_the_right_kind(problem, data, seed):
    n_positive = data.draw(st.integers(0, len(problem.positive)))
    n_negative = data.draw(st.integers(0, len(problem.negative)))

    sample = problem.pairs.sample(n_positive, n_negative, seed, n_rows=rows_of(problem))

    for index, whole, n in (
        (sample.positive, problem.positive, n_positive),
        (sample.negative, problem.negative, n_negative),
    ):
        assert len(index[0]) == n
        assert len(set(listed(index))) == n
        assert set(listed(index)) <= whole


@given(problems(), st.integers(0, 2**31))
def test_a_sample_of_all_pairs_is_all_pairs(problem, seed):
    n_positive, n_negative = len(problem.positive), len(problem.negative)

    sample = problem.pairs.sample(n_positive, n_negative, seed, n_rows=rows_of(problem))

    assert set(listed(sample.positive)) == problem.positive
    assert set(listed(sample.negative)) == problem.negative


@pytest.mark.parametrize(
    ("pairs", "n_rows"),
    [
        (dh.Pairs.aligned(5), None),
        (dh.Pairs(([0, 1, 2], [3, 1, 0])), (4, 5)),
        (dh.Pairs(([0, 1, 2], [3, 2, 3])), 5),
        (dh.Pairs(([0, 1, 2], [3, 2, 3]), ([0, 0, 1, 2], [1, 2, 0, 0])), None),
        (dh.Pairs.from_labels([0, 0, 1, 2, 2], [0, 1, 1, 2]), None),
        (dh.Pairs.from_labels([0, 0, 1, 2, 2]), None),
        (dh.Pairs.from_labels(np.array([[1, 0], [1, 1], [0, 1], [0, 0]], dtype=bool)), None),
    ],
    ids=["aligned", "rest", "rest in one view", "listed", "labels", "labels of one view", "sets"],
)
def test_every_pair_has_the_same_chance(pairs, n_rows):
    """3,000 draws of two pairs: counts are within five standard deviations of equal ones."""
    draws = 3000
    counts = {"positive": Counter(), "negative": Counter()}
    for seed in range(draws):
        sample = pairs.sample(2, 2, seed, n_rows=n_rows)
        counts["positive"].update(listed(sample.positive))
        counts["negative"].update(listed(sample.negative))
    everything = pairs.sample(len(counts["positive"]), len(counts["negative"]), 0, n_rows=n_rows)

    for name, index in (("positive", everything.positive), ("negative", everything.negative)):
        assert set(counts[name]) == set(listed(index))
        chance = 2 / len(counts[name])
        deviation = np.sqrt(draws * chance * (1 - chance))
        for pair, count in counts[name].items():
            assert abs(count - draws * chance) <= 5 * deviation, (name, pair)


def test_the_same_seed_draws_the_same_pairs():
    pairs = dh.Pairs.aligned(1000)

    first, second, other = (pairs.sample(20, 30, seed) for seed in (7, 7, 8))

    assert listed(first.negative) == listed(second.negative)
    assert listed(first.negative) != listed(other.negative)


def test_negatives_of_many_rows_are_not_enumerated():
    """10¹² pairs: a list of them would not fit into any memory."""
    sample = dh.Pairs.aligned(1_000_000).sample(10, 1000, 0)

    assert len(set(listed(sample.negative))) == 1000
    assert all(i != j for i, j in listed(sample.negative))


def test_labels_of_one_view_give_unordered_pairs():
    sample = dh.Pairs.from_labels([0, 0, 0, 1]).sample(3, 3, 0)

    assert set(listed(sample.positive)) == {(0, 1), (0, 2), (1, 2)}
    assert set(listed(sample.negative)) == {(0, 3), (1, 3), (2, 3)}


@pytest.mark.parametrize(
    ("pairs", "wanted", "words"),
    [
        (dh.Pairs.aligned(3), (4, 1), "4 positive pairs were asked for, but there are only 3"),
        (dh.Pairs.aligned(3), (1, 7), "7 negative pairs were asked for, but there are only 6"),
        (dh.Pairs(([0], [0])), (1, 1), "n_rows"),
        (dh.Pairs.aligned(3), (-1, 1), "n_positive"),
    ],
    ids=["positive", "negative", "rows", "below zero"],
)
def test_a_sample_that_cannot_be_drawn_is_refused(pairs, wanted, words):
    with pytest.raises((PairsError, ValueError), match=words):
        pairs.sample(*wanted, 0)
