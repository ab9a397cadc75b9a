"""How RefinedHash chooses its settings: which it tries, which it drops, and how it decides between equals."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.codes import pack
from diffhash.hashers.refined import estimator as refined
from diffhash.hashers.refined import fit as refined_fit
from diffhash.hashers.refined import settings_search as refined_search
from diffhash.hashers.refined.fit import make_fitter
from diffhash.hashers.refined.fit_size import trial_fit_size
from diffhash.hashers.refined.settings import as_start, search_plan
from diffhash.hashers.refined.settings_search import (
    SettingSearch,
    Trial,
    _settings_to_compare,
    rows_to_compare,
    score_training_rows,
)
from diffhash.learning.pair_loss import PairLoss
from diffhash.pairs.holdout import hold_out


class FixedTrial:
    """Returns fixed scores and records the settings that were tried."""

    def __init__(self, scores, known=None):
        self.scores, self.known_scores, self.tried = scores, known or {}, []

    def score(self, setting):
        self.tried.append(setting)
        return self.scores[setting]

    def score_among_known(self, setting):
        return self.known_scores[setting]


def test_a_setting_that_is_clearly_worse_on_one_split_is_not_tried_on_the_next():
    first, second = FixedTrial({"a": 0.80, "b": 0.79, "c": 0.5}), FixedTrial({"a": 0.6, "b": 0.7})
    search = SettingSearch([first, second])
    assert search.try_all(["a", "b", "c"]) == "b"
    assert second.tried == ["a", "b"]


def test_later_settings_are_compared_with_earlier_ones():
    first, second = FixedTrial({"a": 0.8, "b": 0.7}), FixedTrial({"a": 0.8})
    search = SettingSearch([first, second])
    assert search.try_all(["a"]) == "a"
    assert search.try_all(["a", "b"]) == "a"
    assert first.tried == ["a", "b"]
    assert search.try_all([]) == "a"


def test_among_equal_scores_the_setting_that_finds_known_objects_best_is_chosen():
    trial = FixedTrial({"a": 0.80, "b": 0.79, "c": 0.775}, {"a": 0.3, "b": 0.5, "c": 0.9})
    search = SettingSearch([trial])
    search.try_all(["a", "b", "c"])
    assert search.best_among_known(lambda setting: setting) == "b"


def test_among_equal_scores_on_known_objects_the_setting_with_the_higher_score_is_chosen():
    search = SettingSearch([FixedTrial({"a": 0.795, "b": 0.80}, {"a": 0.0, "b": 0.0})])
    search.try_all(["a", "b"])
    assert search.best_among_known(lambda setting: setting) == "b"


def test_the_start_is_chosen_if_it_scores_higher_than_the_chosen_setting():
    trial = FixedTrial({"a": 0.80, "b": 0.79, "start of b": 0.795}, {"a": 0.3, "b": 0.5})
    search = SettingSearch([trial])
    search.try_all(["a", "b"])
    assert search.best_among_known(lambda setting: f"start of {setting}") == "start of b"


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("partnered", [False, True])
def test_given_values_are_not_varied(partnered, linear):
    kind = {"features": "linear"} if linear else {"features": "kernel", "metric": "diagonal", "width": 2.5}
    hasher = dh.RefinedHash(ridge=0.5, penalty=0.25, negative_target=-0.5, **kind)
    tried, steps = search_plan(hasher._refined_parameters(), partnered=partnered, histograms=True)
    for step in steps:
        tried = tried + [s for best in list(tried) for s in step(best)]
    refined = {s for s in tried if s.iterations}
    assert {(s.ridge, s.penalty, s.negative_target) for s in refined} == {(0.5, 0.25, -0.5)}
    seen = {(s.features, s.metric, s.width) for s in tried}
    assert len(seen) == 1 if linear else seen == {("kernel", "diagonal", 2.5)}
    assert {as_start(s) for s in tried} == {as_start(s) for s in refined}


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


@pytest.mark.parametrize("one_view", [False, True])
def test_with_listed_pairs_whole_pairs_are_held_out(one_view):
    """If single objects were drawn, few would have their partner in the same part."""
    rng = np.random.default_rng(0)
    n = 2000
    i = rng.permutation(n // 2)
    j = rng.permutation(n // 2) + (n // 2 if one_view else 0)
    negative = (rng.integers(0, n // 2, 5000), rng.integers(n // 2, n, 5000) - (0 if one_view else n // 2))
    keep = ~np.isin(negative[0] * n + negative[1], i * n + j)
    pairs = dh.Pairs((i, j), tuple(side[keep] for side in negative))
    resolved = pairs.resolve(n) if one_view else pairs.resolve(n // 2, n // 2)
    limit = 400 if one_view else 200
    splits = hold_out(resolved, 0.25, limit, np.random.default_rng(1), 2)
    assert len(splits) == 2
    for split in splits:
        assert split.fit_pairs.n_positive + split.scored_pairs.n_positive > 190
        assert split.scored_pairs.n_positive > 40
        assert not set(split.fit_rows[0]) & set(split.scored_rows[0])
        assert not set(split.fit_rows[1]) & set(split.scored_rows[1])


@pytest.mark.parametrize("kind", ["labels", "several labels", "aligned", "listed"])
def test_the_score_among_known_objects_equals_the_mean_average_precision(kind):
    rng = np.random.default_rng(3)
    n = 60
    labels = rng.integers(0, 4, n)
    views = [rng.normal(size=(n, 5)) + labels[:, None], rng.normal(size=(n, 4)) - labels[:, None]]
    order = rng.permutation(n)
    sets = labels[:, None] == np.arange(4)
    sets |= rng.random(sets.shape) < 0.2
    pairs = {
        "labels": dh.Pairs.from_labels(labels, labels),
        "several labels": dh.Pairs.from_labels(sets, sets),
        "aligned": dh.Pairs.aligned(n),
        "listed": dh.Pairs((np.arange(n), order)),
    }[kind]
    by_label = "label" in kind
    resolved = pairs.resolve(n, n)
    hasher = dh.RefinedHash(n_bits=16, n_landmarks=20)
    (split,) = hold_out(resolved, 0.3, n, np.random.default_rng(0))
    size = trial_fit_size(hasher._refined_parameters(), partnered=not by_label)
    trial = Trial(
        views,
        resolved,
        split,
        lambda v, p: make_fitter(v, p, size, hasher._refined_parameters(), caller="fit"),
    )
    setting = search_plan(hasher._refined_parameters(), partnered=not by_label, histograms=False)[0][0]
    trial.score(setting)
    fit_views = [view[rows] for view, rows in zip(views, split.fit_rows, strict=True)]
    fitter = make_fitter(fit_views, split.fit_pairs, size, hasher._refined_parameters(), caller="fit")
    fitted = fitter.fit(setting)
    codes = [pack(fitted.values(side, X) >= 0) for side, X in enumerate(views)]
    found = []
    for side in (0, 1):
        asking, other = split.scored_rows[side], split.fit_rows[1 - side]
        items = other if by_label else np.concatenate([split.scored_rows[1 - side], other])
        if kind == "labels":
            relevant = labels[asking][:, None] == labels[items]
        elif kind == "several labels":
            relevant = (sets[asking][:, None] & sets[items]).any(axis=2)
        else:
            partner = np.arange(n) if kind == "aligned" else (order if side == 0 else np.argsort(order))
            relevant = partner[asking][:, None] == items
        result = dh.evaluate(codes[side][asking], codes[1 - side][items], relevant=np.nonzero(relevant))
        found.append(result.mean_average_precision)
    assert trial.score_among_known(setting) == pytest.approx(np.mean(found))


def test_all_captions_of_a_picture_are_in_the_same_part():
    resolved = dh.Pairs((np.repeat(np.arange(100), 5), np.random.default_rng(0).permutation(500))).resolve(
        100, 500
    )
    splits = hold_out(resolved, 0.25, 1000, np.random.default_rng(1), 2)
    assert len(splits) == 2
    for split in splits:
        assert split.fit_pairs.n_positive == 375
        assert split.scored_pairs.n_positive == 125


def test_rows_without_a_partner_are_added_up_to_the_limit():
    """With few pairs and many rows, feature maps should be learned from all rows."""
    i = np.arange(20)
    resolved = dh.Pairs((i, i + 5)).resolve(300, 200)
    (split,) = hold_out(resolved, 0.25, 250, np.random.default_rng(1))
    assert [len(a) + len(b) for a, b in zip(split.fit_rows, split.scored_rows, strict=True)] == [250, 200]
    assert split.fit_pairs.n_positive == 15
    assert split.scored_pairs.n_positive == 5
    one = dh.Pairs((i, i + 20)).resolve(300)
    (split,) = hold_out(one, 0.25, 250, np.random.default_rng(1))
    assert len(split.fit_rows[0]) + len(split.scored_rows[0]) == 250
    assert split.fit_pairs.n_positive + split.scored_pairs.n_positive == 20


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
    assert len(hasher.losses_) > 0, "with labels the model is refined"
    codes = [hasher.encode(X, modality=m) for m, X in data.test.views.items()]
    truth = data.test.labels["x"]
    assert dh.evaluate(*codes, truth, truth).mean_average_precision > 0.8


@pytest.mark.parametrize("one_view", [False, True])
@pytest.mark.parametrize("better", ["first", "second"])
def test_with_more_classes_than_bits_both_targets_are_fitted_and_the_better_one_is_kept(
    better, one_view, monkeypatch
):
    data = dh.datasets.make_paper_data(n_classes=8, n_train=200, n_test=100, center_scale=3.0, random_state=1)
    view, labels = data.train.views["x"], data.train.labels
    views = {"x": view} if one_view else data.train.views
    pairs = dh.Pairs.from_labels(labels["x"]) if one_view else dh.Pairs.from_labels(labels["x"], labels["y"])
    targets, scores, seen = [], [], []

    class Loss(PairLoss):
        def __init__(self, pairs, n_bits, negative_target, positive_weight):
            super().__init__(pairs, n_bits, negative_target, positive_weight)
            targets.append(negative_target)

    def score(*arguments):
        scores.append(score_training_rows(*arguments))
        return float(len(scores) == (1 if better == "first" else 2))

    monkeypatch.setattr(refined_fit, "PairLoss", Loss)
    monkeypatch.setattr(refined, "score_training_rows", score)
    settings = {"features": "linear", "ridge": 0.01, "penalty": 0.003}
    hasher = dh.RefinedHash(
        n_bits=6, **settings, progress=lambda i, loss: seen.append((i, loss)), max_iter=5, min_share=0.3
    )
    hasher.fit(views, pairs)

    first, second = targets[-2:]
    assert {first, second} == {-0.7, 0.0}
    starts = [number for number, (i, _) in enumerate(seen) if i == 1]
    assert len(starts) == 2
    halves = [seen[: starts[1]], seen[starts[1] :]]
    kept = halves[0] if better == "first" else halves[1]
    np.testing.assert_array_equal(hasher.losses_, [loss for _, loss in kept])
    given = first if better == "first" else second
    same = dh.RefinedHash(n_bits=6, **settings, negative_target=given, max_iter=5, min_share=0.3)
    same.fit(views, pairs)
    codes = {m: hasher.encode(X, modality=m) for m, X in views.items()}
    for modality, X in views.items():
        np.testing.assert_array_equal(codes[modality], same.encode(X, modality=modality))
    own = np.arange(200) if one_view else None
    other = "x" if one_view else "y"
    found = [dh.evaluate(codes["x"], codes[other], labels["x"], labels[other], own=own)]
    if not one_view:
        found.append(dh.evaluate(codes["y"], codes["x"], labels["y"], labels["x"]))
    expected = np.mean([result.mean_average_precision for result in found])
    assert scores[0 if better == "first" else 1] == pytest.approx(expected)


def test_with_enough_bits_or_a_given_target_only_one_setting_is_fitted():
    labels = np.repeat(np.arange(5), 4)
    pairs = dh.Pairs.from_labels(labels, labels).resolve(20, 20)
    setting = search_plan(dh.RefinedHash(n_bits=3)._refined_parameters(), partnered=False, histograms=False)[
        0
    ][0]
    assert len(_settings_to_compare(setting, pairs, dh.RefinedHash(n_bits=3)._refined_parameters())) == 1
    assert _settings_to_compare(setting, pairs, dh.RefinedHash(n_bits=4)._refined_parameters()) == []
    assert (
        _settings_to_compare(
            setting, pairs, dh.RefinedHash(n_bits=3, negative_target=-0.7)._refined_parameters()
        )
        == []
    )
    assert (
        _settings_to_compare(as_start(setting), pairs, dh.RefinedHash(n_bits=3)._refined_parameters()) == []
    )
    listed = dh.Pairs((np.arange(20), np.arange(20))).resolve(20, 20)
    assert _settings_to_compare(setting, listed, dh.RefinedHash(n_bits=3)._refined_parameters()) == []
    sets = dh.Pairs.from_labels(np.eye(5, dtype=bool)[labels], np.eye(5, dtype=bool)[labels]).resolve(20, 20)
    assert _settings_to_compare(setting, sets, dh.RefinedHash(n_bits=3)._refined_parameters()) == []


def test_is_as_good_compares_two_settings_on_the_first_split():
    trial, other = FixedTrial({"a": 0.8, "other": 0.5, "start": 0.6}), FixedTrial({"a": 0.8})
    search = SettingSearch([trial, other])
    search.try_all(["a"])
    assert not search.is_as_good("other", "start")
    assert search.is_as_good("a", "start")
    assert trial.tried == ["a", "other", "start"]
    assert other.tried == ["a"]


def test_rows_to_compare_are_the_same_objects_in_both_views(monkeypatch):
    """With many small classes, few rows of two independent draws would have a partner."""
    monkeypatch.setattr(refined_search, "_COMPARED_OBJECTS", 10)
    labels, rng = np.arange(50), np.random.default_rng(0)
    x, y = rows_to_compare(dh.Pairs.from_labels(labels, labels).resolve(50, 50), rng)
    assert len(x) == 10
    np.testing.assert_array_equal(x, y)
    x, y = rows_to_compare(dh.Pairs.from_labels(labels, labels[:30]).resolve(50, 30), rng)
    assert len(set(x)) == len(set(y)) == 10
    assert max(y) < 30
    x, y = rows_to_compare(dh.Pairs.from_labels(labels).resolve(50), rng)
    np.testing.assert_array_equal(x, y)
