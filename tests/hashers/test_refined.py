"""RefinedHash: accuracy, constant bits, progress, and difficult data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import diffhash as dh
from diffhash.errors import ParameterError
from diffhash.evaluation.pair_score import score_codes
from diffhash.hashers.refined import score_layer

FIXED = {"features": "linear", "ridge": 0.01, "penalty": 0.003, "negative_target": -1.0}


def score(hasher, split):
    codes = [hasher.encode(X, modality=m) for m, X in split.views.items()]
    return dh.evaluate(*codes, split.labels["x"], split.labels["y"]).mean_average_precision


@pytest.fixture(scope="module")
def data():
    return dh.datasets.make_paper_data(n_classes=8, n_train=400, n_test=200, center_scale=4.0, random_state=5)


@pytest.fixture(scope="module")
def pairs(data):
    return dh.Pairs.from_labels(data.train.labels["x"], data.train.labels["y"])


def test_auto_beats_the_plain_method_on_unseen_objects(data, pairs):
    refined = dh.RefinedHash(n_bits=16, n_landmarks=100).fit(data.train.views, pairs)
    plain = dh.DiffHash(n_bits=7).fit(data.train.views, pairs)
    assert score(refined, data.test) > score(plain, data.test) + 0.03


def test_more_bits_than_features_do_not_lower_the_accuracy(data, pairs):
    scores = [
        score(dh.RefinedHash(n_bits=m, **FIXED).fit(data.train.views, pairs), data.test) for m in (8, 32, 130)
    ]
    assert scores[1] > scores[0] - 0.01
    assert scores[2] > scores[1] - 0.01


def test_no_bit_is_constant_on_the_training_objects(data, pairs):
    hasher = dh.RefinedHash(n_bits=32, positive_weight=20.0, min_share=0.1, **FIXED).fit(
        data.train.views, pairs
    )
    for modality in ("x", "y"):
        bits = dh.codes.unpack(hasher.encode(data.train.views[modality], modality=modality), 32)
        assert bits.mean(axis=0).min() >= 0.09
        assert bits.mean(axis=0).max() <= 0.91


@pytest.mark.filterwarnings("ignore::diffhash.errors.WeakModelWarning")
@pytest.mark.parametrize("n", [4, 9])
def test_a_few_objects_can_be_fitted(n):
    """There are fewer objects than bits. The views say nothing about each other, so there may be a warning."""
    rng = np.random.default_rng(1)
    views = {"x": rng.normal(size=(n, 5)), "y": rng.normal(size=(n, 3))}
    hasher = dh.RefinedHash(n_bits=16).fit(views, dh.Pairs.aligned(n))
    assert hasher.encode(views["x"], modality="x").shape == (n, 2)


def test_repeated_rows_and_very_different_scales_do_not_lower_the_accuracy(data, pairs):
    scale = 10.0 ** np.linspace(-6, 6, 128)
    views = {"x": (data.train.views["x"] * scale).astype(np.float64), "y": data.train.views["y"]}
    views = {m: np.concatenate([X, X]) for m, X in views.items()}
    labels = np.tile(data.train.labels["x"], 2)
    hasher = dh.RefinedHash(n_bits=16, n_landmarks=100).fit(views, dh.Pairs.from_labels(labels, labels))
    codes = (
        hasher.encode(data.test.views["x"] * scale, modality="x"),
        hasher.encode(data.test.views["y"], modality="y"),
    )
    truth = data.test.labels["x"]
    assert dh.evaluate(*codes, truth, truth).mean_average_precision > 0.7


def test_separable_data_does_not_diverge():
    labels = np.repeat([0, 1], 50)
    views = {
        "x": np.where(labels[:, None], 1.0, -1.0) + np.zeros((100, 2)),
        "y": labels[:, None] * [3.0, 1.0],
    }
    views["x"][:, 1] += np.arange(100) % 3
    hasher = dh.RefinedHash(n_bits=4, features="linear").fit(views, dh.Pairs.from_labels(labels, labels))
    codes = hasher.encode(views["x"], modality="x"), hasher.encode(views["y"], modality="y")
    assert dh.evaluate(*codes, labels, labels).mean_average_precision == 1.0
    assert np.isfinite(hasher.projections_["x"]).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"features": "deep"}, "features must be one of"),
        ({"metric": "manhattan"}, "metric must be one of"),
        ({"width": 0.0}, "width"),
        ({"ridge": -1.0}, "ridge"),
        ({"penalty": "strong"}, "penalty"),
        ({"negative_target": -2.0}, "negative_target"),
        ({"positive_weight": 0.0}, "positive_weight"),
        ({"validation_share": 1.0}, "validation_share"),
        ({"progress": 3}, "progress must be a function"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters_raise_an_error(data, pairs, parameters, message):
    with pytest.raises(ParameterError, match=message):
        dh.RefinedHash(n_bits=4, **parameters).fit(data.train.views, pairs)


def test_codes_that_agree_have_a_higher_score():
    good = np.array([[0], [255], [0], [255]], dtype=np.uint8)
    bad = good[::-1]
    labels = [0, 1, 0, 1]
    i = np.arange(4)
    for pairs in (
        dh.Pairs.from_labels(labels, labels),
        dh.Pairs(positive=([0, 1], [2, 3]), negative=([0, 1], [1, 2])),
        dh.Pairs(positive=(np.r_[i, i], np.r_[i, (i + 2) % 4])),
    ):
        resolved = pairs.resolve(4, 4)
        assert score_codes(good, good, resolved) == 1.0
        assert score_codes(good, bad, resolved) < 0.5


def test_a_csr_matrix_gives_the_same_codes_as_a_dense_array(data):
    """For a csr_matrix, ``*`` is a matrix product. No value is negative, so "hellinger" is tried."""
    words = scipy.sparse.csr_matrix(np.maximum(data.train.views["y"], 0.0))
    views = {"x": data.train.views["x"], "y": words}
    hasher = dh.RefinedHash(n_bits=8, n_landmarks=40).fit(views, dh.Pairs.aligned(words.shape[0]))
    dense = hasher.encode(words.toarray(), modality="y")
    np.testing.assert_array_equal(hasher.encode(words, modality="y"), dense)
    kernel = dh.KernelDiffHash(n_bits=4, n_landmarks=40, metric="hellinger").fit(
        views | {"x": np.abs(views["x"])}, dh.Pairs.aligned(words.shape[0])
    )
    assert (kernel.encode(words, modality="y") == kernel.encode(words.toarray(), modality="y")).mean() > 0.99


def test_the_start_is_not_refined_if_refinement_fits_noise():
    """Each object has one partner, and there is noise in all directions."""
    rng = np.random.default_rng(4)
    z = rng.normal(size=(900, 12))
    views = {m: z + 0.7 * rng.normal(size=z.shape) for m in "xy"}
    train, test = {m: X[:600] for m, X in views.items()}, {m: X[600:] for m, X in views.items()}
    hasher = dh.RefinedHash(n_bits=64, n_landmarks=100).fit(train, dh.Pairs.aligned(600))
    assert len(hasher.losses_) == 0
    codes = [hasher.encode(X, modality=m) for m, X in test.items()]
    rows = np.arange(300)
    rotated = dh.DiffHash(n_bits=64, rotate=True, whiten=True).fit(train, dh.Pairs.aligned(600))
    others = [rotated.encode(X, modality=m) for m, X in test.items()]
    found, compared = (dh.evaluate(*pair, rows, rows).recall_at(10) for pair in (codes, others))
    assert found > compared - 0.05


def test_a_part_with_constant_features_does_not_make_fit_fail():
    """All rows with a partner are equal."""
    rng = np.random.default_rng(0)
    x, y = np.zeros((80, 6)), rng.normal(size=(80, 5))
    x[40:] = rng.normal(size=(40, 6))
    hasher = dh.RefinedHash(n_bits=8, n_landmarks=20).fit(
        {"x": x, "y": y}, dh.Pairs((np.arange(30), np.arange(30)))
    )
    assert hasher.encode(x, modality="x").shape == (80, 1)


def test_labels_are_used_even_if_the_positives_were_sampled():
    data = dh.datasets.make_paper_data(n_classes=8, n_train=300, n_test=200, center_scale=3.0, random_state=1)
    labels = data.train.labels.values()
    hasher = dh.RefinedHash(n_bits=16, n_landmarks=100).fit(
        data.train.views, dh.Pairs.from_labels(*labels, 2000, random_state=0)
    )
    assert "directions" not in hasher.report_.chosen, "pairs without classes become paired directions"
    codes = [hasher.encode(X, modality=m) for m, X in data.test.views.items()]
    truth = data.test.labels["x"]
    assert dh.evaluate(*codes, truth, truth).mean_average_precision > 0.8


def test_losses_of_the_refinement_fall(data, pairs, monkeypatch):
    monkeypatch.setattr(score_layer, "_SIMPLER_WITHIN", -1.0)  # the last candidate is refined
    hasher = dh.RefinedHash(n_bits=8, n_landmarks=50).fit(data.train.views, pairs)
    assert "refined" in hasher.report_.chosen
    assert len(hasher.losses_) > 2
    assert hasher.losses_[-1] < hasher.losses_[0]


@pytest.mark.filterwarnings("ignore::diffhash.errors.WeakModelWarning")
@pytest.mark.parametrize("seed", range(3))
def test_the_expected_score_of_noise_is_near_chance(seed):
    """Class means without an object tell its class if classes are balanced; the score must not use this."""
    rng, labels = np.random.default_rng(seed), np.arange(200) % 5
    views = {m: rng.normal(size=(200, 5)) for m in "xy"}
    report = (
        dh.RefinedHash(n_bits=16, n_landmarks=50).fit(views, dh.Pairs.from_labels(labels, labels)).report_
    )
    assert report.expected < report.chance + 0.06


@pytest.mark.parametrize("kind", ["labels", "aligned", "one view"])
def test_progress_goes_from_0_to_1_and_never_falls(data, pairs, kind):
    seen = []
    views = data.train.views
    if kind == "aligned":
        pairs = dh.Pairs.aligned(400)
    if kind == "one view":
        views, pairs = {"x": views["x"]}, dh.Pairs.from_labels(data.train.labels["x"])
    hasher = dh.RefinedHash(
        n_bits=8, n_landmarks=50, progress=lambda done, message: seen.append((done, message))
    )
    hasher.fit(views, pairs)
    shares = [done for done, _ in seen]
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    assert len(set(shares)) > 3
    assert all(isinstance(message, str) and message for _, message in seen)


@pytest.mark.parametrize("kind", ["labels", "aligned"])
def test_a_model_that_finds_nothing_gives_a_warning(rng, kind):
    labels = np.arange(200) % 5
    views = {m: np.eye(5)[labels] + 0.3 * rng.normal(size=(200, 5)) for m in "xy"}
    if kind == "aligned":
        views = {m: views["x"] + 0.05 * rng.normal(size=(200, 5)) for m in "xy"}
    good = dh.Pairs.from_labels(labels, labels) if kind == "labels" else dh.Pairs.aligned(200)
    hasher = dh.RefinedHash(n_bits=16, n_landmarks=50).fit(views, good)
    assert hasher.report_.expected > 2 * hasher.report_.chance
    order = rng.permutation(200)
    shuffled = {"x": rng.normal(size=(200, 5)), "y": views["y"][order]}
    with pytest.warns(dh.errors.WeakModelWarning, match="same order"):
        dh.RefinedHash(n_bits=16, n_landmarks=50).fit(shuffled, good)


def test_settings_by_modality(data, pairs):
    hasher = dh.RefinedHash(
        n_bits=8,
        n_landmarks=50,
        features={"x": "kernel", "y": "linear"},
        metric={"x": "euclidean", "y": "cosine"},
        width={"x": 2.5, "y": "auto"},
        ridge={"x": 0.02, "y": 0.3},
    ).fit(data.train.views, pairs)
    assert hasher.n_landmarks_ == {"x": 50}
    x, y = hasher.report_.chosen.split("; ")[0].split(" | ")
    assert x == "kernel euclidean, width 2.5, ridge 0.02"
    assert y == "linear cosine, ridge 0.3"


@pytest.mark.parametrize("name", ["features", "metric", "width", "ridge"])
def test_settings_of_unknown_modalities_are_an_error_that_names_the_modalities(data, pairs, name):
    values = {"features": "linear", "metric": "cosine", "width": 1.0, "ridge": 0.1}
    with pytest.raises(ParameterError, match=rf"{name}.*'x'.*'y'|{name}.*x, y"):
        dh.RefinedHash(n_bits=4, **{name: {"x": values[name], "z": values[name]}}).fit(
            data.train.views, pairs
        )


@pytest.mark.parametrize("metric", ["hellinger", "mahalanobis"])
def test_metrics_of_kernel_features_only(data, pairs, metric):
    with pytest.raises(ParameterError, match=r"modality 'x'.*kernel features only"):
        dh.RefinedHash(n_bits=4, features="linear", metric={"x": metric, "y": "auto"}).fit(
            data.train.views, pairs
        )
