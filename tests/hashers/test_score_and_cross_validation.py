"""``score``, ``transform`` and ``cross_validate``, compared with the obvious computation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import NearestNeighbors

import diffhash as dh
from diffhash.errors import InputError, NotFittedError, ParameterError, UnknownModalityError

HASHER = dh.DiffHash(n_bits=4)


@pytest.fixture
def fitted(small_data, small_pairs):
    return dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs)


@pytest.fixture
def codes(fitted, small_data):
    return {m: fitted.encode(X, modality=m) for m, X in small_data.test.views.items()}


def test_with_labels_the_score_is_the_mean_average_precision_of_both_directions(fitted, small_data, codes):
    labels = small_data.test.labels
    expected = np.mean(
        [
            dh.evaluate(codes[a], codes[b], labels[a], labels[b]).mean_average_precision
            for a, b in (("x", "y"), ("y", "x"))
        ]
    )

    assert fitted.score(small_data.test.views, dh.Pairs.from_labels(labels)) == pytest.approx(expected)
    assert fitted.score(
        small_data.test.views, dh.Pairs.from_labels(labels["x"], labels["y"]), metric="map"
    ) == pytest.approx(expected)


@pytest.mark.parametrize(("metric", "k"), [("auto", 10), ("recall@3", 3)])
def test_with_pairs_the_score_is_recall(fitted, small_data, codes, metric, k):
    rows = (np.arange(200), np.arange(200))
    expected = np.mean(
        [dh.evaluate(codes[a], codes[b], relevant=rows).recall_at(k) for a, b in (("x", "y"), ("y", "x"))]
    )

    assert fitted.score(small_data.test.views, dh.Pairs.aligned(200), metric=metric) == pytest.approx(
        expected
    )


def test_with_listed_pairs_the_score_is_the_chance_that_a_positive_is_nearer(fitted, small_data, codes):
    pairs = dh.Pairs.aligned(200).sample(50, 80, random_state=0)
    near, far = (
        np.bitwise_count(codes["x"][i] ^ codes["y"][j]).sum(axis=1)
        for i, j in (pairs.positive, pairs.negative)
    )
    expected = np.mean((near[:, None] < far) + (near[:, None] == far) / 2)

    assert fitted.score(small_data.test.views, pairs) == pytest.approx(expected)


def test_auc_of_labels_counts_all_pairs(fitted, small_data, codes):
    labels = small_data.test.labels
    distances = np.bitwise_count(codes["x"][:, None] ^ codes["y"]).sum(axis=2)
    same = labels["x"][:, None] == labels["y"]
    near, far = np.sort(distances[same]), np.sort(distances[~same])
    below = np.searchsorted(far, near, side="left"), np.searchsorted(far, near, side="right")
    expected = np.mean(1 - np.mean(below, axis=0) / len(far))

    found = fitted.score(small_data.test.views, dh.Pairs.from_labels(labels), metric="auc")

    assert found == pytest.approx(expected)


def test_bad_scores_are_refused(fitted, small_data):
    views, pairs = small_data.test.views, dh.Pairs.aligned(200)
    with pytest.raises(ParameterError, match="metric must be"):
        fitted.score(views, pairs, metric="accuracy")
    with pytest.raises(UnknownModalityError, match="score: unknown modality 'z'"):
        fitted.score({"x": views["x"], "z": views["y"]}, pairs)
    with pytest.raises(UnknownModalityError, match="views must be a dict"):
        fitted.score(views["x"], pairs)
    with pytest.raises(NotFittedError, match="score"):
        dh.DiffHash().score(views, pairs)


def test_transform_gives_the_bits(fitted, small_data, codes):
    bits = fitted.transform(small_data.test.views)

    np.testing.assert_array_equal(bits["y"], dh.codes.unpack(codes["y"], 4))
    assert bits["x"].dtype == np.uint8
    assert list(fitted.get_feature_names_out()) == ["diffhash0", "diffhash1", "diffhash2", "diffhash3"]
    distances, _ = (
        NearestNeighbors(metric="hamming", algorithm="brute").fit(bits["x"]).kneighbors(bits["y"], 3)
    )
    found = dh.HammingIndex(codes["x"]).search(codes["y"], 3)
    np.testing.assert_array_equal(np.rint(4 * distances), found.distances)


def test_with_one_view_transform_takes_an_array(small_data):
    X, labels = small_data.train.views["x"], small_data.train.labels["x"]

    bits = dh.DiffHash(n_bits=4).fit_transform({"x": X}, dh.Pairs.from_labels(labels))

    again = dh.DiffHash(n_bits=4).fit({"x": X}, dh.Pairs.from_labels(labels)).transform(X)
    np.testing.assert_array_equal(bits["x"], again)


def test_transform_of_two_views_needs_names(fitted, small_data):
    with pytest.raises(UnknownModalityError, match="transform"):
        fitted.transform(small_data.test.views["x"])


def test_folds_score_objects_that_were_not_learned_from(small_data):
    """Each fold is what fit and score of its rows give, and every object is held out once."""
    views, labels = small_data.train.views, small_data.train.labels["x"]
    result = dh.cross_validate(
        HASHER, views, dh.Pairs.from_labels(labels, labels), cv=StratifiedKFold(4), return_hashers=True
    )

    for fold, (train, test) in enumerate(StratifiedKFold(4).split(labels, labels)):
        hasher = dh.DiffHash(n_bits=4).fit(
            {m: X[train] for m, X in views.items()}, dh.Pairs.from_labels(labels[train], labels[train])
        )
        expected = hasher.score(
            {m: X[test] for m, X in views.items()}, dh.Pairs.from_labels(labels[test], labels[test])
        )
        assert result["test_score"][fold] == pytest.approx(expected)
        np.testing.assert_array_equal(result["estimator"][fold].projections_["x"], hasher.projections_["x"])
    assert set(result) == {"test_score", "fit_time", "score_time", "estimator"}
    assert not hasattr(HASHER, "model_")


def test_all_rows_of_an_object_are_in_one_fold(small_data, monkeypatch):
    """Five captions of a picture must not be split: the picture would be learned from."""
    X, Y = small_data.train.views["x"][:60], small_data.train.views["y"][:300]
    ids = {"x": np.arange(60), "y": np.repeat(np.arange(60), 5)}
    pairs = dh.Pairs.from_ids(ids)
    seen = []
    learn = dh.DiffHash._fit_model
    monkeypatch.setattr(dh.DiffHash, "_fit_model", lambda self, data: seen.append(data) or learn(self, data))

    result = dh.cross_validate(HASHER, {"x": X, "y": Y}, pairs, cv=6)

    assert len(result["test_score"]) == 6
    for data in seen:
        assert data.views["x"].shape[0] == 50
        assert data.views["y"].shape[0] == 250
        assert data.couples.only.n_positive == 250


def test_folds_keep_the_shares_of_labels():
    """Ten objects of each of five classes: each of ten folds holds out one of each."""
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(5), 10)
    views = {"x": rng.normal(size=(50, 8)) + labels[:, None], "y": rng.normal(size=(50, 8)) - labels[:, None]}

    result = dh.cross_validate(
        dh.DiffHash(n_bits=1), views, dh.Pairs.from_labels(labels, labels), cv=10, metric="recall@5"
    )

    assert (result["test_score"] == 1.0).all(), "five held-out objects, of which one is relevant"


def test_seeds_decide_the_folds(small_data):
    views, pairs = small_data.train.views, dh.Pairs.aligned(400)
    runs = [
        dh.cross_validate(HASHER, views, pairs, cv=2, random_state=seed)["test_score"]
        for seed in (0, 0, 1, np.random.default_rng(5), np.random.default_rng(5))
    ]

    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()
    np.testing.assert_array_equal(runs[3], runs[4])


def test_other_ways_to_say_folds(small_data):
    views, pairs = small_data.train.views, dh.Pairs.aligned(400)
    shuffled = dh.cross_validate(
        HASHER, views, pairs, cv=ShuffleSplit(3, test_size=40, train_size=100, random_state=0)
    )
    listed = dh.cross_validate(HASHER, views, pairs, cv=[(np.arange(300), np.arange(300, 400))])

    assert len(shuffled["test_score"]) == 3
    assert len(listed["test_score"]) == 1


@pytest.mark.parametrize(
    ("cv", "error", "message"),
    [
        (1, ParameterError, "cv must be a whole number >= 2"),
        (500, ParameterError, "cv must be at most 400"),
        ([], ParameterError, "no folds"),
        ([([0, 1], [1, 2])], ParameterError, "object 1 is in both parts"),
        ([([0, 1], [400])], ParameterError, "numbers of objects below 400"),
        ([([0], [1, 2])], InputError, "fold 0: the training objects"),
        ([([0, 1, 2], [])], InputError, "fold 0: the held-out objects"),
    ],
)
def test_bad_folds_are_refused(small_data, cv, error, message):
    with pytest.raises(error, match=message):
        dh.cross_validate(HASHER, small_data.train.views, dh.Pairs.aligned(400), cv=cv)


def test_one_object_at_a_time_can_be_held_out(small_data):
    views = {m: X[:20] for m, X in small_data.train.views.items()}

    found = dh.cross_validate(dh.DiffHash(n_bits=2), views, dh.Pairs.aligned(20), cv=LeaveOneOut())

    assert len(found["test_score"]) == 20
