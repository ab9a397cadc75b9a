"""SCRATCH, BATCH, SRLCH, regressions to class codes, and ITQ on principal components."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from benchmarks.peers import (
    BATCH,
    PCAITQ,
    SCRATCH,
    SRLCH,
    AlignedITQ,
    LogisticCodes,
    Posteriors,
    RidgeCodes,
)
from benchmarks.peers.batch import nearest_orthogonal
from benchmarks.peers.class_codes import separated_class_codes
from diffhash.errors import InputError, TooManyBitsError


@pytest.fixture
def data():
    """60 objects of 4 classes of unequal size, 6 and 5 features."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), [30, 15, 10, 5])
    X = rng.standard_normal((4, 6))[labels] + 0.5 * rng.standard_normal((60, 6)) + 2
    Y = rng.standard_normal((4, 5))[labels] + 0.5 * rng.standard_normal((60, 5)) - 1
    return {"x": X, "y": Y}, labels


@pytest.mark.parametrize("ridge", ["loo", 1e-2])
@pytest.mark.parametrize("peer", [SCRATCH, BATCH, SRLCH])
def test_no_step_raises_the_objective(peer, ridge, data):
    for seed in range(3):
        fitted = peer(10, random_state=seed, ridge=ridge, n_iterations=15, trace=True).fit(*data)
        objective = np.array(fitted.objective_)
        assert len(objective) == 15
        assert np.all(np.diff(objective) <= 1e-8 * np.abs(objective[0]))
        assert objective[-1] < objective[0]


@pytest.mark.parametrize("peer", [SCRATCH, BATCH, SRLCH, RidgeCodes, LogisticCodes, Posteriors])
def test_peers_of_classes_need_labels(peer, data):
    with pytest.raises(InputError, match="needs labels"):
        peer(8).fit(data[0])


@pytest.mark.parametrize("peer", [SCRATCH, BATCH, SRLCH, RidgeCodes, LogisticCodes])
def test_peers_of_classes_take_several_labels_and_another_seed_gives_other_codes(peer, data):
    views, labels = data
    several = np.eye(4, dtype=bool)[labels]
    several[:, 3] |= np.arange(60) % 7 == 0

    codes = [peer(16, random_state=s).fit(views, several).encode(views["x"], "x") for s in (0, 0, 1)]

    np.testing.assert_array_equal(codes[0], codes[1])
    assert not np.array_equal(codes[0], codes[2])


def test_srlch_codes_are_a_fixed_point(data):
    """More iterations change nothing once the codes stay."""
    few, many = (SRLCH(8, n_iterations=n).fit(*data) for n in (60, 90))

    np.testing.assert_array_equal(few.codes_, many.codes_)


def test_batch_gives_the_rows_of_a_class_one_code(data):
    """The similarity of labels leads: rows of one class differ in few bits, of two classes in many."""
    views, labels = data
    codes = BATCH(16).fit(views, labels).codes_
    products = codes @ codes.T / 16
    same = labels[:, None] == labels

    assert products[same].mean() > 0.9
    assert products[~same].mean() < 0.3


@pytest.mark.parametrize("rank", [2, 5])
def test_nearest_orthogonal_beats_every_other_one(rank):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((20, rank)) @ rng.standard_normal((rank, 5))

    V = nearest_orthogonal(Z, rng)

    np.testing.assert_allclose(V.T @ V, 20 * np.eye(5), atol=1e-8)
    np.testing.assert_allclose(V.sum(axis=0), 0, atol=1e-8)
    centred = Z - Z.mean(axis=0)
    assert np.sum(V * Z) == pytest.approx(np.sqrt(20) * np.linalg.svd(centred)[1].sum())


def test_batch_refuses_as_many_bits_as_rows(data):
    views, labels = data
    with pytest.raises(TooManyBitsError, match="10 bits, but 10 rows give at most 9"):
        BATCH(10).fit({m: X[:10] for m, X in views.items()}, labels[:10])


