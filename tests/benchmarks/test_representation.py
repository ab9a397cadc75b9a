"""Representations of views, leave-one-out in closed form, and the choice that all peers share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import log_softmax

from benchmarks.peers import Representation, Setting, choose_representations
from benchmarks.peers.choose import held_out_recall
from benchmarks.peers.leave_one_out import STEEPNESS, choose_ridge, indicators, leave_one_out, log_losses
from benchmarks.peers.representation import candidates
from diffhash.comparison.linear_algebra import principal_axes
from diffhash.errors import FeatureCountError, InputError


@pytest.fixture
def counts():
    return np.random.default_rng(0).poisson(2.0, size=(40, 6)).astype(float)


def test_scalings_are_what_their_names_say(counts):
    mean, new = counts.mean(axis=0), counts[:5]
    expected = {
        "centred": new - mean,
        "standardised": (new - mean) / counts.std(axis=0),
        "cosine": (new - mean) / np.linalg.norm(new - mean, axis=1, keepdims=True),
        "root": np.sqrt(new) / np.sqrt(new.sum(axis=1, keepdims=True)),
    }
    for scaling, rows in expected.items():
        made = Representation(Setting(scaling)).fit(counts).transform(new)
        apart = np.linalg.norm(rows[:, None] - rows, axis=2)
        np.testing.assert_allclose(np.linalg.norm(made[:, None] - made, axis=2), apart, atol=1e-10)


def test_kernel_features_are_gaussians_of_the_median_distance(counts):
    fitted = Representation(Setting("centred", 4.0), n_landmarks=15).fit(counts)
    landmarks = fitted.landmarks_
    apart = np.sum((landmarks[:, None] - landmarks) ** 2, axis=2)
    assert fitted.bandwidth_ == pytest.approx(4 * np.median(apart[np.triu_indices(15, 1)]))
    features = np.exp(
        -np.sum((counts[:, None] - counts.mean(axis=0) - landmarks) ** 2, axis=2) / fitted.bandwidth_
    )

    np.testing.assert_allclose(
        fitted.transform(counts[:3]), (features[:3] - features.mean(axis=0)) @ fitted.axes_, atol=1e-10
    )


def test_landmarks_are_different_rows(counts):
    repeated = np.vstack([counts[:10]] * 4)
    fitted = Representation(Setting("centred", 1.0), n_landmarks=30).fit(repeated)

    assert len(fitted.landmarks_) == len(np.unique(counts[:10], axis=0))
    assert Representation(Setting("centred", 1.0)).fit(np.ones((5, 2))).transform(np.ones((5, 2))).shape == (
        5,
        1,
    )


@pytest.mark.parametrize("shape", [(30, 5), (8, 20)])
def test_principal_axes_are_those_of_the_covariance(shape):
    F = np.random.default_rng(1).standard_normal(shape)
    F -= F.mean(axis=0)

    axes, variances = principal_axes(F, 4)

    np.testing.assert_allclose(axes.T @ axes, np.eye(4), atol=1e-10)
    np.testing.assert_allclose((F @ axes).T @ (F @ axes) / len(F), np.diag(variances), atol=1e-10)
    np.testing.assert_allclose(variances, np.linalg.svd(F)[1][:4] ** 2 / len(F))


def test_representations_read_sparse_views_and_refuse_what_does_not_fit(counts):
    fitted = Representation(Setting("root", 1.0)).fit(sparse.csr_array(counts))
    np.testing.assert_allclose(
        fitted.transform(counts), Representation(Setting("root", 1.0)).fit(counts).transform(counts)
    )
    with pytest.raises(InputError, match="never negative"):
        Representation(Setting("root")).fit(counts - 3)
    with pytest.raises(InputError, match="'hellinger'"):
        Setting("hellinger")
    with pytest.raises(FeatureCountError, match="6 features"):
        fitted.transform(counts[:, :4])


def test_the_root_is_a_candidate_for_views_that_are_never_negative(counts):
    assert len(candidates(counts)) == 16
    assert len(candidates(counts - 1)) == 12
    assert len(candidates(sparse.csr_array(counts))) == 16


@settings(max_examples=25, deadline=None)
@given(st.integers(5, 12), st.integers(1, 15), st.sampled_from([1e-4, 1e-2, 1.0]), st.integers(0, 10**6))
def test_leave_one_out_equals_explicit_refits(n, d, ridge, seed):
    """Ridge regression with an intercept, fitted to all rows but one with the same penalty."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X -= X.mean(axis=0)
    Z = X @ principal_axes(X, d)[0]
    T = rng.standard_normal((n, 3))
    T -= T.mean(axis=0)
    penalty = n * ridge * np.mean(Z**2, axis=0).max()
    expected = []
    for i in range(n):
        rest = np.arange(n) != i
        A, t = Z[rest], T[rest]
        mean = A.mean(axis=0)
        gram = (A - mean).T @ (A - mean) + penalty * np.eye(Z.shape[1])
        W = np.linalg.solve(gram, (A - mean).T @ (t - t.mean(axis=0)))
        expected.append((Z[i] - mean) @ W + t.mean(axis=0))

    np.testing.assert_allclose(
        leave_one_out(Z, T, ridge), expected, atol=1e-6 * max(1, np.abs(expected).max())
    )


