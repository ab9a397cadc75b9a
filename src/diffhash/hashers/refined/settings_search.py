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
from .fit import FittedSetting, SettingFitter, make_fitter
from .fit_size import trial_fit_size
from .settings import (
    RefinedParameters,
    Setting,
    as_start,
    first_settings,
    other_targets,
    search_plan,
)

__all__ = ["SettingSearch", "Trial", "choose_settings", "rows_to_compare", "score_training_rows"]

#: A setting whose score is lower than the best of its split by more than this share is dropped.
_DROP_BELOW = 0.03
#: Settings whose scores differ by less than this share count as equally good.
_EQUALLY_GOOD = 0.02
#: Largest number of objects in trial fits. Pairs need more: one partner has less information than a label.
_MAX_LABELLED_OBJECTS, _MAX_PAIRED_OBJECTS = 1500, 3000
_N_SPLITS = 2
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
        self._fitted: dict[Setting, FittedSetting] = {}

    def score(self, setting: Setting) -> float:
        """Score of a search within the held-out objects; 0 if the setting cannot be fitted to so few objects."""
        try:
            fitted = self._fitted[setting] = self._fitter.fit(setting)
        except (InputError, ParameterError):
            return 0.0
        codes = _codes(fitted, self._scored_views)
        return score_codes(codes[0], codes[-1], self._split.scored_pairs)

    def score_among_known(self, setting: Setting) -> float:
        """Score of a search with held-out objects among training objects; call :meth:`score` first.

        With labels the training objects are searched. Otherwise all objects are searched for the partners
        of the held-out objects.
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
        """Pairs between held-out rows and the rows that :meth:`score_among_known` searches."""
        fit, scored, pairs = self._split.fit_rows, self._split.scored_rows, self._split.scored_pairs
        rows = [scored[0], scored[1]]
        side = 0 if flip else 1
        rows[side] = fit[side] if pairs.positive is None else np.concatenate([scored[side], fit[side]])
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
        """Try settings; return the best setting of all that were tried so far."""
        remaining = [setting for setting in settings if setting not in self._scores]
        for number, trial in enumerate(self._trials):
            for setting in remaining:
                self._scores.setdefault(setting, []).append(trial.score(setting))
            best = max(scores[number] for scores in self._scores.values() if len(scores) > number)
            remaining = [s for s in remaining if self._scores[s][number] >= (1 - _DROP_BELOW) * best]
        means = self._means()
        return max(means, key=lambda setting: means[setting])

    def best_among_known(self, start_of: Callable[[Setting], Setting]) -> Setting:
        """Of the equally good settings, return the one with the best score among known objects.

        If its spectral start has a better score, the start is returned.
        """
        means = self._means()
        lowest = (1 - _EQUALLY_GOOD) * max(means.values())
        good = [setting for setting, score in means.items() if score >= lowest]
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
    views: list[Any],
    pairs: ResolvedPairs,
    parameters: RefinedParameters,
    validation_share: float,
    *,
    caller: str,
) -> list[Setting]:
    """The best setting on held-out objects, followed by settings that a full fit must compare with it.

    If there are too few objects to hold some out, this is the first setting of the plan.
    """
    rng = np.random.default_rng(parameters.random_state)
    # Each object is similar to one or a few partners, and to no other object.
    partnered = pairs.groups is None and pairs.negative is None
    histograms = any(map(never_negative, views))
    n_objects = _MAX_LABELLED_OBJECTS if pairs.labelled else _MAX_PAIRED_OBJECTS
    splits = hold_out(pairs, validation_share, n_objects, rng, _N_SPLITS)
    if not splits:
        return first_settings(parameters, partnered=partnered, histograms=histograms)[:1]
    size = trial_fit_size(parameters, partnered=partnered)
    search = SettingSearch(
        [
            Trial(views, pairs, split, lambda v, p: make_fitter(v, p, size, parameters, caller=caller))
            for split in splits
        ]
    )
    first, steps = search_plan(parameters, partnered=partnered, histograms=histograms)
    best = search.try_all(first)
    for step in steps:
        best = search.try_all(step(best))
    if not pairs.one_view and pairs.negative is None:
        best = search.best_among_known(as_start)
    others = _settings_to_compare(best, pairs, parameters)
    return [best, *(other for other in others if search.is_as_good(other, as_start(other)))]


def _settings_to_compare(
    setting: Setting, pairs: ResolvedPairs, parameters: RefinedParameters
) -> list[Setting]:
    """The same setting with another target for negatives, if there are more classes than n_bits + 1.

    At most m + 1 vectors of m dimensions can all have negative products. With more classes, some
    classes get the same code, more often with one target than with the other. Trial fits are too small
    to show this; a full fit shows it on the training objects.
    """
    groups = pairs.groups
    if groups is None or groups.sets is not None or pairs.negative is not None:
        return []
    return other_targets(parameters, setting) if groups.n_groups > parameters.n_bits + 1 else []


def rows_to_compare(pairs: ResolvedPairs, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Random rows of each view. If both views may have the same objects, the rows are the same."""
    x = rng.permutation(pairs.n_x)[:_COMPARED_OBJECTS]
    same_rows = pairs.one_view or pairs.n_x == pairs.n_y
    return x, x if same_rows else rng.permutation(pairs.n_y)[:_COMPARED_OBJECTS]


def score_training_rows(
    fitted: FittedSetting, rows: tuple[IntArray, IntArray], among: ResolvedPairs
) -> float:
    """Score of a search within training rows, with the pairs between them."""
    codes = [pack(fitted.training_values(side, rows[side]) >= 0) for side in range(len(fitted.bases))]
    return score_codes(codes[0], codes[-1], among)


def _codes(fitted: FittedSetting, views: list[Any]) -> list[Any]:
    return [pack(fitted.values(side, X) >= 0) for side, X in enumerate(views)]
