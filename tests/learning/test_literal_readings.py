"""The printed equations of the paper do not work; the equations that the package uses do.

``python -m benchmarks.misprints`` measures this on the paper's data; here the data are small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import diffhash as dh
from tests.reference import literal

N_CLASSES = 10
N_BITS = 9
CHANCE = 0.2  # mAP of random codes is about 1 / N_CLASSES here


@dataclass
class SmallProblem:
    """A small data set: centred views, labels and listed pairs."""

    data: dh.datasets.MultimodalData
    pairs: dh.Pairs
    x: np.ndarray
    y: np.ndarray

    def precision(self, bits_x, bits_y) -> float:
        labels = self.data.train.labels["x"]
        codes = dh.codes.pack(bits_x), dh.codes.pack(bits_y)
        return dh.evaluate(*codes, labels, labels).mean_average_precision

    @property
    def difference(self):
        return literal.covariance_difference(self.x, self.y, self.pairs.positive, self.pairs.negative, 10.0)


@pytest.fixture(scope="module")
def small() -> SmallProblem:
    data = dh.datasets.make_paper_data(n_classes=N_CLASSES, n_train=800, n_test=10, random_state=7)
    labels = data.train.labels
    pairs = dh.Pairs.from_labels(labels["x"], labels["y"], 4000, 20_000, random_state=7)
    x, y = (data.train.views[m] - data.train.views[m].mean(axis=0, dtype=np.float64) for m in "xy")
    return SmallProblem(data, pairs, x, y)


@pytest.fixture(scope="module")
def projected(small) -> tuple[np.ndarray, np.ndarray]:
    """Projections by the largest singular vectors, with the sign of one side changed."""
    P, Q = literal.largest_singular_vectors(small.difference, N_BITS)
    return small.x @ P.T, -small.y @ Q.T


@pytest.mark.parametrize("choose", [literal.smallest_singular_vectors, literal.smallest_singular_pairs])
def test_smallest_singular_vectors_are_hardly_better_than_chance(small, choose):
    """Section 4.1 prints "smallest". These make the trace loss almost zero, but it should be negative."""
    P, Q = choose(small.difference, N_BITS)

    assert small.precision(small.x @ P.T >= 0, small.y @ Q.T >= 0) < CHANCE


def test_largest_singular_vectors_without_a_sign_change_are_worse_than_chance(small):
    """The trace loss is then at its maximum: similar objects get opposite bits."""
    P, Q = literal.largest_singular_vectors(small.difference, N_BITS)

    assert small.precision(small.x @ P.T >= 0, small.y @ Q.T >= 0) < 1 / N_CLASSES


def test_largest_singular_vectors_with_one_sign_changed_find_similar_objects(small):
    hasher = dh.DiffHash(n_bits=N_BITS, thresholds="zero").fit(small.data.train.views, small.pairs)

    codes = (hasher.encode(small.data.train.views[m], modality=m) for m in "xy")

    labels = small.data.train.labels["x"]
    assert dh.evaluate(*codes, labels, labels).mean_average_precision > 3 * CHANCE


def test_trace_loss_is_lowest_for_our_projections(small):
    """Ours is minus the sum of the largest singular values; that of the printed choice is near zero."""
    values = np.linalg.svd(small.difference, compute_uv=False)[:N_BITS]
    P, Q = literal.largest_singular_vectors(small.difference, N_BITS)

    assert literal.trace_loss(P, -Q, small.difference) == pytest.approx(-values.sum())
    for choose in (literal.smallest_singular_vectors, literal.smallest_singular_pairs):
        assert (
            abs(literal.trace_loss(*choose(small.difference, N_BITS), small.difference)) < 0.1 * values.sum()
        )


def _constant_bits(values, thresholds) -> np.ndarray:
    share = (values + thresholds >= 0).mean(axis=0)
    return (share < 0.01) | (share > 0.99)


def test_product_of_marginals_with_gamma_chooses_constant_bits(small, projected):
    """On positives the signs are dependent. The product ignores this, so with gamma > 1 constant bits win."""

    def cost(x, y, u, v):
        missed, accepted = literal.product_rates(x, y, small.pairs.positive, small.pairs.negative, u, v)
        return 10.0 * missed + accepted

    a, b, lowest = literal.best_thresholds(*projected, cost)

    assert _constant_bits(projected[0], a).all()
    assert _constant_bits(projected[1], b).all()
    assert lowest == pytest.approx(1.0, abs=0.05)


def test_joint_counts_with_gamma_give_uneven_bits(small, projected):
    """A constant bit misses no positive and accepts every negative: it costs 1 for every gamma."""

    def smaller_sides(weight):
        def cost(x, y, u, v):
            missed, accepted = literal.joint_rates(x, y, small.pairs.positive, small.pairs.negative, u, v)
            return weight * missed + accepted

        a, _, lowest = literal.best_thresholds(*projected, cost)
        share = (projected[0] + a >= 0).mean(axis=0)
        return np.minimum(share, 1 - share), lowest

    uneven, lowest = smaller_sides(10.0)
    even, _ = smaller_sides(1.0)

    assert np.all(lowest <= 1 + 1e-12)
    assert uneven.mean() < even.mean() / 2


def test_repeated_false_positive_term_gives_constant_bits_the_cost_0(small, projected):
    """The last line of (7) counts pairs below both thresholds twice, and pairs above both never."""

    def cost(x, y, u, v):
        missed, _ = literal.product_rates(x, y, small.pairs.positive, small.pairs.negative, u, v)
        return 10.0 * missed + literal.repeated_term_false_positives(x, y, small.pairs.negative, u, v)

    a, b, lowest = literal.best_thresholds(*projected, cost)

    assert np.all(lowest == 0)
    assert np.all(projected[0] + a >= 0)
    assert np.all(projected[1] + b >= 0)


def test_thresholds_of_the_package_give_no_constant_bit(small):
    hasher = dh.DiffHash(n_bits=N_BITS, gamma=10.0).fit(small.data.train.views, small.pairs)

    for m in "xy":
        values = hasher.project(small.data.train.views[m], modality=m)
        share = (values >= 0).mean(axis=0)
        assert np.all((share > 0.02) & (share < 0.98))


@pytest.mark.parametrize("power", [-1.0, -0.5])
def test_kernel_without_bandwidth_is_zero_in_128_dimensions(power):
    """A squared distance is about twice the number of features, and e^-256 is 0 in float32."""
    X = np.random.default_rng(0).normal(scale=5.0, size=(200, 128))
    values = literal.gaussian_kernel(X, X, X.var(axis=0), power).astype(np.float32)

    assert np.all(values[~np.eye(len(X), dtype=bool)] == 0)


def test_kernel_of_the_package_has_values_that_are_not_tiny():
    X = np.random.default_rng(0).normal(scale=5.0, size=(200, 128)).astype(np.float32)
    for bandwidth, typical in (("median", np.exp(-1)), ("balanced", 1 / 100)):
        hasher = dh.KernelDiffHash(n_bits=8, n_landmarks=100, bandwidth=bandwidth)
        hasher.fit({"x": X, "y": X}, dh.Pairs.aligned(len(X)))

        assert np.median(hasher.maps_["x"].transform(X)) == pytest.approx(typical, rel=0.2)


def test_without_centring_a_large_mean_makes_the_first_bit_constant(small):
    """If data are far from zero, the product of the means dominates E{x y^T}."""
    views = {m: view + np.float32(100.0) for m, view in small.data.train.views.items()}

    shares = {
        center: (
            dh.DiffHash(n_bits=N_BITS, thresholds="zero", center=center)
            .fit(views, small.pairs)
            .project(views["x"], modality="x")[:, 0]
            >= 0
        ).mean()
        for center in (False, True)
    }

    assert shares[False] in (0.0, 1.0)
    assert 0.2 < shares[True] < 0.8


def test_minimising_the_boosting_objective_is_worse_than_chance(small):
    """Equation (1) prints "min", but the sentence before it says that the objective is maximised."""

    def precision(**reading):
        (P, a), (Q, b) = literal.boost(
            small.x, small.y, small.pairs.positive, small.pairs.negative, 6, **reading
        )
        return small.precision(small.x @ P.T + a >= 0, small.y @ Q.T + b >= 0)

    assert precision(minimise=True) < 1 / N_CLASSES
    assert precision() > 2 * CHANCE


def test_gamma_has_no_effect_when_all_pairs_are_used(small):
    """With centred data and all other pairs as negatives, both covariances have the same singular vectors."""
    labels = small.data.train.labels
    pairs = dh.Pairs.from_labels(labels["x"], labels["y"])

    first, *others = (
        dh.DiffHash(n_bits=N_BITS, gamma=gamma).fit(small.data.train.views, pairs).projections_["x"]
        for gamma in (0.0, 1.0, 10.0, np.inf)
    )

    for other in others:
        np.testing.assert_allclose(other, first, atol=1e-4)
