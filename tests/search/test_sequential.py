"""SequentialTest beside a loop over pairs and bits, and beside Wald's formulas."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils.validation import check_is_fitted

import diffhash as dh
from diffhash.errors import CodeError, DiffhashWarning, InputError, NotFittedError, PairsError, ParameterError
from diffhash.search.sequential.decision_rule import (
    calibrated_bounds,
    information_order,
    likelihood_ratios,
    stopping,
)

from ..reference import sequential as reference
from ..strategies import problems


def quiet_fit(test, *arguments):
    """Small sets of pairs cannot show small error rates, and fit says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiffhashWarning)
        return test.fit(*arguments)


def independent_codes(rng, n, n_bits, positive, negative):
    """Codes of n pairs of each kind whose bits agree independently; row r belongs to row r."""
    x = rng.random((2 * n, n_bits)) < 0.5
    chance = np.where(np.arange(2 * n)[:, None] < n, positive, negative)
    y = x ^ (rng.random((2 * n, n_bits)) >= chance)
    rows = np.arange(n)
    return dh.codes.pack(x), dh.codes.pack(y), (rows, rows), (rows + n, rows + n)


@given(problems(), st.integers(1, 19), st.booleans(), st.integers(0, 2**32 - 1))
def test_decisions_equal_a_loop_over_bits_and_pairs(problem, n_bits, calibrate, seed):
    rng = np.random.default_rng(seed)
    x = dh.codes.pack(rng.random((len(problem.x), n_bits)) < 0.5)
    y = x if problem.one_view else dh.codes.pack(rng.random((len(problem.y), n_bits)) < 0.5)
    arguments = x, None if problem.one_view else y, problem.pairs, n_bits
    test = dh.SequentialTest(0.2, 0.1, calibrate=calibrate)
    if not problem.positive or not problem.negative:
        with pytest.raises(PairsError, match="there is no"):
            test.fit(*arguments)
        return
    quiet_fit(test, *arguments)

    shares = [reference.agreement(x, y, pairs, n_bits) for pairs in (problem.positive, problem.negative)]
    np.testing.assert_allclose(test.agreement_, shares, rtol=1e-12)
    for agrees in (0, 1):
        expected = [reference.log_ratio(agrees, p, q) for p, q in zip(*shares, strict=True)]
        np.testing.assert_allclose(test.ratios_[agrees], expected, rtol=1e-9, atol=1e-12)
    assert sorted(test.order_) == list(range(n_bits))

    i, j = (rows.ravel() for rows in np.indices((len(x), len(y))))
    bounds = test.lower_, test.upper_, test.cut_
    loop = [
        reference.decide(x[a], y[b], test.ratios_, test.order_, *bounds) for a, b in zip(i, j, strict=True)
    ]
    assert list(zip(*(part.tolist() for part in test.decide(x[i], y[j])), strict=True)) == loop


@given(problems(), st.integers(0, 2**32 - 1))
def test_report_counts_what_the_loop_counts(problem, seed):
    if not problem.positive or not problem.negative:
        return
    rng = np.random.default_rng(seed)
    x = dh.codes.pack(rng.random((len(problem.x), 9)) < 0.5)
    y = x if problem.one_view else dh.codes.pack(rng.random((len(problem.y), 9)) < 0.5)
    second = None if problem.one_view else y
    test = quiet_fit(dh.SequentialTest(0.3, 0.3), x, second, problem.pairs, 9)

    report = test.report(x, second, *(np.array(sorted(p)).T for p in (problem.positive, problem.negative)))

    bounds = test.lower_, test.upper_, test.cut_
    positive, negative = (
        [reference.decide(x[i], y[j], test.ratios_, test.order_, *bounds) for i, j in pairs]
        for pairs in (problem.positive, problem.negative)
    )
    assert (report.n_positive, report.n_negative) == (len(positive), len(negative))
    assert report.false_rejects == sum(not similar for similar, _, _ in positive)
    assert report.false_accepts == sum(similar for similar, _, _ in negative)
    assert report.undecided_positive == sum(not decided for _, _, decided in positive)
    assert report.undecided_negative == sum(not decided for _, _, decided in negative)
    np.testing.assert_allclose(report.bits_positive, np.mean([used for _, used, _ in positive]))
    np.testing.assert_allclose(report.bits_negative, np.mean([used for _, used, _ in negative]))
    # Fewer pairs than the sample has room for: what fit reports is the same count.
    assert report == test.calibration_


