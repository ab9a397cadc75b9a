"""Class scores: leave-one-out scores against explicit refits, shared targets, and bits made from scores."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import diffhash as dh
from diffhash.learning.class_scores import ViewRegression, shared_targets
from diffhash.learning.label_indicators import couple_indicators, label_indicators
from diffhash.learning.rotation import rotated_frame
from diffhash.learning.score_bits import class_code_bits, class_mean_bits, rotated_bits, separated_codes
from diffhash.maps import LinearMap, MappedView
from diffhash.pairs.couples import ResolvedCouple, ResolvedCouples
from diffhash.pairs.labels import LabelGroups


def refits_without_each_row(X, T, ridge):
    """Ridge regression with a free intercept, fitted once without each row; its scores minus the mean of T.

    The penalty is the one of all rows: n times the ridge times the largest variance.
    """
    n, d = X.shape
    centred = X - X.mean(axis=0)
    penalty = n * ridge * np.linalg.eigvalsh(centred.T @ centred / n)[-1]
    scores = []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        rows = np.c_[centred[rest], np.ones(n - 1)]
        damped = np.c_[np.sqrt(penalty) * np.eye(d), np.zeros(d)]
        weights = np.linalg.lstsq(
            np.r_[rows, damped], np.r_[(T - T.mean(axis=0))[rest], np.zeros((d, T.shape[1]))], rcond=None
        )[0]
        scores.append(np.r_[centred[i], 1.0] @ weights)
    return np.array(scores)


@st.composite
def regressions(draw):
    """Rows with more or fewer features than rows, dense or sparse, and indicators of classes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, n_classes = draw(st.integers(4, 14)), draw(st.integers(1, 20)), draw(st.integers(2, 4))
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, d) + rng.normal(size=d)
    if draw(st.booleans()):
        X[rng.random((n, d)) < 0.4] = 0.0
    assume(np.ptp(X, axis=0).max() > 0)
    labels = scipy.sparse.csr_array(np.eye(n_classes, dtype=np.float32)[rng.integers(0, n_classes, n)])
    rows = scipy.sparse.csr_array(X) if draw(st.booleans()) else X
    return X, MappedView(rows, LinearMap.fit(rows)), labels, rng


@settings(deadline=None)
@given(regressions(), st.sampled_from([1e-2, 0.1, 1.0]), st.integers(2, 4))
def test_scores_without_a_fold_equal_those_of_refits_without_its_rows(problem, ridge, n_folds):
    X, view, labels, rng = problem
    n = len(X)
    if np.ptp(X, axis=0).max() == 0 or n < 2 * n_folds:
        return
    targets = rng.normal(size=(labels.shape[1], 2))
    folds = rng.permutation(np.arange(n) % n_folds)
    found = ViewRegression.of(view, labels)
    centred = found.centred_targets(labels, targets)
    scores = found.leave_fold_out(found.coordinates(view), centred, folds, ridge, targets)

    T = labels.toarray() @ targets
    features = X - X.mean(axis=0)
    penalty = n * ridge * np.linalg.eigvalsh(features.T @ features / n)[-1]
    for fold in range(n_folds):
        rest, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        rows = np.c_[features[rest], np.ones(len(rest))]
        damped = np.c_[np.sqrt(penalty) * np.eye(X.shape[1]), np.zeros(X.shape[1])]
        weights = np.linalg.lstsq(
            np.r_[rows, damped], np.r_[(T - T.mean(axis=0))[rest], np.zeros((X.shape[1], 2))], rcond=None
        )[0]
        expected = np.c_[features[out], np.ones(len(out))] @ weights
        np.testing.assert_allclose(scores[out], expected, atol=2e-4 * max(1.0, np.abs(expected).max()))


