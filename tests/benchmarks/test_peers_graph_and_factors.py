"""IMH and CMFH against their definitions."""

import numpy as np
import pytest
from scipy.linalg import block_diag, null_space

from benchmarks.peers import CMFH, IMH
from benchmarks.peers.imh import imh_matrix, laplacian, regression_loss, ridge_solution
from diffhash.errors import TooManyBitsError


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 10)
    X = rng.standard_normal((4, 6))[labels] + 0.4 * rng.standard_normal((40, 6))
    Y = rng.standard_normal((4, 5))[labels] + 0.4 * rng.standard_normal((40, 5))
    return {"x": X, "y": Y}, labels


def test_laplacian_is_the_sum_of_squared_differences_along_edges(data):
    X = data[0]["x"]
    L = laplacian(X, 3)
    f = np.random.default_rng(1).standard_normal(40)
    apart = np.linalg.norm(X[:, None] - X, axis=2) + np.diag(np.full(40, np.inf))
    near = np.zeros((40, 40), dtype=bool)
    near[np.arange(40)[:, None], np.argsort(apart, axis=1)[:, :3]] = True
    edges = near | near.T

    assert f @ L @ f == pytest.approx(np.sum(edges * (f[:, None] - f) ** 2) / 2 / 3)


def test_regression_loss_is_the_minimum_of_the_ridge_problem(data):
    X = data[0]["x"] - data[0]["x"].mean(axis=0)
    f = np.random.default_rng(2).standard_normal((40, 1))
    weight = 0.3 * np.trace(X.T @ X) / 6
    a = np.linalg.solve(X.T @ X + weight * np.eye(6), X.T @ f)

    least = np.sum((X @ a + f.mean() - f) ** 2) + weight * np.sum(a**2)

    assert (f.T @ regression_loss(X, 0.3) @ f).item() == pytest.approx(least)
    np.testing.assert_allclose(ridge_solution(X, f, 0.3), a)


def test_imh_elimination_equals_the_joint_minimum():
    """For any F, the best G and the value of the objective come out of the reduced matrix."""
    rng = np.random.default_rng(3)
    own_x, own_y = (A @ A.T for A in rng.standard_normal((2, 9, 9)))
    f = rng.standard_normal(9)
    M, T = imh_matrix(own_x, own_y, 2.5)
    joint = block_diag(own_x, own_y) + 2.5 * np.kron([[1, -1], [-1, 1]], np.eye(9))

    def value(g):
        z = np.concatenate([f, g])
        return z @ joint @ z

    assert f @ M @ f == pytest.approx(value(T @ f))
    assert all(value(T @ f + 0.1 * rng.standard_normal(9)) > value(T @ f) for _ in range(20))


def test_imh_codes_are_the_smallest_eigenvectors_that_are_not_constant(data):
    """Brute force inside the vectors that sum to zero; then ridge regression to them."""
    views, _ = data
    X, Y = (Z - Z.mean(axis=0) for Z in views.values())
    own = [laplacian(Z, 4) + regression_loss(Z, 0.1) for Z in (X, Y)]
    M, T = imh_matrix(*own, 1.0)
    zero_sum = null_space(np.ones((1, 40)))
    F = zero_sum @ np.linalg.eigh(zero_sum.T @ M @ zero_sum)[1][:, :3]

    peer = IMH(3, ridge=0.1, inter=1.0, n_neighbors=4).fit(views)

    for modality, Z, target in (("x", X, F), ("y", Y, T @ F)):
        expected = ridge_solution(Z, target, 0.1)
        found = peer.projections_[modality]
        cosine = np.sum(expected * found, axis=0)
        cosine /= np.linalg.norm(expected, axis=0) * np.linalg.norm(found, axis=0)
        np.testing.assert_allclose(np.abs(cosine), 1, atol=1e-8)


def test_imh_bits_are_balanced_and_their_number_is_limited(data):
    views, _ = data
    peer = IMH(8).fit(views)

    assert np.all((peer.project(views["x"], "x") >= 0).sum(axis=0) == 20)
    with pytest.raises(TooManyBitsError, match="40 bits, but graphs of 40 rows give at most 39"):
        IMH(40).fit(views)


def test_cmfh_objective_never_rises(data):
    views, _ = data

    objective = np.array(CMFH(4, n_iterations=40, trace=True).fit(views).objective_)

    assert np.all(np.diff(objective) <= 1e-9 * objective[0])
    assert objective[-1] < objective[0] / 2


def test_cmfh_recovers_a_shared_factor():
    """Two views of one 3-d factor: its rows are linear in either view's projections."""
    rng = np.random.default_rng(4)
    V = rng.standard_normal((200, 3))
    views = {"x": V @ rng.standard_normal((3, 8)), "y": V @ rng.standard_normal((3, 6))}

    peer = CMFH(3, penalty=1e-6).fit(views)

    left, right = (peer.project(views[m], m) for m in views)
    np.testing.assert_allclose(left, right, atol=1e-2 * np.abs(left).max())
    V -= V.mean(axis=0)
    residual = V - left @ np.linalg.lstsq(left, V, rcond=None)[0]
    assert np.abs(residual).max() < 1e-2


def test_cmfh_gives_any_number_of_bits(data):
    views, _ = data

    assert CMFH(30).fit(views).encode(views["x"], "x").shape == (40, 4)