@pytest.mark.parametrize(("alpha", "beta"), [(0.01, 0.01), (0.05, 0.01)])
def test_independent_bits_keep_the_bounds_of_wald(rng, alpha, beta):
    """Error rates within alpha / (1 - beta) and beta / (1 - alpha); mean length by Wald's formula."""
    p, q = 0.7, 0.4
    x, y, positive, negative = independent_codes(rng, 12_000, 192, p, q)
    test = dh.SequentialTest(alpha, beta, calibrate=False, sample_size=(3000, 3000))
    test.fit(x, y, dh.Pairs(positive, negative), 192)

    fresh = independent_codes(rng, 12_000, 192, p, q)
    report = test.report(*fresh)

    deviation = np.sqrt(0.05 / 12_000)
    assert report.false_accept_rate <= alpha / (1 - beta) + 2 * deviation
    assert report.false_reject_rate <= beta / (1 - alpha) + 2 * deviation
    (differs, agrees), (up, low) = likelihood_ratios(np.array([p]), np.array([q])), (test.upper_, test.lower_)
    expected_positive = ((1 - beta) * up + beta * low) / (p * agrees + (1 - p) * differs)[0]
    expected_negative = (alpha * up + (1 - alpha) * low) / (q * agrees + (1 - q) * differs)[0]
    np.testing.assert_allclose(report.bits_positive, expected_positive, rtol=0.1)
    np.testing.assert_allclose(report.bits_negative, expected_negative, rtol=0.1)
    assert report.undecided_positive + report.undecided_negative < 12


def test_calibration_keeps_rates_that_copied_bits_break(rng):
    """Four copies of each bit count four times in a naive sum; the boundaries make up for it."""
    x, y, positive, negative = independent_codes(rng, 5000, 32, 0.8, 0.5)
    x, y = (dh.codes.pack(np.tile(dh.codes.unpack(codes, 32), 4)) for codes in (x, y))
    fresh_x, fresh_y, *fresh_pairs = independent_codes(rng, 5000, 32, 0.8, 0.5)
    fresh_x, fresh_y = (dh.codes.pack(np.tile(dh.codes.unpack(c, 32), 4)) for c in (fresh_x, fresh_y))
    pairs = dh.Pairs(positive, negative)

    naive = dh.SequentialTest(0.04, 0.04, calibrate=False).fit(x, y, pairs, 128)
    calibrated = dh.SequentialTest(0.04, 0.04).fit(x, y, pairs, 128)

    # The order puts copies last, so shuffle it away to see what the naive sum would do.
    naive.order_ = np.arange(128).reshape(4, 32).T.ravel()
    assert naive.report(fresh_x, fresh_y, *fresh_pairs).false_accept_rate > 0.06
    report = calibrated.report(fresh_x, fresh_y, *fresh_pairs)
    assert calibrated.reached_
    assert max(report.false_accept_rate, report.false_reject_rate) < 0.05
    assert set(calibrated.order_[:32] % 32) == set(range(32)), "copies come last"


def test_learned_codes_need_far_fewer_bits_at_the_same_error():
    data = dh.datasets.make_paper_data(n_classes=10, n_train=2000, n_test=1500, random_state=0)
    pairs = dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"], 4000, 10_000, random_state=0)
    hasher = dh.BoostedHash(n_bits=64, n_directions=5).fit(data.train.views, pairs)
    x, y = (hasher.encode(data.test.views[m], modality=m) for m in ("x", "y"))
    # Half of the unseen objects to fit the test on, the other half to see what it is worth.
    known = dh.Pairs.from_labels(data.test.labels["x"][:750], data.test.labels["y"][:750])
    fresh = dh.Pairs.from_labels(
        data.test.labels["x"][750:], data.test.labels["y"][750:], 10_000, 10_000, random_state=0
    )

    test = dh.SequentialTest(0.02, 0.02).fit(x[:750], y[:750], known, 64)
    report = test.report(x[750:], y[750:], fresh.positive, fresh.negative)

    assert test.reached_
    assert max(report.bits_positive, report.bits_negative) < 16
    assert max(report.false_accept_rate, report.false_reject_rate) < 0.03


