"""CCA, ITQ, CVH and SCM against the formulas written out in full."""

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles

from benchmarks.peers import CCAITQ, CVH, CCASigns, RealCCA, SCMOrth, SCMSeq
from benchmarks.peers.scm import leading_pair, semantic_moment
from diffhash.codes import unpack
from diffhash.comparison.linear_algebra import itq, random_rotation
from diffhash.errors import InputError, TooManyBitsError


@pytest.fixture
def data():
    """60 objects of 4 classes, 7 and 5 features that share class means."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 60)
    X = rng.standard_normal((4, 7))[labels] + 0.7 * rng.standard_normal((60, 7)) + 3
    Y = rng.standard_normal((4, 5))[labels] + 0.7 * rng.standard_normal((60, 5)) - 1
    return {"x": X, "y": Y}, labels


def centred(views):
    return (X - X.mean(axis=0) for X in views.values())


def same_label(labels):
    return (labels[:, None] == labels).astype(float)


def assert_same_up_to_sign(A, B):
    A, B = (Z / np.linalg.norm(Z, axis=0) for Z in (A, B))
    np.testing.assert_allclose(np.abs(np.sum(A * B, axis=0)), 1, atol=1e-6)


def test_cca_correlations_are_those_of_orthonormal_bases(data):
    """Without a ridge: cosines of the principal angles between the views' column spaces."""
    views, _ = data

    peer = CCASigns(5, ridge=0.0).fit(views)

    angles = subspace_angles(*centred(views))
    np.testing.assert_allclose(np.sort(peer.correlations_), np.sort(np.cos(angles)), atol=1e-10)
    projected = np.hstack([peer.project(X, m) for m, X in views.items()])
    correlation = np.corrcoef(projected.T)
    np.testing.assert_allclose(np.diag(correlation[:5, 5:]), peer.correlations_, atol=1e-10)
    np.testing.assert_allclose(correlation[:5, :5], np.eye(5), atol=1e-10)


def test_codes_are_the_signs_of_the_projections(data):
    views, _ = data
    peer = CCASigns(3).fit(views)

    np.testing.assert_array_equal(unpack(peer.encode(views["y"], "y"), 3), peer.project(views["y"], "y") >= 0)


def test_real_cca_is_the_same_without_signs(data):
    views, _ = data

    real = RealCCA(4, power=0.0).fit(views)

    np.testing.assert_allclose(real.project(views["x"], "x"), CCASigns(4).fit(views).project(views["x"], "x"))
    assert not real.binary
    with pytest.raises(InputError, match="cosine"):
        real.encode(views["x"], "x")


def test_itq_rotation_is_orthogonal_and_its_loss_never_rises():
    Z = np.random.default_rng(1).standard_normal((200, 6)) * np.arange(1, 7)

    R, losses = itq(Z, 40, np.random.default_rng(2))

    np.testing.assert_allclose(R.T @ R, np.eye(6), atol=1e-12)
    assert np.all(np.diff(losses) <= 1e-9 * losses[0])
    assert losses[-1] < losses[0]


def test_itq_finds_a_rotated_cube():
    """Corners of a cube, turned: the loss can be brought to zero."""
    rng = np.random.default_rng(3)
    corners = np.where(rng.random((300, 3)) < 0.5, -1.0, 1.0)

    losses = [itq(corners @ random_rotation(3, rng), 100, rng)[1][-1] for _ in range(5)]

    assert min(losses) < 1e-12


def test_cca_itq_is_cca_rotated(data):
    views, _ = data
    plain, rotated = CCASigns(4).fit(views), CCAITQ(4, power=0.0).fit(views)

    for m, X in views.items():
        gram = [p.project(X, m) @ p.project(X, m).T for p in (plain, rotated)]
        np.testing.assert_allclose(gram[0], gram[1], atol=1e-9)


def test_cvh_equals_the_generalised_eigenproblem_with_all_pairs(data):
    views, labels = data
    X, Y = centred(views)
    W = same_label(labels)
    D = np.diag(W.sum(axis=1))
    own = 2 * (D - W) + D
    left = np.block([[X.T @ own @ X, -X.T @ W @ Y], [-Y.T @ W @ X, Y.T @ own @ Y]])
    right = np.block([[X.T @ X, np.zeros((7, 5))], [np.zeros((5, 7)), Y.T @ Y]])
    expected = eigh(left, right)[1][:, :4]

    peer = CVH(4, ridge=0.0).fit(views, labels)

    assert_same_up_to_sign(np.vstack(list(peer.projections_.values())), expected)