@settings(deadline=None)
@given(regressions(), st.sampled_from([1e-2, 0.1, 1.0, 10.0]))
def test_leave_one_out_scores_equal_those_of_refits_without_each_row(problem, ridge):
    X, view, labels, rng = problem
    if np.ptp(X, axis=0).max() == 0:
        return
    targets = rng.normal(size=(labels.shape[1], 3))

    found = ViewRegression.of(view, labels)
    coordinates = found.coordinates(view)
    centred = found.centred_targets(labels, targets)
    scores = found.leave_one_out(coordinates, centred, ridge, targets)

    T = labels.toarray() @ targets
    np.testing.assert_allclose(centred, T - T.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(coordinates.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(scores, refits_without_each_row(X, T, ridge), atol=1e-5, rtol=1e-5)


@settings(deadline=None)
@given(regressions())
def test_the_best_ridge_has_the_smallest_error_of_the_refits(problem):
    X, view, labels, _ = problem
    if np.ptp(X, axis=0).max() == 0 or np.ptp(labels.toarray(), axis=0).max() == 0:
        return
    identity, ridges = np.eye(labels.shape[1]), np.array([0.01, 0.3, 10.0])
    found = ViewRegression.of(view, labels)
    centred = found.centred_targets(labels, identity)

    ridge, error = found.best_ridge(found.coordinates(view), centred, ridges, identity)

    T = labels.toarray() - labels.toarray().mean(axis=0)
    errors = [error_after_the_best_scaling(T, refits_without_each_row(X, T, r)) for r in ridges]
    assert error == pytest.approx(min(errors), rel=1e-4)
    assert errors[list(ridges).index(ridge)] == pytest.approx(min(errors), rel=1e-4)


def error_after_the_best_scaling(T, scores):
    """Relative squared error of ``a * scores`` with the best a; if a is negative, as much above 1 as below."""
    scale = (T * scores).sum() / (scores**2).sum()
    error = ((T - scale * scores) ** 2).sum() / (T**2).sum()
    return error if scale >= 0 else 2 - error


def test_a_tiny_ridge_does_not_win_because_the_regression_goes_through_all_rows(rng):
    """With many more features than rows, single precision cannot tell what a row is without itself."""
    labels = rng.integers(0, 4, 120)
    X = (rng.normal(size=(120, 3000)) + 0.15 * rng.normal(size=(4, 3000))[labels]).astype(np.float32)
    view = MappedView(X, LinearMap.fit(X))
    indicators = scipy.sparse.csr_array(np.eye(4, dtype=np.float32)[labels])
    found = ViewRegression.of(view, indicators)
    centred = found.centred_targets(indicators, np.eye(4))
    coordinates = found.coordinates(view)
    ridges = 10.0 ** np.arange(-9, 2)

    ridge, error = found.best_ridge(coordinates, centred, ridges, np.eye(4))

    T = indicators.toarray() - indicators.toarray().mean(axis=0)
    errors = [error_after_the_best_scaling(T, refits_by_kernel(X.astype(np.float64), T, r)) for r in ridges]
    assert error == pytest.approx(min(errors), rel=0.02)
    assert errors[list(ridges).index(ridge)] == pytest.approx(min(errors), rel=0.02)


def refits_by_kernel(X, T, ridge):
    """As :func:`refits_without_each_row`, by the Gram matrix of the rows: fast with many features."""
    n = len(X)
    centred = X - X.mean(axis=0)
    gram = centred @ centred.T
    penalty = ridge * np.linalg.eigvalsh(gram)[-1]
    scores = np.empty(T.shape)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        system = np.block(
            [
                [gram[np.ix_(rest, rest)] + penalty * np.eye(n - 1), np.ones((n - 1, 1))],
                [np.ones((1, n - 1)), 0],
            ]
        )
        solution = np.linalg.solve(system, np.r_[T[rest], np.zeros((1, T.shape[1]))])
        scores[i] = gram[i, rest] @ solution[:-1] + solution[-1]
    return scores


@settings(deadline=None)
@given(regressions(), st.integers(1, 3))
def test_a_limited_rank_keeps_the_directions_of_largest_variance(problem, rank):
    X, view, labels, _ = problem
    if np.ptp(X, axis=0).max() == 0:
        return
    found = ViewRegression.of(view, labels, rank)
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True).reshape(X.shape[1], -1))[::-1]
    k = len(found.variances)
    assert k <= rank
    np.testing.assert_allclose(found.variances, values[:k], rtol=1e-5)
    np.testing.assert_allclose(found.coordinates(view).var(axis=0), found.variances, rtol=1e-5)
    np.testing.assert_allclose(found.directions.T @ found.directions, np.eye(k), atol=1e-6)