def test_rates_out_of_reach_are_reported_and_whole_codes_matched(rng):
    x, y, positive, negative = independent_codes(rng, 3000, 16, 0.7, 0.5)
    test = dh.SequentialTest(0.01, 0.01)

    with pytest.warns(DiffhashWarning, match="cannot be reached: with all 16 bits"):
        test.fit(x, y, dh.Pairs(positive, negative), 16)

    assert not test.reached_
    whole = dh.SequentialTest(0.01, 0.01, calibrate=False).fit(x, y, dh.Pairs(positive, negative), 16)
    whole.lower_, whole.upper_, whole.cut_ = -np.inf, np.inf, test.cut_
    full, short = (t.report(x, y, positive, negative) for t in (whole, test))
    assert short.bits_negative < full.bits_negative == 16
    assert short.false_accept_rate + short.false_reject_rate < 1.1 * (
        full.false_accept_rate + full.false_reject_rate
    )


def test_too_few_pairs_cannot_show_a_small_rate(rng):
    """Ten pairs without an error are no evidence of one error in a hundred."""
    x, y, positive, negative = independent_codes(rng, 10, 32, 1.0, 0.5)

    with pytest.warns(DiffhashWarning, match="pass more pairs"):
        dh.SequentialTest(0.01, 0.01).fit(x, y, dh.Pairs(positive, negative), 32)


def test_order_puts_a_useless_bit_and_a_copy_last(rng):
    positive = rng.random((4000, 4)) < [0.5, 0.9, 0.9, 0.7]
    negative = rng.random((4000, 4)) < 0.5
    positive[:, 2], negative[:, 2] = positive[:, 1], negative[:, 1]

    order = information_order(
        positive, negative, likelihood_ratios(positive.mean(axis=0), negative.mean(axis=0))
    )

    assert order[:2].tolist() == [1, 3]


def test_calibration_takes_the_fewest_bits_among_what_keeps_the_rates(rng):
    """No couple of the boundaries that were tried keeps both rates with fewer bits."""
    positive, negative = (np.cumsum(rng.normal(m, 1, size=(800, 20)), axis=1) for m in (0.5, -0.5))

    bounds, _, _ = calibrated_bounds(positive, negative, 0.05, 0.05)

    def rates(b):
        found = stopping(positive, b), stopping(negative, b)
        bits = sum(f.n_bits_used.mean() for f in found) / 2
        return (found[1].similar.sum() + 1) / 801, ((~found[0].similar).sum() + 1) / 801, bits

    accepts, rejects, bits = rates(bounds)
    assert max(accepts, rejects) <= 0.05
    for shrink in ((0.85, 1), (1, 0.85)):
        tighter = type(bounds)(bounds.lower * shrink[0], bounds.upper * shrink[1], bounds.cut)
        accepts, rejects, fewer = rates(tighter)
        assert fewer < bits
        assert max(accepts, rejects) > 0.045


def test_fit_is_deterministic_and_leaves_parameters_alone(small_data, small_pairs):
    hasher = dh.BoostedHash(n_bits=24).fit(small_data.train.views, small_pairs)
    x, y = (hasher.encode(small_data.train.views[m], modality=m) for m in ("x", "y"))
    labels = small_data.train.labels
    implied = dh.Pairs.from_labels(labels["x"], labels["y"])
    test = dh.SequentialTest(0.05, 0.05, sample_size=(500, 700))
    before = dict(test.get_params())

    first, second = (quiet_fit(clone(test), x, y, implied, 24) for _ in range(2))

    assert test.get_params() == before
    np.testing.assert_array_equal(first.order_, second.order_)
    assert (first.lower_, first.upper_, first.cut_) == (second.lower_, second.upper_, second.cut_)
    assert (first.calibration_.n_positive, first.calibration_.n_negative) == (500, 700)


