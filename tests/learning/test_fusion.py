"""Reliability of modalities: consensus of partners, slopes, and values of a second model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import diffhash as dh
from diffhash.learning.fusion import partner_consensus, reliability_slopes, transferred_values
from diffhash.pairs.couples import ResolvedCouples
from tests.reference import fusion as reference
from tests.strategies import many_views


@given(many_views(), st.integers(0, 2**32 - 1))
def test_consensus_of_partners_is_that_of_a_loop_over_pairs(problem, seed):
    rng = np.random.default_rng(seed)
    values = [rng.integers(-1, 2, size=(len(view), 3)).astype(float) for view in problem.views]

    found = partner_consensus(values, problem.resolved)

    couples = list(problem.couples)
    labelled = [c for c in problem.resolved if c.pairs.groups is not None and c.pairs.positive is None]
    within = {u for u, v, *_ in couples if u == v}
    for couple in labelled:
        # With labels, rows of one class are partners within their own modality, too.
        for side, rows in zip(couple.sides, (couple.pairs.groups.x, couple.pairs.groups.y), strict=True):
            if side not in within:
                within.add(side)
                n = len(rows)
                same = {(i, j) for i in range(n) for j in range(i + 1, n) if rows[i] == rows[j]}
                couples.append((side, side, 1.0, same, set()))
    for mine, expected in zip(found, reference.partner_consensus(values, couples), strict=True):
        np.testing.assert_allclose(mine, expected, atol=1e-12)


def test_real_valued_consensus_is_in_units_of_the_root_mean_square():
    """Two partners of the first row, none of the second; a bit that is always zero stays zero."""
    pairs = dh.Pairs(positive=([0, 0, 2], [0, 1, 1])).resolve(3, 2)
    partners = np.array([[3.0, 0.0], [-1.0, 0.0]])

    found = partner_consensus(
        [np.zeros((3, 2)), partners], ResolvedCouples.of_pairs(pairs), real_valued=True
    )[0]

    np.testing.assert_allclose(found[:, 0], np.array([1.0, 0.0, -1.0]) / np.sqrt(5.0))
    assert not found[:, 1].any()


def test_consensus_with_sets_of_labels_leaves_the_row_itself_out():
    labels = np.array([[1, 0], [1, 1], [0, 0], [0, 1]], bool)
    couples = ResolvedCouples.of_pairs(dh.Pairs.from_labels(labels).resolve(4, None))
    values = np.array([[1.0], [-1.0], [1.0], [-1.0]])

    (found,) = partner_consensus([values], couples)

    np.testing.assert_array_equal(found, [[-1.0], [0.0], [0.0], [-1.0]])


@given(st.integers(0, 2**32 - 1), st.integers(3, 20), st.integers(1, 4))
def test_slopes_minimise_the_penalised_loss(seed, n, n_bits):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, n_bits)) * rng.uniform(0.1, 10, size=n_bits)
    consensus = np.clip(rng.normal(size=(n, n_bits)) + 0.5 * np.sign(values), -1, 1)

    slopes = reliability_slopes(values, consensus)

    scale = np.sqrt((values**2).mean(axis=0))
    flat = (values / scale).ravel(), consensus.ravel()

    def best(*arguments):
        return minimize_scalar(
            reference.penalised_loss, args=arguments, bounds=(-200, 200), method="bounded"
        ).x

    common = best(*flat, 0.0, 0.01 * n_bits)
    for b in range(n_bits):
        expected = best(values[:, b] / scale[b], consensus[:, b], common, 4.0)
        assert slopes[b] * scale[b] == pytest.approx(max(expected, 0.01), abs=0.02)


def test_a_more_reliable_modality_gets_a_larger_slope(rng):
    truth = np.where(rng.random((2000, 4)) < 0.5, 1.0, -1.0)
    strong, weak = truth + 0.7 * rng.normal(size=truth.shape), truth + 3.0 * rng.normal(size=truth.shape)

    of_strong, of_weak = reliability_slopes(strong, truth), reliability_slopes(weak, truth)

    # Of truth plus Gaussian noise, the log-likelihood ratio has the slope 2 / variance.
    np.testing.assert_allclose(of_strong, 2 / 0.7**2, rtol=0.2)
    np.testing.assert_allclose(of_weak, 2 / 3.0**2, rtol=0.3)


def test_a_modality_that_is_always_wrong_or_constant_says_nearly_nothing():
    truth = np.tile([[1.0], [-1.0]], (100, 1))

    wrong, constant = reliability_slopes(-truth, truth), reliability_slopes(np.zeros_like(truth), truth)

    assert 0 < wrong[0] <= 0.011
    assert 0 < constant[0] <= 0.011


@given(st.integers(0, 2**32 - 1))
def test_values_of_a_rotated_model_come_back_in_the_bits_of_the_model(seed):
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    views = [rng.normal(size=(60, 5)) * scale + rng.normal(size=5) for scale in (1.0, 4.0)]
    shifts = [rng.normal(size=5) for _ in views]
    second = [view @ rotation + shift for view, shift in zip(views, shifts, strict=True)]
    new = [rng.normal(size=(7, 5)) for _ in views]

    found = transferred_values(
        views, second, [rows @ rotation + shift for rows, shift in zip(new, shifts, strict=True)]
    )

    for mine, expected in zip(found, new, strict=True):
        np.testing.assert_allclose(mine, expected, atol=0.1)