@pytest.mark.parametrize("d", [3, 6, 60])
def test_shared_targets_span_the_differences_between_classes(rng, d):
    """There are C - 1 orthonormal targets, and all of them sum to zero over the classes."""
    n_classes = 5
    moments = []
    for _ in range(2):
        labels = np.arange(50) % n_classes
        X = rng.normal(size=(n_classes, d))[labels] + 0.1 * rng.normal(size=(50, d))
        indicators = scipy.sparse.csr_array(np.eye(n_classes, dtype=np.float32)[labels])
        moments.append(ViewRegression.of(MappedView(X, LinearMap.fit(X)), indicators).damped_moments(0.01))

    targets = shared_targets(moments, 256)

    assert targets.shape == (n_classes, n_classes - 1)
    np.testing.assert_allclose(targets.T @ targets, np.eye(n_classes - 1), atol=1e-6)
    np.testing.assert_allclose(targets.sum(axis=0), 0, atol=1e-5)
    few = shared_targets(moments, 2)
    np.testing.assert_allclose(np.abs(few.T @ targets[:, :2]), np.eye(2), atol=1e-6)
    stacked = np.concatenate(moments)
    strengths = np.linalg.norm(stacked @ targets, axis=0)
    assert (np.diff(strengths) <= 1e-9).all(), "the best ones are first"


def test_indicators_of_label_sets_leave_out_labels_of_one_view():
    sets = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]], dtype=bool)
    x, y = couple_indicators(
        LabelGroups(np.array([0, 1]), np.array([0, 0, 1]), 3, scipy.sparse.csr_array(sets))
    )
    np.testing.assert_array_equal(x.toarray(), sets[[0, 1]])
    np.testing.assert_array_equal(y.toarray(), sets[[0, 0, 1]])
    x, y = couple_indicators(LabelGroups(np.array([0, 0]), np.array([1, 2]), 3, scipy.sparse.csr_array(sets)))
    np.testing.assert_array_equal(x.toarray(), [[1], [1]])
    np.testing.assert_array_equal(y.toarray(), [[1], [0]])


def couples_by_label(n_rows, labels):
    """Couples with labels of their own: a dict of (labels, labels) by (view, view)."""
    found = []
    for (u, v), (x, y) in labels.items():
        pairs = dh.Pairs.from_labels(x) if u == v else dh.Pairs.from_labels(x, y)
        found.append(ResolvedCouple(u, v, 1.0, pairs.resolve(len(x), None if u == v else len(y))))
    return ResolvedCouples(n_rows, tuple(found))


def test_couples_share_the_labels_that_mark_the_same_rows():
    """Labels have other numbers in the second couple, because the first has one label more."""
    x, y, z = np.array([1, 2, 3, 1, 2]), np.array([3, 2, 1, 0]), np.array([2, 3, 3])
    found = label_indicators(couples_by_label((5, 4, 3), {(0, 1): (x, y), (0, 2): (x, z)}))

    for table, labels in zip(found, (x, y, z), strict=True):
        np.testing.assert_array_equal(table.toarray(), labels[:, None] == [1, 2, 3])


def test_a_view_has_zeros_for_labels_of_other_couples():
    """The second kind of labels is only within the first view."""
    x, y, own = np.array([0, 1, 0, 1]), np.array([1, 0]), np.array([5, 5, 7, 7])
    found = label_indicators(couples_by_label((4, 2), {(0, 1): (x, y), (0, 0): (own, own)}))

    np.testing.assert_array_equal(found[0].toarray(), np.c_[np.eye(2)[x], np.eye(2)[[0, 0, 1, 1]]])
    np.testing.assert_array_equal(found[1].toarray(), np.c_[np.eye(2)[y], np.zeros((2, 2))])


@pytest.mark.parametrize("n_bits", [1, 3, 8])
@pytest.mark.parametrize("spread", [0.3, 0.9])
def test_spread_thresholds_are_quantiles_of_the_rotated_scores(rng, n_bits, spread):
    """The bits of one score have evenly spread shares of ones around one half."""
    scores = [rng.normal(size=(2000, 1)), 3 * rng.normal(size=(1500, 1)) + 1]
    found = rotated_bits(scores, n_bits, np.random.default_rng(0), spread)
    levels = 0.5 + spread * ((np.arange(n_bits) + 0.5) / n_bits - 0.5)
    for s, w, b in zip(scores, found.weights, found.offsets, strict=True):
        share = (s @ w + b >= 0).mean(axis=0)
        np.testing.assert_allclose(np.sort(share), np.sort(1 - levels), atol=0.002)


def test_thresholds_without_spread_are_the_means(rng):
    scores = [rng.normal(size=(300, 4)) + 2, rng.normal(size=(200, 4))]
    found = rotated_bits(scores, 12, np.random.default_rng(0))
    for s, w, b in zip(scores, found.weights, found.offsets, strict=True):
        np.testing.assert_allclose((s @ w + b).mean(axis=0), 0, atol=1e-9)
    one = rotated_bits(scores[:1], 12, np.random.default_rng(0))
    assert len(one.weights) == len(one.offsets) == 1


