"""RefinedHash with labels: the representations of the views are chosen together."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.hashers.refined import view_choice, view_fit
from diffhash.hashers.refined.fit_options import FitOptions, ViewOptions
from diffhash.hashers.refined.score_layer import choose_layer, rotation_score
from diffhash.hashers.refined.scored_rows import ScoredRows
from diffhash.hashers.refined.view_choice import choose_views, draw_folds, known_rows
from diffhash.hashers.refined.view_fit import Candidate, _finalists
from diffhash.learning.label_indicators import label_indicators
from diffhash.maps.representation import Representation
from diffhash.pairs.couples import ResolvedCouples

OPTIONS = FitOptions(
    8,
    n_landmarks=60,
    views=(ViewOptions(features=("kernel",), metrics=("euclidean",), ridges=(1e-4, 1e-2)),) * 2,
)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    labels = np.arange(160) % 5
    views = [rng.normal(size=(5, d))[labels] + 0.8 * rng.normal(size=(160, d)) for d in (6, 4)]
    couples = ResolvedCouples.of_pairs(dh.Pairs.from_labels(labels, labels).resolve(160, 160))
    return views, couples, label_indicators(couples)


@pytest.fixture
def few_trial_landmarks(monkeypatch):
    """A trial has fewer landmarks than the fit, so narrower kernels are finalists."""
    monkeypatch.setattr(view_fit, "_TRIAL_LANDMARKS", 10)


def chosen(problem):
    views, couples, indicators = problem
    return choose_views(views, indicators, couples, OPTIONS, lambda *_: None, ["x", "y"])


def candidate(kind, metric, width, error):
    return Candidate(Representation(kind, metric, width), 0.1, error)


def test_finalists_are_the_best_candidate_and_kernels_that_are_narrower_than_the_best_one():
    wide, narrow = candidate("kernel", "cosine", 4.0, 0.3), candidate("kernel", "cosine", 1.0, 0.5)
    other = candidate("kernel", "diagonal", 1.0, 0.4)
    linear = candidate("linear", "cosine", 1.0, 0.2)

    assert _finalists([other, narrow, wide], more_landmarks=True) == [wide, narrow]
    assert _finalists([linear, narrow, wide], more_landmarks=True) == [linear, wide, narrow]
    assert _finalists([linear, narrow, wide], more_landmarks=False) == [linear]
    assert _finalists([linear], more_landmarks=True) == [linear]


def test_the_combination_with_the_best_held_out_search_is_used(problem, few_trial_landmarks, monkeypatch):
    """Whichever is best, also if its leave-one-out errors are not the smallest."""
    kept = {}
    original = view_choice._choose_together

    def remember(fits, *rest):
        kept["fits"] = fits
        return original(fits, *rest)

    monkeypatch.setattr(view_choice, "_choose_together", remember)
    for wanted in (0, -1):
        monkeypatch.setattr(
            view_choice,
            "targets_of",
            lambda fits: kept.update(now=fits) or np.eye(5),
        )
        monkeypatch.setattr(
            view_choice,
            "rotation_score",
            lambda *_, wanted=wanted: float(
                sum(fit is fits[wanted] for fit, fits in zip(kept["now"], kept["fits"], strict=True))
            ),
        )
        found, _ = chosen(problem)
        assert max(map(len, kept["fits"])) > 1, "otherwise this test shows nothing"
        assert all(fit is fits[wanted] for fit, fits in zip(found, kept["fits"], strict=True))


def test_many_rows_are_sampled_for_the_comparison_and_all_are_fitted(
    problem, few_trial_landmarks, monkeypatch
):
    monkeypatch.setattr(view_choice, "_MAX_FITTED_ROWS", 100)
    found, tried = chosen(problem)

    assert [fit.regression.n_rows for fit in found] == [160, 160]
    assert any(" | " in each.description for each in tried)


def test_without_finalists_to_compare_nothing_is_searched(problem, monkeypatch):
    monkeypatch.setattr(view_choice, "rotation_score", None)
    found, tried = chosen(problem)

    assert len(found) == 2
    assert all(each.description.startswith("view ") for each in tried)


def test_the_score_is_that_of_the_rotation_among_all_ways(problem):
    """The judge of representations is the judge of bits."""
    views, couples, indicators = problem
    fits, _ = chosen(problem)
    targets = view_choice.targets_of(fits)
    rows, folds = draw_folds((160, 160), 1000, OPTIONS)
    known = known_rows(fits, views, indicators, couples, targets, rows, folds)

    layer = choose_layer(known, targets, folds, OPTIONS, lambda *_: None)

    expected = {each.description: each.score for each in layer.tried}["rotation"]
    assert rotation_score(known, targets, folds, OPTIONS) == pytest.approx(expected)


def test_too_few_objects_to_hold_some_out_have_no_score(problem):
    labels = np.array([0, 1])
    couples = ResolvedCouples.of_pairs(dh.Pairs.from_labels(labels, labels).resolve(2, 2))
    scores = [np.array([[1.0], [-1.0]], dtype=np.float32)] * 2
    known = ScoredRows(scores, couples, label_indicators(couples))
    folds = [np.array([0, 1])] * 2

    assert rotation_score(known, np.eye(2)[:, :1], folds, OPTIONS) is None