def test_cvh_directions_minimise_the_distances_of_similar_objects(data):
    """The quadratic form equals the sum over all pairs of similar objects, within and across."""
    views, labels = data
    peer = CVH(1, ridge=0.0).fit(views, labels)
    W = same_label(labels)

    def cost(f, g):
        gaps = [(a[:, None] - b) ** 2 for a, b in ((f, f), (g, g), (f, g))]
        return sum(np.sum(W * gap) for gap in gaps)

    f, g = (peer.project(X, m).ravel() for m, X in views.items())
    best = cost(f, g) / (f @ f + g @ g)
    rng = np.random.default_rng(4)
    for X, Y in [tuple(centred(views))] * 50:
        f, g = X @ rng.standard_normal(7), Y @ rng.standard_normal(5)
        assert cost(f, g) / (f @ f + g @ g) >= best


def test_cvh_without_labels_is_cca(data):
    views, _ = data
    cvh, cca = CVH(5, ridge=0.1).fit(views), CCASigns(5, ridge=0.1).fit(views)

    for modality in views:
        assert_same_up_to_sign(cvh.projections_[modality], cca.projections_[modality])


def test_semantic_moment_equals_the_full_matrix(data):
    views, labels = data
    several = np.random.default_rng(5).random((60, 6)) < 0.4
    several[:, 0] |= ~several.any(axis=1)
    unit = several / np.linalg.norm(several, axis=1, keepdims=True)

    for given, W in ((labels, same_label(labels)), (several, unit @ unit.T), (None, np.eye(60))):
        full = views["x"].T @ (2 * W - 1) @ views["y"]
        np.testing.assert_allclose(semantic_moment(views["x"], views["y"], given), full, atol=1e-9)


def test_scm_orth_equals_its_eigenproblem_with_all_pairs(data):
    """Cxy Cyy⁻¹ Cyx a = λ² Cxx a, with Cxy = Xᵀ S Y from the n × n matrix S."""
    views, labels = data
    X, Y = centred(views)
    Cxy = X.T @ (2 * same_label(labels) - 1) @ Y
    expected = eigh(Cxy @ np.linalg.solve(Y.T @ Y, Cxy.T), X.T @ X)[1][:, ::-1][:, :3]

    peer = SCMOrth(3, ridge=0.0).fit(views, labels)

    assert_same_up_to_sign(peer.projections_["x"], expected)


def test_scm_seq_equals_the_residual_written_out(data):
    """Bit by bit with the n × n residual c S - Σ h gᵀ."""
    views, labels = data
    X, Y = centred(views)
    residual = 12 * (2 * same_label(labels) - 1)
    peer = SCMSeq(12, ridge=0.0).fit(views, labels)

    for bit in range(12):
        C = X.T @ residual @ Y
        _, vectors = eigh(C @ np.linalg.solve(Y.T @ Y, C.T), X.T @ X)
        a = vectors[:, -1]
        b = np.linalg.solve(Y.T @ Y, C.T @ a)
        assert_same_up_to_sign(peer.projections_["x"][:, [bit]], a[:, None])
        assert_same_up_to_sign(peer.projections_["y"][:, [bit]], b[:, None])
        residual -= np.outer(np.where(X @ a >= 0, 1, -1), np.where(Y @ b >= 0, 1, -1))


def test_scm_without_labels_is_cca_or_refuses(data):
    """Pairs alone make nearly all similarities -1, which the bit-by-bit form cannot work with."""
    views, _ = data
    orth, cca = SCMOrth(5).fit(views), CCASigns(5).fit(views)

    assert_same_up_to_sign(orth.projections_["x"], cca.projections_["x"])
    with pytest.raises(InputError, match="SCM-seq: is a supervised method"):
        SCMSeq(5).fit(views)


def test_leading_pair_of_a_large_matrix_equals_the_full_decomposition():
    M = np.random.default_rng(6).standard_normal((80, 90))
    U, _, Vt = np.linalg.svd(M)

    u, v = leading_pair(M)

    assert_same_up_to_sign(u[:, None], U[:, :1])
    np.testing.assert_allclose(np.outer(u, v), np.outer(U[:, 0], Vt[0]), atol=1e-8)


@pytest.mark.parametrize("peer", [CCASigns, CCAITQ, RealCCA, CVH, SCMOrth])
def test_more_bits_than_directions_are_refused(peer, data):
    with pytest.raises(TooManyBitsError, match="6 bits, but views of 7 and 5 features give at most 5"):
        peer(6).fit(*data)
