"""Statistics of single bits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.evaluation import (
    bit_agreement,
    bit_diagnostics,
)

from ..strategies import problems


def test_balance_entropy_and_correlation_equal_those_of_numpy(rng):
    bits = rng.random((300, 11)) < np.linspace(0, 0.9, 11)
    found = bit_diagnostics(dh.codes.pack(bits), 11)
    np.testing.assert_allclose(found.balance, bits.mean(axis=0))
    assert found.entropy[0] == 0
    np.testing.assert_allclose(found.correlation[1:, 1:], np.corrcoef(bits[:, 1:].T), atol=1e-5)
    assert not found.correlation[0].any()


@given(problems(), st.integers(0, 2**31))
def test_agreement_equals_a_count_over_all_pairs(problem, seed):
    rng = np.random.default_rng(seed)
    bits_x = rng.random((len(problem.x), 3)) < 0.5
    bits_y = bits_x if problem.one_view else rng.random((len(problem.y), 3)) < 0.5
    packed = dh.codes.pack(bits_x), None if problem.one_view else dh.codes.pack(bits_y)

    found = bit_agreement(*packed, problem.pairs, 3)

    for shares, pairs in zip(found, (problem.positive, problem.negative), strict=True):
        expected = [
            np.mean([bits_x[i, b] == bits_y[j, b] for i, j in pairs]) if pairs else 0.0 for b in range(3)
        ]
        np.testing.assert_allclose(shares, expected)
