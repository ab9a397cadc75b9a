"""Chances and promises from distance counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.codes import pack
from diffhash.errors import CalibrationError
from diffhash.evaluation.grouped_counts import GroupedDistanceCounts
from diffhash.model import CoupleCalibration
from diffhash.search import calibration
from diffhash.search.calibration import calibration_error, chance_at, false_match_limit, upper_rates
from tests.reference import distance_calibration as reference

N_GROUPS = 16


def counted(n, n_bits, seed, *, noise=0.15):
    """Counts of aligned objects whose codes of both views are noisy copies of one."""
    rng = np.random.default_rng(seed)
    bits = rng.random((n, n_bits)) < np.linspace(0.2, 0.8, n_bits)
    x, y = (pack(bits ^ (rng.random((n, n_bits)) < noise)) for _ in range(2))
    groups = rng.permutation(n) % N_GROUPS
    sums = GroupedDistanceCounts(n_bits, N_GROUPS)
    sums.update(x, y, groups, groups, dh.Pairs.aligned(n).resolve(n, n))
    return sums.counts


def couple_of(counts, **values):
    return CoupleCalibration(counts, values.get("labelled", False), values.get("expected", 1.0), None, None)


@given(st.integers(16, 40), st.sampled_from([3, 8, 17]), st.integers(0, 2**32 - 1))
def test_bounds_equal_the_slow_ones(n, n_bits, seed):
    counts = counted(n, n_bits, seed)[0]

    bounds, _ = upper_rates(counts)

    slow = [reference.upper_rate(counts, radius, calibration.FEWEST_COUNTS) for radius in range(n_bits + 1)]
    for radius in range(n_bits + 1):
        later = [bound for bound in slow[radius:] if bound is not None]
        assert bounds[radius] == pytest.approx(min(later, default=1.0))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=12).filter(
        lambda c: sum(s for s, _ in c) and sum(d for _, d in c)
    ),
    st.integers(2, 1000),
)
def test_chances_equal_the_slow_ones_and_never_rise_with_the_distance(counts, n_items):
    similar, dissimilar = np.array(counts).T
    table = np.stack([np.stack([row] * 3) for row in (dissimilar, similar)])

    chances = chance_at(couple_of(table), n_items)

    ratio = reference.monotone_ratio(similar, dissimilar)
    np.testing.assert_allclose(chances, ratio / (ratio + n_items - 1))
    assert np.all(np.diff(chances) <= 0)


def test_more_expected_matches_give_a_larger_chance_and_more_items_a_smaller_one():
    couple = couple_of(counted(100, 16, 0))

    usual = chance_at(couple, 1000)[3]

    assert chance_at(couple, 1000, expected_matches=20)[3] > usual > chance_at(couple, 5000)[3]
    assert chance_at(couple, 5, expected_matches=7).tolist() == [1.0] * 17


def test_without_similar_pairs_there_is_no_chance_but_a_promise():
    counts = counted(200, 16, 0)
    counts[1] = 0
    couple = couple_of(counts, expected=None)

    assert chance_at(couple, 10) is None
    assert false_match_limit(couple, 10, 1.0, caller="test").radius >= 0


def test_labels_expect_a_share_of_the_items():
    couple = couple_of(counted(50, 8, 0), labelled=True, expected=0.1)

    assert couple.expected_matches(500) == pytest.approx(50)
    np.testing.assert_allclose(chance_at(couple, 500), chance_at(couple, 5000), rtol=1e-12)


def test_a_larger_allowance_never_gives_a_smaller_radius():
    couple = couple_of(counted(300, 16, 1))
    limits = [false_match_limit(couple, 300, f, caller="test") for f in (3.0, 10.0, 100.0, 300.0)]

    assert [limit.radius for limit in limits] == sorted(limit.radius for limit in limits)
    assert all(limit.false_matches <= f for limit, f in zip(limits, (3.0, 10.0, 100.0, 300.0), strict=True))
    assert limits[-1].radius == 16


def test_too_few_counts_refuse_and_say_how_many_are_needed():
    couple = couple_of(counted(100, 32, 1))

    with pytest.raises(
        CalibrationError, match=r"needs about [\d,]+ or more .* the model has 9,900,.*promise"
    ):
        false_match_limit(couple, 1_000_000, 0.1, caller="test")


def test_the_same_code_for_everything_promises_nothing():
    counts = np.zeros((2, 1 + N_GROUPS, 9), dtype=np.int64)
    counts[0, :, 0] = 200
    counts[0, 0, 0] = 1600
    counts[1, :, 0] = 2

    assert false_match_limit(couple_of(counts), 1000, 1.0, caller="test").radius == -1


def test_counts_of_one_object_count_for_little():
    """A thousand pairs of one object say as little about the next object as one pair does."""
    spread, alone = (np.zeros((1 + N_GROUPS, 2), dtype=np.int64) for _ in range(2))
    for counts in (spread, alone):
        counts[0], counts[1:] = (1000, 100_000), (0, 12_500)
    spread[1:, 0] = 125
    alone[1, 0] = 1000

    (bound, _), (effective, _) = upper_rates(spread)
    (alone_bound, _), (alone_effective, _) = upper_rates(alone)

    assert effective == 1000
    assert bound < 0.0106
    assert alone_effective < 2
    assert alone_bound == 1.0  # refused, and all pairs together are within the next radius


def test_the_promise_holds_for_unseen_objects():
    """The bound is above the true share in at least nine of ten samples of objects, at 95 % confidence."""
    true = np.cumsum(counted(4000, 16, 0)[0, 0])
    true = true / true[-1]
    kept = []
    for seed in range(1, 101):
        bounds, effective = upper_rates(counted(150, 16, seed)[0])
        kept.append((bounds >= true)[(effective >= calibration.FEWEST_COUNTS) & (true < 0.5)].mean())

    assert np.mean(kept) > 0.9


def test_calibration_error_of_right_and_wrong_chances():
    table = np.array([[[0, 1], [3, 1]], [[1, 0], [2, 2]]])

    assert calibration_error(table, np.array([0.5, 3 / 8]), k=5) == pytest.approx(0.0)
    assert calibration_error(table, np.array([1.0, 1.0]), k=5) == pytest.approx(0.6)


@pytest.mark.parametrize("promise", [5e-324, 1e-300, 1e-20])
def test_a_tiny_promise_cannot_be_made_and_is_not_an_overflow(promise):
    counts = np.array([[[0, 300, 99_700]] + [[0, 60, 19_940]] * 10, [[50, 50, 0]] + [[10, 10, 0]] * 10])
    couple = CoupleCalibration(counts, False, 1.0, None, None)

    with pytest.raises(CalibrationError, match="cannot promise"):
        false_match_limit(couple, 10**9, promise, caller="search")