@pytest.mark.parametrize(("n_codes", "n_bits"), [(1, 8), (10, 32), (100, 16), (600, 64)])
def test_separated_codes_are_farther_from_each_other_than_random_ones(n_codes, n_bits):
    codes = separated_codes(n_codes, n_bits, np.random.default_rng(0))
    assert codes.shape == (n_codes, n_bits)
    assert set(np.unique(codes)) <= {-1.0, 1.0}
    random = np.where(np.random.default_rng(1).random((n_codes, n_bits)) < 0.5, -1.0, 1.0)
    if n_codes > 1:
        nearest = [np.sort(c @ c.T - 2 * n_bits * np.eye(n_codes))[:, -1].mean() for c in (codes, random)]
        assert nearest[0] < nearest[1]


def test_bits_of_class_codes_agree_with_the_codes_of_perfect_scores():
    """Scores that are exactly the indicators give each class its own code."""
    labels = np.arange(60) % 6
    targets = np.linalg.svd(np.eye(6) - 1 / 6)[2][:5].T
    scores = (np.eye(6) - 1 / 6)[labels] @ targets
    found = class_code_bits([scores, 2 * scores], targets, 24, np.random.default_rng(3))
    codes = separated_codes(6, 24, np.random.default_rng(3))
    expected = codes - codes.mean(axis=0)
    for s, w, b in zip((scores, 2 * scores), found.weights, found.offsets, strict=True):
        values = s @ w + b
        assert values.std() == pytest.approx(1.0)
        np.testing.assert_array_equal((values >= 1e-9)[:6], expected > 1e-9)


def reference_class_means(scores, labels, n_labels):
    """Mean of the scores of the rows of each class minus the mean of all rows, row by row."""
    means = np.zeros((n_labels, scores.shape[1]))
    for label in range(n_labels):
        rows = [i for i in range(len(scores)) if label in labels[i]]
        if rows:
            means[label] = np.mean([scores[i] for i in rows], axis=0) - scores.mean(axis=0)
    return means


@pytest.mark.parametrize("several", [False, True])
def test_codes_of_classes_are_signs_of_their_rotated_means(several):
    """Bits are regressions to signs of class means: one vote of each class, weighted by its score."""
    rng = np.random.default_rng(0)
    labels = [{i % 7, (i * i) % 7} if several else {i % 7} for i in range(90)]
    indicators = scipy.sparse.csr_array([[float(c in each) for c in range(8)] for each in labels])
    targets = np.linalg.qr(rng.normal(size=(8, 5)))[0]
    scores = [rng.normal(size=(90, 5)) for _ in range(2)]

    found = class_mean_bits(scores, [indicators] * 2, targets, 12, np.random.default_rng(1))

    means = [reference_class_means(s, labels, 8) for s in scores]
    assert not means[0][7].any(), "one class has no rows"
    means = [m / m[:7].std() for m in means]
    frame = rotated_frame(np.concatenate([m[:7] for m in means]), 12, np.random.default_rng(1))
    codes = np.sign((means[0] + means[1]) @ frame)
    for s, weights, offsets in zip(scores, found.weights, found.offsets, strict=True):
        votes, spread = (s - s.mean(axis=0)) @ targets.T @ codes, (s @ targets.T @ codes).std()
        np.testing.assert_allclose(s @ weights + offsets, votes / spread, atol=1e-9)


def test_classes_that_are_confused_have_similar_codes():
    """Codes of class means keep pairs of near classes near; separated codes do not."""
    rng = np.random.default_rng(2)
    labels = np.arange(400) % 20
    targets = np.linalg.svd(np.eye(20) - 1 / 20)[2][:19].T
    # Classes 0 and 1, 2 and 3, ... are hardly told apart.
    confused = np.kron(np.eye(10), np.array([[0.52, 0.48], [0.48, 0.52]]))
    scores = (confused - confused.mean(axis=0))[labels] @ targets + 0.001 * rng.normal(size=(400, 19))
    indicators = scipy.sparse.csr_array(np.eye(20)[labels])

    def distances(found):
        means = np.stack([scores[labels == c].mean(axis=0) for c in range(20)])
        bits = means @ found.weights[0] + found.offsets[0] > 0
        return (bits[0::2] != bits[1::2]).mean(), (bits[0::2] != np.roll(bits[1::2], 1, axis=0)).mean()

    near, far = distances(class_mean_bits([scores], [indicators], targets, 32, np.random.default_rng(3)))

    assert near < 0.1
    assert far > 0.35