@pytest.mark.parametrize(("n_classes", "n_bits"), [(2, 8), (10, 16), (10, 32), (100, 16), (100, 64)])
def test_class_codes_are_farther_apart_than_random_ones(n_classes, n_bits):
    rng = np.random.default_rng(2)
    codes = separated_class_codes(n_classes, n_bits, rng)
    random = rng.choice([-1.0, 1.0], size=(n_classes, n_bits))

    def nearest(rows):
        products = rows @ rows.T - 2 * n_bits * np.eye(n_classes)
        return (n_bits - products.max()) / 2

    assert set(np.unique(codes)) == {-1.0, 1.0}
    assert nearest(codes) > nearest(random)
    assert n_classes > 2 or nearest(codes) == n_bits


def test_ridge_to_class_codes_equals_scikit_learns(data):
    views, labels = data
    peer = RidgeCodes(12, ridge=0.05).fit(views, labels)
    targets = separated_class_codes(4, 12, np.random.default_rng(0))[labels]
    X = views["x"]
    largest = np.linalg.eigvalsh(np.cov(X.T, bias=True))[-1]

    theirs = Ridge(alpha=60 * 0.05 * largest).fit(X, targets)

    np.testing.assert_allclose(peer.project(X, "x"), theirs.predict(X), atol=1e-8)


def test_logistic_to_class_codes_equals_scikit_learns(data):
    views, labels = data
    peer = LogisticCodes(6, ridge=0.02, n_iterations=500).fit(views, labels)
    targets = separated_class_codes(4, 6, np.random.default_rng(0))[labels]
    X = views["y"]
    largest = np.linalg.eigvalsh(np.cov(X.T, bias=True))[-1]

    for bit in range(6):
        theirs = LogisticRegression(C=1 / (60 * 0.02 * largest), tol=1e-8, max_iter=10_000)
        theirs.fit(X, targets[:, bit])
        np.testing.assert_allclose(peer.project(X, "y")[:, bit], theirs.decision_function(X), atol=2e-2)


def test_a_word_that_is_not_a_ridge_is_refused(data):
    with pytest.raises(InputError, match="'auto'"):
        RidgeCodes(4, ridge="auto").fit(*data)


def test_posteriors_are_probabilities_of_the_classes(data):
    views, labels = data
    peer = Posteriors(0).fit(views, labels)

    found = peer.project(views["x"], "x")

    assert found.shape == (60, 4)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.mean(found.argmax(axis=1) == labels) > 0.8
    with pytest.raises(InputError, match="inner product"):
        peer.encode(views["x"], "x")


def test_pca_itq_rotates_the_components_of_the_concatenated_views(data):
    """Without a ridge, and with one view a linear function of the other, each view predicts them exactly."""
    X = data[0]["x"]
    views = {"x": X, "y": X @ np.random.default_rng(3).standard_normal((6, 6))}
    both = np.hstack(
        [(Z - Z.mean(0)) / np.sqrt(np.mean(np.sum((Z - Z.mean(0)) ** 2, axis=1))) for Z in views.values()]
    )

    peer = PCAITQ(3, ridge=0.0).fit(views)

    left, right = (peer.project(Z, m) for m, Z in views.items())
    np.testing.assert_allclose(left, right, atol=1e-6)
    values = np.linalg.svd(both)[1][:3]
    np.testing.assert_allclose(np.linalg.svd(left)[1], values, rtol=1e-6)
    assert np.all(np.diff(peer.losses_) <= 1e-9 * peer.losses_[0])
    with pytest.raises(TooManyBitsError, match="at most 6"):
        PCAITQ(7).fit(views)


def test_itq_of_embeddings_needs_one_space_and_rotates_it(data):
    views, _ = data
    with pytest.raises(InputError, match="6 and 5 features"):
        AlignedITQ(3).fit(views)
    same = {"x": views["x"][:, :5], "y": views["y"]}

    peer = AlignedITQ(5).fit(same)

    np.testing.assert_allclose(peer.projections_["x"].T @ peer.projections_["x"], np.eye(5), atol=1e-10)
    np.testing.assert_array_equal(peer.projections_["x"], peer.projections_["y"])
    with pytest.raises(TooManyBitsError, match="at most 5"):
        AlignedITQ(6).fit(same)