def test_reordered_codes_have_the_most_telling_bits_first(rng):
    x, y, positive, negative = independent_codes(rng, 500, 20, 0.8, 0.5)
    test = quiet_fit(dh.SequentialTest(), x, y, dh.Pairs(positive, negative), 20)

    bits = dh.codes.unpack(test.reorder(x), 20)

    np.testing.assert_array_equal(bits, dh.codes.unpack(x, 20)[:, test.order_])


def test_codes_that_always_agree_have_finite_ratios():
    """Without the added counts the ratio of a bit that never differs would be infinite."""
    codes = np.zeros((6, 1), dtype=np.uint8)
    test = quiet_fit(dh.SequentialTest(), codes, codes, dh.Pairs.aligned(6), 8)

    assert np.isfinite(test.ratios_).all()
    assert test.decide(codes[:0], codes[:0]).similar.shape == (0,)


CODES = np.arange(12, dtype=np.uint8)[:, None]
PAIRS = dh.Pairs.aligned(12)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"beta": 0.6}, "beta"),
        ({"alpha": 0.5, "beta": 0.5}, "below 1"),
        ({"calibrate": 1}, "calibrate"),
        ({"sample_size": 5}, "sample_size"),
        ({"sample_size": (0, 5)}, "sample_size"),
    ],
)
def test_bad_parameters_are_refused_by_fit(parameters, words):
    with pytest.raises(ParameterError, match=words):
        dh.SequentialTest(**parameters).fit(CODES, CODES, PAIRS, 8)


def test_bad_input_is_refused():
    test = dh.SequentialTest()
    with pytest.raises(NotFittedError, match="Call fit first"):
        test.decide(CODES, CODES)
    with pytest.raises(CodeError, match=r"codes_y must be packed codes of 8 bits"):
        test.fit(CODES, CODES.astype(float), PAIRS, 8)
    with pytest.raises(PairsError, match="must be a Pairs"):
        test.fit(CODES, CODES, (CODES, CODES), 8)
    quiet_fit(test, CODES, CODES, PAIRS, 8)
    with pytest.raises(InputError, match="12 and 3 rows"):
        test.decide(CODES, CODES[:3])
    with pytest.raises(PairsError, match="no negative pair"):
        test.report(CODES, CODES, ([0], [0]), ([], []))


def test_it_works_with_scikit_learn_without_importing_it():
    """`clone`, `check_is_fitted` and the parameters behave as those of scikit-learn's estimators."""
    test = dh.SequentialTest(0.05, calibrate=False, sample_size=(100, 200), random_state=None)

    copy = clone(test)

    assert copy is not test
    assert copy.get_params() == {
        "alpha": 0.05,
        "beta": 0.01,
        "calibrate": False,
        "sample_size": (100, 200),
        "random_state": None,
    }
    assert copy.set_params(beta=0.2, alpha=0.1) is copy
    assert (copy.alpha, copy.beta, test.alpha, test.beta) == (0.1, 0.2, 0.05, 0.01)
    assert repr(dh.SequentialTest(beta=0.2, calibrate=False)) == "SequentialTest(beta=0.2, calibrate=False)"
    with pytest.raises(ParameterError, match=r"unknown parameter 'gamma'. The parameters are alpha, beta"):
        copy.set_params(alpha=0.3, gamma=1)
    assert copy.alpha == 0.1
    with pytest.raises(TypeError):
        dh.SequentialTest(0.1, 0.1, False)


def test_a_clone_of_a_fitted_test_is_not_fitted(rng):
    x, y, positive, negative = independent_codes(rng, 300, 16, 0.9, 0.5)
    fitted = quiet_fit(dh.SequentialTest(0.1, 0.1), x, y, dh.Pairs(positive, negative), 16)

    check_is_fitted(fitted)
    with pytest.raises(SklearnNotFittedError):
        check_is_fitted(clone(fitted))
    with pytest.raises(NotFittedError):
        clone(fitted).decide(x, y)
    copy = pickle.loads(pickle.dumps(fitted))
    for found, expected in zip(copy.decide(x, y), fitted.decide(x, y), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("module", ["diffhash.search", "diffhash.search.sequential"])
def test_importing_the_search_does_not_import_scikit_learn_or_scipy_stats(module):
    program = f"import sys, {module}; print([m for m in ('sklearn', 'scipy.stats', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
