"""Boosting: weights, directions and bits are compared with slow references."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.learning.boosting import PairWeights, boost, leading_directions
from diffhash.learning.histograms import grid_edges
from diffhash.maps import LinearMap, MappedView
from diffhash.pairs.couples import ResolvedCouples

from ..reference import error_rates


def toy_problem(seed, n=30):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, size=n)
    x = rng.normal(size=(3, 4))[labels] * 2 + rng.normal(size=(n, 4))
    y = rng.normal(size=(3, 3))[labels] * 2 + rng.normal(size=(n, 3))
    pairs = dh.Pairs.from_labels(labels, labels, 20, 40, random_state=seed).resolve(n, n)
    return x, y, pairs


def listed(positive, negative):
    n = max(int(side.max()) for side in (*positive, *negative)) + 1
    return ResolvedCouples.of_pairs(dh.Pairs(positive, negative).resolve(n, n))


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_weights_follow_adaboost(n_positive, n_negative, data):
    """A weight becomes w exp(-alpha s xi eta), then normalised, with alpha = 1/2 ln((1 + r) / (1 - r))."""
    n = n_positive + n_negative
    index = np.arange(n_positive), np.arange(n_positive)
    other = np.arange(n_negative) + n_positive, np.arange(n_negative)
    boosted = PairWeights(listed(index, other))
    signs = [1] * n_positive + [-1] * n_negative
    weights = [0.5 / n_positive] * n_positive + [0.5 / n_negative] * n_negative
    for _ in range(3):
        agrees = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
        products = [s * (1 if a else -1) for s, a in zip(signs, agrees, strict=True)]
        r = sum(w * p for w, p in zip(weights, products, strict=True))

        found = boosted.update(np.array(agrees))

        assert found == pytest.approx(r, abs=1e-9)
        if abs(r) > 0.999999:
            return
        alpha = 0.5 * np.log((1 + r) / (1 - r))
        weights = [w * np.exp(-alpha * p) for w, p in zip(weights, products, strict=True)]
        weights = [w / sum(weights) for w in weights]
        np.testing.assert_allclose(boosted.weights, weights, atol=1e-9)


def test_after_an_update_the_last_bit_has_no_correlation(rng):
    """An invariant of AdaBoost: with the new weights the correlation of the last bit is 0."""
    boosted = PairWeights(listed((np.arange(50), np.arange(50)), (np.arange(80), np.arange(80) + 50)))
    agrees = rng.random(130) < np.repeat([0.8, 0.3], [50, 80])
    boosted.update(agrees)
    products = np.where(agrees, boosted.signs, -boosted.signs)
    assert boosted.weights @ products == pytest.approx(0.0, abs=1e-12)


def test_directions_are_the_leading_singular_pairs(rng):
    moment = rng.normal(size=(6, 4))
    left, right = leading_directions(moment, 3, one_view=False)
    values = np.linalg.svd(moment, compute_uv=False)
    np.testing.assert_allclose(np.diag(left.T @ moment @ right), values[:3], atol=1e-10)


def test_one_view_uses_the_largest_eigenvalues_of_the_symmetric_part(rng):
    moment = rng.normal(size=(5, 5))
    left, right = leading_directions(moment, 2, one_view=True)
    np.testing.assert_array_equal(left, right)
    values = np.linalg.eigvalsh((moment + moment.T) / 2)
    np.testing.assert_allclose(np.diag(left.T @ moment @ left), values[::-1][:2], atol=1e-10)


@pytest.mark.parametrize("n_directions", [1, 3])
def test_bits_equal_those_of_a_slow_implementation(n_directions):
    """The reference computes sums and errors with a loop over pairs."""
    x, y, pairs = toy_problem(5)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    index = [*zip(*pairs.positive, strict=True), *zip(*pairs.negative, strict=True)]
    signs = [1.0] * pairs.n_positive + [-1.0] * pairs.n_negative
    weights = np.array(
        [0.5 / pairs.n_positive] * pairs.n_positive + [0.5 / pairs.n_negative] * pairs.n_negative
    )
    n_bins, n_bits = 16, 4

    (P, Q), (a, b), correlations = boost(
        [MappedView(x, LinearMap(np.zeros(4))), MappedView(y, LinearMap(np.zeros(3)))],
        ResolvedCouples.of_pairs(pairs),
        n_bits=n_bits,
        n_directions=n_directions,
        min_share=0.0,
        n_bins=n_bins,
    )

    for bit in range(n_bits):
        moment = sum(w * s * np.outer(x[i], y[j]) for (i, j), s, w in zip(index, signs, weights, strict=True))
        left, right = leading_directions(moment, n_directions, one_view=False)
        # The bit must be at least as good as every threshold pair of the coarse grid, in every direction.
        best = -np.inf
        for d in range(n_directions):
            px, py = x @ left[:, d], y @ right[:, d]
            edges_x, edges_y = (
                grid_edges(v.mean(keepdims=True), v.std(keepdims=True), n_bins)[0] for v in (px, py)
            )
            for tx in edges_x:
                for ty in edges_y:
                    if 0 < (px >= tx).mean() < 1 and 0 < (py >= ty).mean() < 1:
                        best = max(
                            best,
                            error_rates.correlation(
                                np.where(px >= tx, 1, -1), np.where(py >= ty, 1, -1), index, signs, weights
                            ),
                        )
        bit_x, bit_y = np.where(x @ P[bit] + a[bit] >= 0, 1, -1), np.where(y @ Q[bit] + b[bit] >= 0, 1, -1)
        r = error_rates.correlation(bit_x, bit_y, index, signs, weights)
        assert correlations[bit] == pytest.approx(r, abs=1e-9)
        assert r >= best - 1e-9
        assert any(np.allclose(P[bit], left[:, d], atol=1e-6) for d in range(n_directions))
        alpha = 0.5 * np.log((1 + r) / (1 - r))
        weights = weights * [
            np.exp(-alpha * s * bit_x[i] * bit_y[j]) for (i, j), s in zip(index, signs, strict=True)
        ]
        weights /= weights.sum()


def test_bits_that_are_no_better_than_chance_give_a_warning(rng):
    """The pairs contradict the similarity of the features, so nothing can be learned."""
    views = {"x": np.tile([[0.0], [1.0]], (20, 1)), "y": np.tile([[0.0], [1.0]], (20, 1))}
    i = np.arange(40)
    pairs = dh.Pairs(positive=(i[:20], i[:20]), negative=(i[20:], i[20:]))
    with pytest.warns(dh.errors.RankWarning, match="better than chance"):
        dh.BoostedHash(n_bits=2).fit(views, pairs)


def test_wide_moments_give_the_same_leading_directions(rng):
    """With 256 features or more, Lanczos' method is used instead of the full decomposition."""
    moment = rng.normal(size=(300, 280)) + 30 * np.outer(rng.normal(size=300), rng.normal(size=280))
    p, q = leading_directions(moment, 3, one_view=False)
    u, _, vt = np.linalg.svd(moment)
    np.testing.assert_allclose(np.abs(np.sum(u[:, :3] * p, axis=0)), 1, atol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(vt[:3].T * q, axis=0)), 1, atol=1e-9)
    again = leading_directions(moment, 3, one_view=False)
    np.testing.assert_array_equal(again[0], p)
