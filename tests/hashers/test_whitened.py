"""Whitened and rotated forms on data of unusual shapes, and what a model keeps of the whitening."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import diffhash as dh
from diffhash.errors import InputError
from diffhash.learning import subspace
from tests.reference.cross_fit import slow_difference, slow_inverse_root

ROTATED = [
    dh.DiffHash(n_bits=8, whiten=True, rotate=True),
    dh.KernelDiffHash(n_bits=8, whiten=True, rotate=True),
    dh.DiffHash(n_bits=8, rotate=True),
    dh.BoostedHash(n_bits=8, whiten=True),
]


def class_views(rng, n, d, n_classes, dtype=np.float64):
    """Two views of the same classes, of d and d // 2 features."""
    labels = np.arange(n) % n_classes
    means = rng.normal(size=(n_classes, 5))
    views = {}
    for m, size in (("x", d), ("y", max(2, d // 2))):
        rows = 2 * (means @ rng.normal(size=(5, size)))[labels] + rng.normal(size=(n, size))
        views[m] = rows.astype(dtype)
    return views, labels


def found_share(hasher, views, labels):
    codes = [hasher.encode(views[m], modality=m) for m in views]
    return dh.evaluate(*codes, labels, labels).mean_average_precision


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("n", "d"), [(20, 40), (40, 6)])
def test_whitened_directions_are_those_of_the_explicit_covariances(rng, n, d, sparse):
    """With more features than rows the space of the rows is used; the result is the same."""
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, d + 3))
    views = {m: scipy.sparse.csr_array(Z) if sparse else Z for m, Z in (("x", X), ("y", Y))}
    hasher = dh.DiffHash(n_bits=3, whiten=True, shrinkage={"x": 0.2, "y": 0.05}, thresholds="zero")
    hasher.fit(views, dh.Pairs.aligned(n))

    X, Y = ((Z - Z.mean(axis=0)) / Z.std(axis=0) for Z in (X, Y))
    roots = slow_inverse_root(X, 0.2), slow_inverse_root(Y, 0.05)
    positive = [(r, r) for r in range(n)]
    negative = [(i, j) for i in range(n) for j in range(n) if i != j]
    u, values, vt = np.linalg.svd(roots[0] @ slow_difference(X, Y, positive, negative, 10.0) @ roots[1])
    np.testing.assert_allclose(hasher.singular_values_[:3], values[:3], rtol=1e-6)
    for m, expected in (("x", X @ roots[0] @ u[:, :3]), ("y", Y @ roots[1] @ vt[:3].T)):
        found = hasher.project(views[m], modality=m)
        signs = np.sign((found * expected).sum(axis=0))
        np.testing.assert_allclose(found, expected * signs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("hasher", ROTATED, ids=str)
def test_no_array_of_a_model_has_the_size_of_a_covariance(rng, hasher, tmp_path):
    views, labels = class_views(rng, 40, 100, 4)
    hasher.fit(views, dh.Pairs.from_labels(labels, labels)).save(tmp_path / "model.dhm")
    arrays = [array for fitted in hasher.maps_.values() for array in fitted.state()[1].values()]
    assert all(array.shape != (100, 100) for array in [*arrays, *hasher.projections_.values()])
    again = dh.load(tmp_path / "model.dhm")
    np.testing.assert_array_equal(again.encode(views["x"], "x"), hasher.encode(views["x"], "x"))


@pytest.mark.parametrize("kind", [dh.DiffHash, dh.KernelDiffHash])
def test_rotations_are_fitted_to_whitened_coordinates(rng, monkeypatch, kind):
    """Whitened without shrinkage, coordinates along orthonormal directions have unit covariance."""
    seen = []
    original = subspace.bits_in_subspace
    monkeypatch.setattr(
        subspace, "bits_in_subspace", lambda values, *rest: seen.extend(values) or original(values, *rest)
    )
    views, labels = class_views(rng, 300, 10, 4)
    options = {} if kind is dh.DiffHash else {"n_landmarks": 30}
    kind(n_bits=6, whiten=True, rotate=True, shrinkage=0.0, **options).fit(
        views, dh.Pairs.from_labels(labels, labels)
    )
    assert len(seen) == 2
    for values in seen:
        np.testing.assert_allclose(np.cov(values.T, bias=True), np.eye(values.shape[1]), atol=1e-6)


def test_with_fewer_bits_than_directions_the_strongest_are_used(rng):
    strength = np.array([4.0, 4.0, 1, 1, 1, 1, 1, 1])
    shared = rng.normal(size=(1200, 8))
    views = {m: shared * strength + rng.normal(size=(1200, 8)) for m in ("x", "y")}
    hasher = dh.DiffHash(n_bits=2, whiten=True, rotate=True).fit(views, dh.Pairs.aligned(1200))
    size = np.square(hasher.projections_["x"])
    assert size[:, :2].sum() > 0.95 * size.sum()


@pytest.mark.parametrize("whiten", [True, False])
def test_deep_embeddings_with_sixteen_classes_are_found(rng, whiten):
    """With 400 features and 300 objects a test on the training pairs kept 1 direction of 15."""
    labels = rng.integers(0, 16, 700)
    means = rng.normal(size=(16, 40))
    views = {}
    for m, d in (("x", 400), ("y", 350)):
        latent = means[labels] + 0.7 * rng.normal(size=(700, 40))
        views[m] = np.maximum(latent @ rng.normal(size=(40, d)) + 4 * rng.normal(size=(700, d)), 0)
    train, test = ({m: X[part] for m, X in views.items()} for part in (slice(300), slice(300, None)))
    hasher = dh.DiffHash(n_bits=32, whiten=whiten, rotate=True)
    hasher.fit(train, dh.Pairs.from_labels(labels[:300], labels[:300]))
    assert len(hasher.singular_values_) == 15
    assert found_share(hasher, test, labels[300:]) > 0.6


@pytest.mark.parametrize("hasher", ROTATED, ids=str)
@pytest.mark.parametrize("kind", ["labels", "aligned", "one view"])
def test_ten_objects_are_enough_to_fit(rng, hasher, kind):
    views, labels = class_views(rng, 10, 30, 2)
    if kind == "one view":
        views = {"x": views["x"]}
        pairs = dh.Pairs.from_labels(labels)
    else:
        pairs = dh.Pairs.aligned(10) if kind == "aligned" else dh.Pairs.from_labels(labels, labels)
    hasher.fit(views, pairs)
    assert hasher.encode(views["x"], modality="x").shape == (10, 1)


@pytest.mark.parametrize("hasher", ROTATED, ids=str)
def test_two_objects_are_enough_to_fit(rng, hasher):
    views = {"x": rng.normal(size=(2, 5)), "y": rng.normal(size=(2, 4))}
    hasher.fit(views, dh.Pairs.aligned(2))
    assert hasher.encode(views["y"], modality="y").shape == (2, 1)


@pytest.mark.parametrize("hasher", ROTATED[:3], ids=str)
def test_a_class_may_have_one_object(rng, hasher):
    views, labels = class_views(rng, 120, 30, 3)
    labels = labels.copy()
    labels[0] = 99
    hasher.fit(views, dh.Pairs.from_labels(labels, labels))
    assert found_share(hasher, views, labels) > 0.9


def test_ten_thousand_classes(rng):
    """Folds have a bounded number of objects, and sums by group are linear in objects."""
    views, labels = class_views(rng, 20_000, 12, 10_000, np.float32)
    hasher = dh.DiffHash(n_bits=16, whiten=True, rotate=True)
    hasher.fit(views, dh.Pairs.from_labels(labels, labels))
    assert len(hasher.singular_values_) >= 5


@pytest.mark.parametrize("hasher", [*ROTATED, dh.DiffHash(n_bits=2)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("standardize", [True, False])
def test_heavy_tails_are_learned_from_or_refused_with_an_error_of_ours(rng, hasher, dtype, standardize):
    views, labels = class_views(rng, 60, 12, 3, dtype)
    views["x"][5, 3] = 1e30
    views["x"][6, 4] = -1e30
    if not isinstance(hasher, dh.KernelDiffHash):
        hasher.set_params(standardize=standardize)
    try:
        hasher.fit(views, dh.Pairs.from_labels(labels, labels))
    except InputError as error:
        message = str(error)
    else:
        message = "" if np.isfinite(hasher.project(views["x"], modality="x")).all() else "not finite"
    assert message == "" or "Divide the" in message


def test_units_do_not_matter_to_whitening(rng):
    views, labels = class_views(rng, 200, 10, 4)
    units = {m: X * np.geomspace(1e-4, 1e4, X.shape[1]) for m, X in views.items()}
    pairs = dh.Pairs.from_labels(labels, labels)
    one, other = (dh.DiffHash(n_bits=8, whiten=True, rotate=True).fit(v, pairs) for v in (views, units))
    same = one.encode(views["x"], modality="x") == other.encode(units["x"], modality="x")
    assert same.mean() > 0.98, "only rounding at a threshold may differ"


def test_landmarks_are_at_most_the_different_objects(rng):
    views, labels = class_views(rng, 60, 5, 3)
    views["y"] = np.repeat(views["y"][:15], 4, axis=0)
    labels_y = np.repeat(labels[:15], 4)
    hasher = dh.KernelDiffHash(n_bits=2, n_landmarks=1000)
    hasher.fit(views, dh.Pairs.from_labels(labels, labels_y))
    assert hasher.n_landmarks_ == {"x": 60, "y": 15}
    limited = dh.KernelDiffHash(n_bits=2, n_landmarks=10).fit(views, dh.Pairs.from_labels(labels, labels_y))
    assert limited.n_landmarks_ == {"x": 10, "y": 10}


def test_width_is_a_factor_of_the_median_bandwidth(rng):
    views, labels = class_views(rng, 60, 5, 3)
    pairs = dh.Pairs.from_labels(labels, labels)

    def bandwidths(**options):
        hasher = dh.KernelDiffHash(n_bits=2, n_landmarks=20, **options).fit(views, pairs)
        return np.array([hasher.maps_[m].bandwidth for m in views])

    median, auto = bandwidths(bandwidth="median"), bandwidths()
    np.testing.assert_allclose(bandwidths(width=0.5), 0.5 * median)
    np.testing.assert_allclose(bandwidths(width={"x": 4.0, "y": None}), [4 * median[0], auto[1]])
    centred = dh.KernelDiffHash(n_bits=2, n_landmarks=20, width=0.5, center=True).fit(views, pairs)
    fitted = centred.maps_["x"]
    np.testing.assert_allclose(fitted.transform(views["x"]).mean(axis=0), 0, atol=1e-12)
