"""Directions are judged on pairs that they were not learned from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.learning.cross_fit import (
    N_SHUFFLES,
    CrossFit,
    Shrinkage,
    _shuffled_correlations,
    cross_fitted_strengths,
    pair_correlations,
    useful_rank,
)
from diffhash.learning.subspace import direction_weights, mean_partners
from diffhash.learning.view_difference import DifferenceSettings
from diffhash.pairs.couples import ResolvedCouples
from diffhash.pairs.holdout import hold_out
from tests.reference.cross_fit import slow_correlations, slow_strengths, slow_useful_rank
from tests.strategies import problems


@st.composite
def cross_fit_problems(draw):
    """Views with more rows than `problems` has, so that every fold has pairs; n < d and d < n."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    one_view = draw(st.booleans())
    kind = draw(st.sampled_from(["labels", "sets", "listed", "rest"] + ([] if one_view else ["aligned"])))
    n_x = draw(st.integers(12, 24))
    n_y = n_x if one_view or kind == "aligned" else draw(st.integers(12, 24))
    x = rng.normal(size=(n_x, draw(st.integers(2, 30))))
    y = x if one_view else rng.normal(size=(n_y, draw(st.integers(2, 30))))
    every = {(i, j) for i in range(n_x) for j in range(n_y) if not one_view or i < j}
    if kind == "aligned":
        positive = {(r, r) for r in range(n_x)}
        return x, y, dh.Pairs.aligned(n_x), positive, every - positive, one_view
    if kind in ("labels", "sets"):
        shape = (3,) if kind == "sets" else ()
        la, lb = ((rng.integers(0, 3 if kind == "labels" else 2, size=(n, *shape))) for n in (n_x, n_y))
        lb = la if one_view else lb
        if kind == "labels":
            positive = {(i, j) for i, j in every if la[i] == lb[j]}
        else:
            la, lb = la.astype(bool), lb.astype(bool)
            positive = {(i, j) for i, j in every if (la[i] & lb[j]).any()}
        return x, y, dh.Pairs.from_labels(la, None if one_view else lb), positive, every - positive, one_view
    order = [sorted(every)[k] for k in rng.permutation(len(every))]
    positive, negative = set(order[: len(every) // 3]), set(order[len(every) // 3 : len(every) // 2])
    columns = [tuple(np.array(sorted(part)).T) for part in (positive, negative)]
    if kind == "rest":
        return x, y, dh.Pairs(positive=columns[0]), positive, every - positive, one_view
    return x, y, dh.Pairs(positive=columns[0], negative=columns[1]), positive, negative, one_view


def resolved(problem):
    x, y, pairs, *_, one_view = problem
    return pairs.resolve(*((len(x),) if one_view else (len(x), len(y))), caller="test")


@settings(max_examples=60, deadline=None)
@given(
    cross_fit_problems(),
    st.tuples(*[st.sampled_from([None, 0.05, 0.5, "ledoit-wolf"])] * 2),
    st.integers(0, 1000),
)
def test_strengths_are_those_of_explicit_loops_over_held_out_pairs(problem, whiten, seed):
    x, y, _, positive, negative, one_view = problem
    whiten = (whiten[0], whiten[0]) if one_view else whiten
    pairs = resolved(problem)
    candidate = tuple(
        None if how is None else Shrinkage() if how == "ledoit-wolf" else Shrinkage(how) for how in whiten
    )

    found = cross_fitted_strengths(
        [x] if one_view else [x, y],
        ResolvedCouples.of_pairs(pairs),
        DifferenceSettings(2.0),
        [candidate[:1] if one_view else candidate],
        np.random.default_rng(seed),
    )

    folds = [
        (*split.fit_rows, *split.scored_rows)
        for split in hold_out(pairs, 0.25, 2000, np.random.default_rng(seed), 4)
    ]
    if not folds:
        assert found == []
        return
    expected = slow_strengths(x, y, positive, negative, folds, whiten, 2.0, one_view)
    assert len(found[0].strengths) == len(expected)
    np.testing.assert_allclose(found[0].strengths, expected, atol=1e-6)


@given(problems(), st.integers(1, 4))
def test_correlations_are_those_of_a_loop_over_pairs(problem, k):
    rng = np.random.default_rng(0)
    p = rng.normal(size=(len(problem.x), k))
    q = p if problem.one_view else rng.normal(size=(len(problem.y), k))
    pairs = problem.pairs.resolve(*((len(p),) if problem.one_view else (len(p), len(q))), caller="test")
    if problem.positive and problem.negative:
        expected = slow_correlations(p, q, problem.positive, problem.negative)
        np.testing.assert_allclose(pair_correlations(p, q, pairs), expected, atol=1e-9)


@given(problems(), st.integers(1, 3), st.integers(0, 1000))
def test_chance_is_that_of_loops_over_pairs_of_shuffled_objects(problem, k, seed):
    rng = np.random.default_rng(0)
    p = rng.normal(size=(len(problem.x), k))
    q = p if problem.one_view else rng.normal(size=(len(problem.y), k))
    pairs = problem.pairs.resolve(*((len(p),) if problem.one_view else (len(p), len(q))), caller="test")
    if not (problem.positive and problem.negative):
        return
    found = _shuffled_correlations(p, q, pairs, np.random.default_rng(seed))

    rng = np.random.default_rng(seed)
    for row in found[: min(3, N_SHUFFLES)]:
        order = rng.permutation(len(q))
        first, second = (p[order] if problem.one_view else p), q[order]
        expected = slow_correlations(first, second, problem.positive, problem.negative)
        np.testing.assert_allclose(row, expected, atol=1e-9)


@given(st.lists(st.tuples(st.integers(-8, 8), st.integers(0, 4)), min_size=1, max_size=12))
def test_the_useful_rank_is_the_best_of_all_numbers_of_directions(both):
    """Eighths are exact, so that ties are ties in both."""
    strengths, chance = np.array(both, dtype=float).T / 8

    assert useful_rank(strengths, chance) == slow_useful_rank(strengths, chance)


def test_a_constant_column_has_no_strength():
    pairs = dh.Pairs.aligned(5).resolve(5, 5, caller="test")
    assert pair_correlations(np.ones((5, 1)), np.arange(5.0)[:, None], pairs) == [0.0]


def embeddings(rng, n, d, n_classes, *, strength=1.0):
    """Two views of class means in a few dimensions, hidden among many noisy features."""
    labels = np.arange(n) % n_classes
    means = strength * rng.normal(size=(n_classes, 30))
    views = [
        (means[labels] + 0.7 * rng.normal(size=(n, 30))) @ rng.normal(size=(30, d))
        + 3 * rng.normal(size=(n, d))
        for _ in range(2)
    ]
    return (*views, labels)


def ranks(x, y, pairs, how=None):
    how = Shrinkage(factor=4.0) if how is None else how
    found = cross_fitted_strengths(
        [x, y],
        ResolvedCouples.of_pairs(pairs.resolve(len(x), len(y), caller="test")),
        DifferenceSettings(10.0),
        [(how, how)],
        np.random.default_rng(0),
    )
    return found[0].rank


def test_all_class_directions_are_found_with_more_features_than_objects(rng):
    """Whitened shuffled pairs have correlations of 1 in the sample; on held-out pairs they have none."""
    x, y, labels = embeddings(rng, 300, 400, 16)
    assert ranks(x, y, dh.Pairs.from_labels(labels, labels)) == 15
    assert ranks(x, y, dh.Pairs.from_labels(labels, labels), Shrinkage(1e-4)) >= 13


@pytest.mark.parametrize("d", [20, 500])
def test_nothing_is_found_where_nothing_is(rng, d):
    x, y = rng.normal(size=(200, d)), rng.normal(size=(200, d))
    assert ranks(x, y, dh.Pairs.aligned(200)) <= 3
    assert ranks(x, y, dh.Pairs.from_labels(np.arange(200) % 9, np.arange(200) % 9)) <= 3


def test_shared_dimensions_are_counted_with_pairs_only(rng):
    shared = rng.normal(size=(500, 6))
    x, y = (np.column_stack([shared, rng.normal(size=(500, d))]) for d in (30, 60))
    assert 6 <= ranks(x, y, dh.Pairs.aligned(500)) <= 9


def test_a_sample_of_bounded_size_is_used(rng, monkeypatch):
    """The cost does not grow with the number of objects."""
    shapes = []
    from diffhash.learning import cross_fit

    original = cross_fit.spectrum
    monkeypatch.setattr(
        cross_fit, "spectrum", lambda view, d: shapes.append(view.X.shape) or original(view, d)
    )
    x = rng.normal(size=(9000, 4))
    ranks(x, x, dh.Pairs.aligned(9000))
    assert {rows for rows, _ in shapes} == {1500}


def test_a_direction_after_many_weak_ones_is_dropped():
    assert useful_rank(np.array([0.5, 0.4, 0.01, 0.0, 0.0, 0.12]), np.full(6, 0.1)) == 2
    assert useful_rank(np.array([0.0, 0.0]), np.full(2, 0.1)) == 1, "at least one"


def test_directions_that_were_not_measured_are_as_strong_as_the_last():
    found = CrossFit(np.array([0.5, 0.3]), np.array([0.1, 0.1]))
    assert found.limit is None
    np.testing.assert_array_equal(found.first(4), [0.5, 0.3, 0.3, 0.3])
    assert CrossFit(np.array([0.5, 0.0]), np.array([0.1, 0.1])).limit == 1


def test_weights_are_strengths_with_one_partner_and_their_roots_with_several():
    strengths = np.array([0.64, 0.16, 0.0])
    classes = [0, 0, 0, 1, 1, 1]
    aligned, labels = (
        ResolvedCouples.of_pairs(pairs.resolve(6, 6, caller="test"))
        for pairs in (dh.Pairs.aligned(6), dh.Pairs.from_labels(classes, classes))
    )
    np.testing.assert_allclose(direction_weights(strengths, mean_partners(aligned)), [1, 0.25, 1e-6])
    np.testing.assert_allclose(direction_weights(strengths, mean_partners(labels)), [1, 0.5, 1e-3])
    np.testing.assert_array_equal(direction_weights(-strengths, 3), 1.0)
