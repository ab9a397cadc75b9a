"""How RefinedHash chooses its settings: by trial fits that are scored on held-out objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...codes import pack
from ...errors import InputError, ParameterError
from ...evaluation.pair_score import score_codes
from ...maps.kernel import never_negative
from ...pairs.holdout import HeldOut, hold_out
from ...pairs.resolved import ResolvedPairs
from ...types import IntArray
from .fit import Candidate, SettingFitter, make_fitter
from .settings import Given, Setting, as_start, first_settings, other_targets, search_effort, search_plan

__all__ = ["SettingSearch", "Trial", "choose_settings", "score_of_training", "some_rows"]

#: A setting whose score is lower than the best of its split by more than this share is dropped.
_DROP_BELOW = 0.03
#: Settings whose scores differ by less than this share count as equally good.
_EQUALLY_GOOD = 0.02
#: Objects that take part in trial fits: a label says more about an object than one partner.
_SEARCH_LABELLED, _SEARCH_PAIRED = 1500, 3000
_SEARCH_SPLITS = 2
#: Training objects of each view on which final fits are compared.
_COMPARED_OBJECTS = 5000


class Trial:
    """One split of the objects: fits settings to one part and scores them on the other.

    Parameters
    ----------
    views : list of one or two arrays
    pairs : ResolvedPairs
    split : HeldOut
    make_fitter : function
        Makes a :class:`SettingFitter` from views and pairs.
    """

    def __init__(
        self,
        views: list[Any],
        pairs: ResolvedPairs,
        split: HeldOut,
        make_fitter: Callable[[list[Any], ResolvedPairs], SettingFitter],
    ) -> None:
        self._fit_views = [view[rows] for view, rows in zip(views, split.fit_rows, strict=False)]
        self._scored_views = [view[rows] for view, rows in zip(views, split.scored_rows, strict=False)]
        self._split = split
        self._pairs = pairs
        self._fitter = make_fitter(self._fit_views, split.fit_pairs)
        self._fitted: dict[Setting, Candidate] = {}

    def score(self, setting: Setting) -> float:
        """Score of held-out objects among themselves; 0 if the setting cannot be fitted to so few objects."""
        try:
            fitted = self._fitted[setting] = self._fitter.fit(setting)
        except (InputError, ParameterError):
            return 0.0
        codes = _codes(fitted, self._scored_views)
        return score_codes(codes[0], codes[-1], self._split.scored_pairs)

    def score_among_known(self, setting: Setting) -> float:
        """Score of held-out objects that search among training objects; call :meth:`score` first.

        With labels they search for training objects, otherwise for their own partners among all.
        """
        if setting not in self._fitted:
            return 0.0
        fitted = self._fitted[setting]
        unseen, learned = (_codes(fitted, views) for views in (self._scored_views, self._fit_views))
        if self._pairs.positive is not None:
            learned = [np.concatenate(sides) for sides in zip(unseen, learned, strict=True)]
        return (
            score_codes(unseen[0], learned[1], self._to_known(flip=False), queries="x")
            + score_codes(learned[0], unseen[1], self._to_known(flip=True), queries="y")
        ) / 2

    def _to_known(self, *, flip: bool) -> ResolvedPairs:
        """Pairs of held-out rows with the rows that :meth:`score_among_known` adds to them."""
        fit, judge, pairs = self._split.fit_rows, self._split.scored_rows, self._split.scored_pairs
        rows = [judge[0], judge[1]]
        side = 0 if flip else 1
        rows[side] = fit[side] if pairs.positive is None else np.concatenate([judge[side], fit[side]])
        if pairs.aligned:
            n_x, n_y = map(len, rows)
            return ResolvedPairs(n_x, n_y, False, pairs.positive, None, None, False)
        return self._pairs.subset(rows[0], rows[1])


class SettingSearch:
    """Scores of the settings that were tried.

    Parameters
    ----------
    trials : list of Trial
        One for each split.
    """

    def __init__(self, trials: list[Trial]) -> None:
        self._trials = trials
        self._scores: dict[Setting, list[float]] = {}

    def try_all(self, settings: list[Setting]) -> Setting:
        """Try settings; return the best of these and of all tried before."""
        running = [setting for setting in settings if setting not in self._scores]
        for number, trial in enumerate(self._trials):
            for setting in running:
                self._scores.setdefault(setting, []).append(trial.score(setting))
            best = max(scores[number] for scores in self._scores.values() if len(scores) > number)
            running = [s for s in running if self._scores[s][number] >= (1 - _DROP_BELOW) * best]
        means = self._means()
        return max(means, key=lambda setting: means[setting])

    def settle(self, start_of: Callable[[Setting], Setting]) -> Setting:
        """Among the equally good settings, the one that finds held-out objects best among known ones.

        If its spectral start has a better score, the start is returned.
        """
        means = self._means()
        enough = (1 - _EQUALLY_GOOD) * max(means.values())
        good = [setting for setting, score in means.items() if score >= enough]
        chosen = max(good, key=lambda s: (self._mean_among_known(s), means[s]))
        start = start_of(chosen)
        self.try_all([start])
        means = self._means()
        return start if means.get(start, -1.0) > means[chosen] else chosen

    def is_as_good(self, setting: Setting, other: Setting) -> bool:
        """Whether a setting scores at least as high as another on the first split."""
        for one in (setting, other):
            if one not in self._scores:
                self._scores[one] = [self._trials[0].score(one)]
        return self._scores[setting][0] >= self._scores[other][0]

    def _means(self) -> dict[Setting, float]:
        """Mean score of each setting that was tried on all splits."""
        complete = {s: scores for s, scores in self._scores.items() if len(scores) == len(self._trials)}
        return {setting: float(np.mean(scores)) for setting, scores in complete.items()}

    def _mean_among_known(self, setting: Setting) -> float:
        return float(np.mean([trial.score_among_known(setting) for trial in self._trials]))


def choose_settings(
    views: list[Any], pairs: ResolvedPairs, given: Given, validation_share: float, *, caller: str
) -> list[Setting]:
    """The best setting on held-out objects, then its rivals, which only a full fit can compare with it.

    With too few objects to hold some out, this is the first setting of the plan.
    """
    rng = np.random.default_rng(given.random_state)
    # Each object belongs to one or a few partners, and to no other object.
    partnered = pairs.groups is None and pairs.negative is None
    histograms = any(map(never_negative, views))
    n_objects = _SEARCH_LABELLED if pairs.labelled else _SEARCH_PAIRED
    splits = hold_out(pairs, validation_share, n_objects, rng, _SEARCH_SPLITS)
    if not splits:
        return first_settings(given, partnered=partnered, histograms=histograms)[:1]
    effort = search_effort(given, partnered=partnered)
    search = SettingSearch(
        [
            Trial(views, pairs, split, lambda v, p: make_fitter(v, p, effort, given, caller=caller))
            for split in splits
        ]
    )
    first, steps = search_plan(given, partnered=partnered, histograms=histograms)
    best = search.try_all(first)
    for step in steps:
        best = search.try_all(step(best))
    if not pairs.one_view and pairs.negative is None:
        best = search.settle(as_start)
    rivals = _rivals(best, pairs, given)
    return [best, *(rival for rival in rivals if search.is_as_good(rival, as_start(rival)))]


def _rivals(setting: Setting, pairs: ResolvedPairs, given: Given) -> list[Setting]:
    """The same setting with another target for negatives, if there are more classes than n_bits + 1.

    At most m + 1 vectors of m dimensions can all have negative products. With more classes some
    classes come to share a code, more often with one target than with the other. Trial fits are too
    small to show it; a full fit shows it on the training objects.
    """
    groups = pairs.groups
    if groups is None or groups.sets is not None or pairs.negative is not None:
        return []
    return other_targets(given, setting) if groups.n_groups > given.n_bits + 1 else []


def some_rows(pairs: ResolvedPairs, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Random rows of each view; the same rows of both if they may be the same objects."""
    x = rng.permutation(pairs.n_x)[:_COMPARED_OBJECTS]
    together = pairs.one_view or pairs.n_x == pairs.n_y
    return x, x if together else rng.permutation(pairs.n_y)[:_COMPARED_OBJECTS]


def score_of_training(fitted: Candidate, rows: tuple[IntArray, IntArray], among: ResolvedPairs) -> float:
    """How well training rows find each other, given the pairs among them."""
    codes = [pack(fitted.training_values(side, rows[side]) >= 0) for side in range(len(fitted.bases))]
    return score_codes(codes[0], codes[-1], among)


def _codes(fitted: Candidate, views: list[Any]) -> list[Any]:
    return [pack(fitted.values(side, X) >= 0) for side, X in enumerate(views)]
