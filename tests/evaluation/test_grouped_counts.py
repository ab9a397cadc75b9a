"""Distance counts by group equal those of a loop over pairs, and add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.codes import pack
from diffhash.evaluation.grouped_counts import GroupedDistanceCounts
from tests.reference.distance_calibration import grouped_counts
from tests.strategies import problems


@given(problems(), st.sampled_from([1, 7, 8, 9, 20]), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_counts_equal_a_loop_over_pairs(problem, n_bits, n_groups, seed):
    rng = np.random.default_rng(seed)
    x = pack(rng.random((len(problem.x), n_bits)) < 0.3)
    y = x if problem.one_view else pack(rng.random((len(problem.y), n_bits)) < 0.3)
    groups_x = rng.integers(0, n_groups, len(x))
    groups_y = groups_x if problem.one_view else rng.integers(0, n_groups, len(y))
    sums = GroupedDistanceCounts(n_bits, n_groups)

    sums.update(x, y, groups_x, groups_y, problem.pairs.resolve(len(x), None if problem.one_view else len(y)))

    expected = grouped_counts(x, y, groups_x, groups_y, problem.positive, problem.negative, n_bits, n_groups)
    np.testing.assert_array_equal(sums.counts, expected)


def test_counts_of_parts_add_up():
    rng = np.random.default_rng(0)
    codes, groups = pack(rng.random((40, 12)) < 0.5), rng.integers(0, 4, 40)
    first, second, both = (GroupedDistanceCounts(12, 4) for _ in range(3))
    for sums, rows in ((first, slice(0, 25)), (second, slice(25, 40))):
        pairs = dh.Pairs.aligned(len(codes[rows])).resolve(len(codes[rows]), len(codes[rows]))
        for each in (sums, both):
            each.update(codes[rows], codes[rows], groups[rows], groups[rows], pairs)

    first.merge(second)

    np.testing.assert_array_equal(first.counts, both.counts)
    assert first.counts[1, 0].sum() == 40
    with pytest.raises(ValueError, match="cannot be added"):
        first.merge(GroupedDistanceCounts(13, 4))
