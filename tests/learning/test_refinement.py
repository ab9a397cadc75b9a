"""The pair loss equals a sum over all pairs, its gradient equals finite differences, and refine lowers it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

import diffhash as dh
from diffhash.learning.couple_loss import CoupleLoss
from diffhash.learning.pair_loss import PairLoss
from diffhash.learning.refinement import Affine, refine
from diffhash.learning.rotation import rotated_frame
from diffhash.pairs.couples import ResolvedCouple, ResolvedCouples

from ..strategies import problems


def slow_loss(H, G, positive, negative, target, weight):
    """The loss as a sum over pairs."""
    m = H.shape[1]
    on_positive = np.mean([(H[i] @ G[j] / m - 1) ** 2 for i, j in positive])
    on_negative = np.mean([(H[i] @ G[j] / m - target) ** 2 for i, j in negative])
    return weight * on_positive + on_negative


def codes_of(problem, m, seed):
    rng = np.random.default_rng(seed)
    H = np.tanh(rng.normal(size=(len(problem.x), m)))
    return H, H if problem.one_view else np.tanh(rng.normal(size=(len(problem.y), m)))


@given(problems(), st.integers(1, 4), st.integers(0, 2**31), st.sampled_from([-1.0, 0.0, 0.3]))
def test_loss_and_gradient_equal_those_of_the_sum_over_all_pairs(problem, m, seed, target):
    if not (problem.positive and problem.negative):
        return
    resolved = problem.pairs.resolve(len(problem.x), None if problem.one_view else len(problem.y))
    H, G = codes_of(problem, m, seed)

    loss, dH, dG = PairLoss(resolved, m, target, 1.7)(H, G)

    assert loss == pytest.approx(slow_loss(H, G, problem.positive, problem.negative, target, 1.7), abs=1e-10)

    def at(flat):
        both = flat.reshape(-1, m)
        h, g = (both, both) if problem.one_view else (both[: len(H)], both[len(H) :])
        return slow_loss(h, g, problem.positive, problem.negative, target, 1.7)

    flat = H.ravel() if problem.one_view else np.concatenate([H, G]).ravel()
    found = (dH + dG).ravel() if problem.one_view else np.concatenate([dH, dG]).ravel()
    np.testing.assert_allclose(found, approx_fprime(flat, at, 1e-7), atol=1e-5)


def loss_per_query(H, G, similar, target, *, one_view):
    """Mean over all queries of both views of the mean over their positives, plus the mean over the negatives."""
    m = H.shape[1]
    squares = (H @ G.T / m - 1) ** 2
    if one_view:
        similar = similar & ~np.eye(len(H), dtype=bool)
    queries = [
        np.mean(
            [row[positives].mean() for row, positives in zip(table, sets, strict=True) if positives.any()]
        )
        for table, sets in ((squares, similar), (squares.T, similar.T))
    ]
    others = np.triu(~similar, 1) if one_view else ~similar
    return np.mean(queries) + ((H @ G.T / m - target) ** 2)[others].mean()


@given(st.integers(0, 2**31), st.booleans(), st.booleans(), st.sampled_from([-0.3, 0.0]))
def test_weights_per_query_equal_the_explicit_sum_over_queries(seed, one_view, label_sets, target):
    rng = np.random.default_rng(seed)
    n, n_other, m = 9, 9 if one_view else 7, 3
    if label_sets:
        x, y = rng.random((n, 3)) < 0.4, rng.random((n_other, 3)) < 0.4
    else:
        x, y = rng.integers(0, 3, n), rng.integers(0, 4, n_other)
    if one_view:
        y = x
    similar = (x.astype(int) @ y.T.astype(int)) > 0 if label_sets else x[:, None] == y
    off_diagonal = similar & ~np.eye(n, dtype=bool) if one_view else similar
    if not off_diagonal.any() or similar.all():
        return
    pairs = dh.Pairs.from_labels(x) if one_view else dh.Pairs.from_labels(x, y)
    H = np.tanh(rng.normal(size=(n, m)))
    G = H if one_view else np.tanh(rng.normal(size=(n_other, m)))
    loss = PairLoss(pairs.resolve(n, None if one_view else n_other), m, target, per_query=True)

    value, dH, dG = loss(H, G)

    assert value == pytest.approx(loss_per_query(H, G, similar, target, one_view=one_view))

    def at(flat):
        both = flat.reshape(-1, m)
        h, g = (both, both) if one_view else (both[:n], both[n:])
        return loss_per_query(h, g, similar, target, one_view=one_view)

    flat = H.ravel() if one_view else np.concatenate([H, G]).ravel()
    found = (dH + dG).ravel() if one_view else np.concatenate([dH, dG]).ravel()
    np.testing.assert_allclose(found, approx_fprime(flat, at, 1e-7), atol=1e-5)


def slow_weighted_loss(H, G, pairs, m, target):
    """The loss of listed pairs as a loop; ``pairs`` has (positive, weights), (negative, weights)."""
    total = 0.0
    for (index, weights), wanted in zip(pairs, (1.0, target), strict=True):
        mass = sum(weights)
        for i, j, w in zip(*index, weights, strict=True):
            total += w / mass * (H[i] @ G[j] / m - wanted) ** 2
    return total


@pytest.mark.parametrize("negatives", ["listed", "every other pair"])
def test_weights_of_pairs_equal_a_loop_over_pairs(rng, negatives):
    n, n_other, m, target = 8, 6, 3, -0.4
    cells = rng.permutation(n * n_other)
    positive = cells[:9] // n_other, cells[:9] % n_other
    weights, negative_weights = rng.uniform(0.1, 3.0, 9), None
    if negatives == "listed":
        negative = cells[9:20] // n_other, cells[9:20] % n_other
        negative_weights = rng.uniform(0.1, 3.0, 11)
        pairs = dh.Pairs(positive, negative, weights, negative_weights)
    else:
        negative = cells[9:] // n_other, cells[9:] % n_other
        pairs = dh.Pairs(positive, weights=weights)
    listed = (
        (positive, weights),
        (negative, np.ones(len(negative[0])) if negative_weights is None else negative_weights),
    )
    H, G = np.tanh(rng.normal(size=(n, m))), np.tanh(rng.normal(size=(n_other, m)))

    value, dH, dG = PairLoss(pairs.resolve(n, n_other), m, target)(H, G)

    def at(flat):
        both = flat.reshape(-1, m)
        return slow_weighted_loss(both[:n], both[n:], listed, m, target)

    flat = np.concatenate([H, G]).ravel()
    assert value == pytest.approx(at(flat))
    np.testing.assert_allclose(np.concatenate([dH, dG]).ravel(), approx_fprime(flat, at, 1e-7), atol=1e-5)


def test_the_loss_of_several_couples_equals_a_loop_over_couples(rng):
    """Three views with gaps, a couple within the first, and weights."""
    m, target = 3, -0.3
    labels = [rng.integers(0, 3, n) for n in (9, 7, 5)]
    parts = [(0, 1, 1.0), (1, 2, 3.0), (0, 0, 0.5)]
    couples, losses = [], []
    for u, v, weight in parts:
        similar = labels[u][:, None] == labels[v]
        i, j = np.nonzero(np.triu(np.ones_like(similar), 1) if u == v else np.ones_like(similar))
        kinds = [(i[similar[i, j] == kind], j[similar[i, j] == kind]) for kind in (True, False)]
        pairs = dh.Pairs.from_labels(labels[u], None if u == v else labels[v])
        resolved = pairs.resolve(len(labels[u]), None if u == v else len(labels[v]))
        couples.append(ResolvedCouple(u, v, weight, resolved))
        losses.append([(index, np.ones(len(index[0]))) for index in kinds])
    loss = CoupleLoss(ResolvedCouples((9, 7, 5), tuple(couples)), m, target)
    codes = [np.tanh(rng.normal(size=(len(each), m))) for each in labels]

    value, gradients = loss(codes)

    def at(flat):
        views = np.split(flat.reshape(-1, m), [9, 16])
        terms = [
            weight * slow_weighted_loss(views[u], views[v], each, m, target)
            for (u, v, weight), each in zip(parts, losses, strict=True)
        ]
        return sum(terms) / 1.5  # the mean weight

    flat = np.concatenate(codes).ravel()
    assert value == pytest.approx(at(flat))
    np.testing.assert_allclose(np.concatenate(gradients).ravel(), approx_fprime(flat, at, 1e-7), atol=1e-5)


def test_loss_uses_all_negatives_by_label_if_positives_are_sampled(rng):
    labels = rng.integers(0, 3, 12)
    pairs = dh.Pairs.from_labels(labels, labels, n_positive=7, random_state=0)
    resolved = pairs.resolve(12, 12)
    positive = list(zip(*resolved.positive, strict=True))
    negative = [(i, j) for i in range(12) for j in range(12) if labels[i] != labels[j]]
    H, G = np.tanh(rng.normal(size=(2, 12, 3)))
    assert PairLoss(resolved, 3, -1.0)(H, G)[0] == pytest.approx(
        slow_loss(H, G, positive, negative, -1.0, 1.0)
    )


@pytest.mark.parametrize("one_view", [False, True])
def test_refinement_lowers_its_loss_and_reports_progress(rng, one_view):
    labels = rng.integers(0, 3, 60)
    x = rng.normal(size=(3, 4))[labels] + 0.3 * rng.normal(size=(60, 4))
    y = rng.normal(size=(3, 5))[labels] + 0.3 * rng.normal(size=(60, 5))
    pairs = dh.Pairs.from_labels(labels) if one_view else dh.Pairs.from_labels(labels, labels)
    loss = CoupleLoss(ResolvedCouples.of_pairs(pairs.resolve(60, None if one_view else 60)), 6, -1.0)
    views = [x] if one_view else [x, y]
    start = Affine(tuple(rng.normal(size=(X.shape[1], 6)) for X in views), tuple(np.zeros(6) for _ in views))
    seen = []

    def value(affine):
        sides = zip(views, affine.weights, affine.offsets, strict=True)
        return loss([np.tanh(X @ w + b) for X, w, b in sides])[0]

    found, _ = refine(views, loss, start, penalty=1e-4, progress=lambda i, f: seen.append((i, f)))

    assert value(found) < 0.5 * value(start)
    assert [i for i, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][1] <= seen[0][1]
    again, _ = refine(views, loss, start, penalty=1e-4)
    np.testing.assert_array_equal(found.weights[0], again.weights[0])


@pytest.mark.parametrize("one_view", [False, True])
def test_scales_have_the_same_effect_as_scaled_features(rng, one_view):
    """The result is that of features that were multiplied by the scales."""
    labels = rng.integers(0, 3, 80)
    views = [rng.normal(size=(3, d))[labels] + 0.5 * rng.normal(size=(80, d)) for d in (5, 7)]
    scales = [rng.uniform(0.3, 3.0, d) for d in (5, 7)]
    if one_view:
        views, scales = views[:1], scales[:1]
    pairs = dh.Pairs.from_labels(*[labels] * len(views)).resolve(*[80] * len(views))
    scaled = [X * s for X, s in zip(views, scales, strict=True)]
    weights = [rng.normal(size=(len(s), 6)) for s in scales]
    start = Affine(tuple(weights), tuple(np.zeros(6) for _ in weights))
    loss = CoupleLoss(ResolvedCouples.of_pairs(pairs), 6, -1.0)
    found = []
    for features, factors in ((views, scales), (scaled, [np.ones_like(s) for s in scales])):
        refined, _ = refine(features, loss, start, penalty=1e-3, scales=factors, max_iter=5)
        found.append(refined)
    refined, other_refined = found
    np.testing.assert_allclose(refined.weights[0], other_refined.weights[0], atol=1e-7)
    np.testing.assert_allclose(refined.offsets[-1], other_refined.offsets[-1], atol=1e-7)


@pytest.mark.parametrize("kind", ["labels", "aligned", "listed", "one view"])
def test_gradients_have_the_dtype_of_the_codes(rng, kind):
    """Computing in float64 by mistake would more than double the time."""
    pairs = {
        "labels": dh.Pairs.from_labels([0, 1, 0, 2], [0, 1, 2, 2]).resolve(4, 4),
        "aligned": dh.Pairs.aligned(4).resolve(4, 4),
        "listed": dh.Pairs(([0, 1], [1, 2]), ([0, 3], [3, 3])).resolve(4, 4),
        "one view": dh.Pairs.from_labels([0, 1, 0, 1]).resolve(4),
    }[kind]
    H, G = (rng.normal(size=(4, 3)).astype(np.float32) for _ in "xy")
    _, dH, dG = PairLoss(pairs, 3, -0.7)(H, H if kind == "one view" else G)
    assert dH.dtype == dG.dtype == np.float32


def test_a_rotated_frame_has_orthogonal_blocks_that_quantise_better_than_random_ones(rng):
    values = np.sign(rng.normal(size=(300, 4))) @ np.linalg.qr(rng.normal(size=(4, 4)))[0] + 0.1 * rng.normal(
        size=(300, 4)
    )
    frame = rotated_frame(values, 10, rng)
    assert frame.shape == (4, 10)
    for block in (frame[:, :4], frame[:, 4:8]):
        np.testing.assert_allclose(block.T @ block, np.eye(4), atol=1e-8)
        error = np.mean((np.sign(values @ block) - values @ block) ** 2)
        random = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        assert error < np.mean((np.sign(values @ random) - values @ random) ** 2)
