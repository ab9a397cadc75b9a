"""RefinedHash on unusual data: tiny, wide, narrow, repeated, constant, unbalanced, heavy tails, many classes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import diffhash as dh
from diffhash.errors import InputError

KINDS = ("labels", "label sets", "aligned", "one view")

pytestmark = pytest.mark.filterwarnings("ignore::diffhash.errors.WeakModelWarning")


def supervision(kind, labels, labels_y=None):
    """Pairs of one kind, from the classes of the rows."""
    labels = np.asarray(labels)
    labels_y = labels if labels_y is None else np.asarray(labels_y)
    if kind == "one view":
        return dh.Pairs.from_labels(labels)
    if kind == "aligned":
        return dh.Pairs.aligned(len(labels))
    if kind == "label sets":
        n_labels = max(labels.max(), labels_y.max()) + 1
        return dh.Pairs.from_labels(*(_sets(each, n_labels) for each in (labels, labels_y)))
    return dh.Pairs.from_labels(labels, labels_y)


def _sets(labels, n_labels):
    """The class of each row, and for every third row the next class too."""
    sets = labels[:, None] == np.arange(n_labels)
    sets[::3] |= np.roll(sets[::3], 1, axis=1)
    return sets


def class_views(labels, d=(12, 7), seed=0, noise=0.5):
    """Two views whose rows are centres of their classes and noise."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(labels.max() + 1, 8))
    centres = [centres @ rng.normal(size=(8, k)) / np.sqrt(8) for k in d]
    return {
        m: c[labels] + noise * rng.normal(size=(len(labels), c.shape[1]))
        for m, c in zip("xy", centres, strict=True)
    }