def test_the_ridge_grows_with_the_noise():
    rng = np.random.default_rng(2)
    labels = np.arange(90) % 3
    means = rng.standard_normal((3, 23))[labels]
    clear, noisy = (means + noise * rng.standard_normal((90, 23)) for noise in (0.1, 3.0))
    chosen = [
        choose_ridge((X - X.mean(axis=0)) @ principal_axes(X - X.mean(axis=0), 23)[0], labels)
        for X in (clear, noisy)
    ]

    assert chosen[0].ridge < chosen[1].ridge
    assert chosen[0].loss < 0.2 < chosen[1].loss


def test_log_losses_are_cross_entropies_of_the_softmax_at_each_steepness():
    rng = np.random.default_rng(6)
    scores, T = rng.standard_normal((20, 4)), indicators(np.arange(20) % 4)

    expected = [-np.mean(np.sum(T * log_softmax(beta * scores, axis=1), axis=1)) for beta in STEEPNESS]

    np.testing.assert_allclose(log_losses(scores, T), expected)
    np.testing.assert_array_equal(indicators(np.array([[True, True], [False, True]])), [[0.5, 0.5], [0, 1]])


def test_the_choice_finds_the_representation_that_carries_the_classes():
    """Classes by the direction of the rows, whose lengths vary: the cosine. By their length: a kernel."""
    rng = np.random.default_rng(3)
    labels = np.arange(200) % 4
    centres = np.concatenate([np.eye(8)[:2], -np.eye(8)[:2]])[labels]
    rays = (centres + 0.2 * rng.standard_normal((200, 8))) * rng.lognormal(0, 1, (200, 1))
    radius = 1 + labels + 0.1 * rng.standard_normal(200)
    turn = rng.uniform(0, 2 * np.pi, 200)
    rings = radius[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)

    choice = choose_representations({"rays": rays, "rings": rings}, labels)

    assert choice.best["rays"].scaling == "cosine"
    assert not choice.best["rings"].linear
    assert not choice.kernel["rays"].linear


def test_pairs_are_judged_by_their_held_out_partners():
    """A shared vector behind a monotone distortion of counts: found far better than by chance."""
    rng = np.random.default_rng(4)
    shared = rng.standard_normal((300, 6))
    views = {
        m: shared @ rng.standard_normal((6, 8)) + 0.2 * rng.standard_normal((300, 8)) for m in ("x", "y")
    }
    views["x"] *= rng.lognormal(0, 2, (300, 1))

    choice = choose_representations(views, None)

    assert choice.best["x"].scaling == "cosine"
    assert choice.scores["x"][choice.best["x"]] > choice.scores["x"][Setting("centred")]
    assert choose_representations(views, None).best == choice.best


def test_held_out_recall_is_that_of_canonical_variables():
    """Equal views: every partner is the nearest. Independent views: chance, ten in a hundred."""
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((2, 300, 5))

    assert held_out_recall(X[:200], X[200:], X[:200], X[200:], 1e-3) == 1
    assert 0.02 < held_out_recall(X[:200], X[200:], Y[:200], Y[200:], 1e-3) < 0.25