def fit_and_encode(views, pairs, kind, n_bits=8, **parameters):
    """A fitted hasher and the codes of all views; everything must be finite."""
    if kind == "one view":
        views = {"x": views["x"]}
    hasher = dh.RefinedHash(n_bits=n_bits, **parameters).fit(views, pairs)
    codes = {}
    for m, X in views.items():
        codes[m] = hasher.encode(X, modality=m)
        assert codes[m].shape == (X.shape[0], -(-n_bits // 8))
        assert np.isfinite(hasher.projections_[m]).all()
        assert np.isfinite(hasher.thresholds_[m]).all()
        assert np.isfinite(hasher.project(X, modality=m)).all()
    return hasher, codes


@pytest.mark.parametrize("kind", KINDS)
def test_ten_objects(kind):
    labels = np.arange(10) % 2
    fit_and_encode(class_views(labels), supervision(kind, labels), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_bits", [1, 3, 16])
def test_three_objects(kind, n_bits):
    labels = np.array([0, 1, 0])
    fit_and_encode(class_views(labels), supervision(kind, labels), kind, n_bits)


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_with_one_object(kind):
    labels = np.r_[np.arange(60) % 3, 3]
    _, codes = fit_and_encode(class_views(labels), supervision(kind, labels), kind)
    if "label" in kind:
        found = dh.evaluate(codes["x"][:60], codes["y"][:60], labels[:60], labels[:60])
        assert found.mean_average_precision > 0.6


@pytest.mark.parametrize("kind", ["labels", "label sets"])
def test_a_class_that_one_view_does_not_have(kind):
    x, y = np.arange(80) % 4, np.arange(90) % 3
    views = class_views(np.arange(90) % 4)
    views = {"x": views["x"][:80], "y": class_views(y)["y"]}
    _, codes = fit_and_encode(views, supervision(kind, x, y), kind)
    if kind == "labels":
        assert dh.evaluate(codes["y"], codes["x"], y, x).mean_average_precision > 0.8


@pytest.mark.parametrize("kind", ["labels", "label sets"])
def test_views_of_different_numbers_of_objects(kind):
    x, y = np.arange(150) % 5, np.arange(40) % 5
    views = {"x": class_views(x)["x"], "y": class_views(y)["y"]}
    _, codes = fit_and_encode(views, supervision(kind, x, y), kind, 16)
    if kind == "labels":
        assert dh.evaluate(codes["y"], codes["x"], y, x).mean_average_precision > 0.9


def test_listed_pairs_between_views_of_different_numbers_of_objects():
    views = class_views(np.arange(120))
    views = {"x": views["x"], "y": np.repeat(views["y"], 2, axis=0)}
    pairs = dh.Pairs((np.repeat(np.arange(120), 2), np.arange(240)))
    fit_and_encode(views, pairs, "listed")


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_few_objects_with_many_features(kind, sparse):
    labels = np.arange(40) % 2
    views = class_views(labels, (2000, 2000))
    if sparse:
        views = {m: scipy.sparse.csr_array(np.where(X > 1, X, 0.0)) for m, X in views.items()}
    _, codes = fit_and_encode(views, supervision(kind, labels), kind)
    if kind == "labels":
        assert dh.evaluate(codes["x"], codes["y"], labels, labels).mean_average_precision == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_many_objects_with_one_feature(kind):
    labels = np.arange(2000) % 4
    rng = np.random.default_rng(0)
    views = {m: (labels + 0.1 * rng.normal(size=2000))[:, None] for m in "xy"}
    _, codes = fit_and_encode(views, supervision(kind, labels), kind)
    if kind == "labels":
        assert dh.evaluate(codes["x"], codes["y"], labels, labels).mean_average_precision > 0.95


def test_thresholds_of_two_classes_are_spread():
    """With two classes there is one score. If all bits were equal, strong and weak scores would look alike."""
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 2
    views = {m: rng.normal(size=(600, 3)) + 0.8 * labels[:, None] for m in "xy"}
    train = {m: X[:400] for m, X in views.items()}
    hasher = dh.RefinedHash(n_bits=16).fit(train, dh.Pairs.from_labels(labels[:400], labels[:400]))
    codes = [hasher.encode(X[400:], modality=m) for m, X in views.items()]
    found = dh.evaluate(*codes, labels[400:], labels[400:]).mean_average_precision

    means = [
        hasher.project(X[400:], modality=m) - hasher.project(X[:400], modality=m).mean(0)
        for m, X in views.items()
    ]
    best_bit = max(
        dh.evaluate(
            *(dh.codes.pack(v[:, [b]] >= 0) for v in means), labels[400:], labels[400:]
        ).mean_average_precision
        for b in range(16)
    )
    assert found > best_bit + 0.01


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("modality", ["x", "y"])
def test_a_constant_view_is_an_error_that_names_it(kind, modality):
    if kind == "one view" and modality == "y":
        pytest.skip("there is no other view")
    labels = np.arange(50) % 3
    views = class_views(labels)
    views[modality] = np.full_like(views[modality], 3.7)
    with pytest.raises(InputError, match=f"modality '{modality}'"):
        fit_and_encode(views, supervision(kind, labels), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_feature_changes_nothing(kind):
    labels = np.arange(90) % 3
    views = class_views(labels)
    more = {m: np.c_[X, np.full(90, 5.0)] for m, X in views.items()}
    for each in (views, more):
        _, codes = fit_and_encode(each, supervision(kind, labels), kind)
        if kind == "labels":
            assert dh.evaluate(codes["x"], codes["y"], labels, labels).mean_average_precision > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_repeated_rows(kind):
    rows = np.arange(200) % 6
    views = {m: X[rows] for m, X in class_views(np.arange(6)).items()}
    _, codes = fit_and_encode(views, supervision(kind, rows % 3), kind, n_landmarks=50)
    if kind == "labels":
        assert dh.evaluate(codes["x"], codes["y"], rows % 3, rows % 3).mean_average_precision > 0.99


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2])
def test_ten_thousand_classes(kind, size):
    """With one object of each class, labels are pairs."""
    if kind == "one view" and size == 1:
        pytest.skip("there are no pairs")
    n_classes = 300 if kind == "label sets" else 10_000
    labels = np.arange(n_classes * size) % n_classes
    views = class_views(labels, (8, 8), noise=0.1)
    views = {m: X.astype(np.float32) for m, X in views.items()}
    hasher, codes = fit_and_encode(views, supervision(kind, labels), kind, 32, n_landmarks=50)
    if kind in ("labels", "aligned"):
        first = slice(0, 500)
        found = dh.evaluate(codes["x"][first], codes["y"][first], labels[first], labels[first])
        assert found.mean_average_precision > 0.2
        assert hasher.report_.expected > 5 * hasher.report_.chance


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_heavy_tails(kind, dtype):
    labels = np.arange(300) % 3
    rng = np.random.default_rng(0)
    views = {m: (X + rng.standard_cauchy(X.shape)).astype(dtype) for m, X in class_views(labels).items()}
    fit_and_encode(views, supervision(kind, labels), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [1e18, 1e30, 3e38])
def test_one_huge_value(kind, value):
    """Its square overflows float32. Metrics that normalise rows can still be used."""
    labels = np.arange(120) % 3
    views = {m: X.astype(np.float32) for m, X in class_views(labels).items()}
    views["x"][5, 2] = value
    fit_and_encode(views, supervision(kind, labels), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("features", ["linear", "kernel"])
def test_features_whose_squares_overflow_are_fitted_in_double_precision(kind, features):
    labels = np.arange(120) % 3
    views = {m: X.astype(np.float32) for m, X in class_views(labels).items()}
    views["x"] *= np.float32(1e37)
    fit_and_encode(views, supervision(kind, labels), kind, features=features, metric="euclidean")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, bool])
def test_integer_features(kind, dtype):
    labels = np.arange(120) % 3
    views = {m: (10 * (X - X.min())).astype(np.uint8).astype(dtype) for m, X in class_views(labels).items()}
    if dtype is bool:
        views = {m: X > 2 for m, X in class_views(labels, (40, 40)).items()}
    fit_and_encode(views, supervision(kind, labels), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_codes(kind):
    labels = np.arange(150) % 4
    views, pairs = class_views(labels), supervision(kind, labels)
    first, second, other = (
        fit_and_encode(views, pairs, kind, 16, random_state=seed)[1] for seed in (3, 3, 4)
    )
    for m, codes in first.items():
        np.testing.assert_array_equal(codes, second[m])
    assert any((codes != other[m]).any() for m, codes in first.items())
