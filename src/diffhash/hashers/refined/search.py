"""How RefinedHash chooses its settings: on held-out objects, giving up early on what is clearly worse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...codes import pack
from ...errors import InputError, ParameterError
from ...evaluation.pair_score import score_codes
from ...pairs.holdout import HeldOut
from ...pairs.resolved import ResolvedPairs
from ...types import IntArray
from .fit import Candidate, SettingFitter
from .settings import Setting

__all__ = ["Judge", "SettingSearch", "score_of_training", "some_rows"]

#: A setting that is worse than the best of its split by more than this share is not tried on the next split.
_GIVE_UP = 0.03
#: Settings whose scores differ by less than this share are as good on unseen objects, as far as can be told.
_AS_GOOD = 0.02
#: Objects of each view that tell how well the training objects are separated.
_ENOUGH = 5000


class Judge:
    """Fits settings to one part of the objects and scores them on another.

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
        self._judge_views = [view[rows] for view, rows in zip(views, split.judge_rows, strict=False)]
        self._split = split
        self._pairs = pairs
        self._fitter = make_fitter(self._fit_views, split.fit_pairs)
        self._fitted: dict[Setting, Candidate] = {}

    def mark(self, setting: Setting) -> float:
        """Score of unseen objects among themselves; 0 where the objects are too few or too much alike to learn from."""
        try:
            fitted = self._fitted[setting] = self._fitter.fit(setting)
        except (InputError, ParameterError):
            return 0.0
        codes = _codes(fitted, self._judge_views)
        return score_codes(codes[0], codes[-1], self._split.judge_pairs)

    def known(self, setting: Setting) -> float:
        """Score of unseen objects among those learned from too; the setting must have been marked.

        With labels they look for the latter, of which many are similar; otherwise for their own partners.
        """
        if setting not in self._fitted:
            return 0.0
        fitted = self._fitted[setting]
        unseen, learned = (_codes(fitted, views) for views in (self._judge_views, self._fit_views))
        if self._pairs.positive is not None:
            learned = [np.concatenate(sides) for sides in zip(unseen, learned, strict=True)]
        return (
            score_codes(unseen[0], learned[1], self._to_known(flip=False), queries="x")
            + score_codes(learned[0], unseen[1], self._to_known(flip=True), queries="y")
        ) / 2

    def _to_known(self, *, flip: bool) -> ResolvedPairs:
        """Pairs of unseen rows with the rows that :meth:`known` adds to them."""
        fit, judge, pairs = self._split.fit_rows, self._split.judge_rows, self._split.judge_pairs
        rows = [judge[0], judge[1]]
        side = 0 if flip else 1
        rows[side] = fit[side] if pairs.positive is None else np.concatenate([judge[side], fit[side]])
        if pairs.aligned:
            n_x, n_y = map(len, rows)
            return ResolvedPairs(n_x, n_y, False, pairs.positive, None, None, False)
        return self._pairs.subset(rows[0], rows[1])


class SettingSearch:
    """The best of some settings so far.

    Parameters
    ----------
    judges : list of Judge
        One for each split.
    """

    def __init__(self, judges: list[Judge]) -> None:
        self._judges = judges
        self._marks: dict[Setting, list[float]] = {}

    def try_all(self, settings: list[Setting]) -> Setting:
        """The best setting, of these and of those tried before."""
        running = [setting for setting in settings if setting not in self._marks]
        for number, judge in enumerate(self._judges):
            for setting in running:
                self._marks.setdefault(setting, []).append(judge.mark(setting))
            best = max(marks[number] for marks in self._marks.values() if len(marks) > number)
            running = [s for s in running if self._marks[s][number] >= (1 - _GIVE_UP) * best]
        scores = self._scores()
        return max(scores, key=lambda setting: scores[setting])

    def settle(self, as_start: Callable[[Setting], Setting]) -> Setting:
        """Of settings that are as good on unseen objects, the one that finds them best among known ones.

        Its spectral start takes its place if that is better on unseen objects.
        """
        scores = self._scores()
        enough = (1 - _AS_GOOD) * max(scores.values())
        near = [setting for setting, score in scores.items() if score >= enough]
        chosen = max(near, key=lambda s: (np.mean([judge.known(s) for judge in self._judges]), scores[s]))
        start = as_start(chosen)
        self.try_all([start])
        scores = self._scores()
        return start if scores.get(start, -1.0) > scores[chosen] else chosen

    def holds_its_own(self, setting: Setting, other: Setting) -> bool:
        """Whether a setting is at least as good as another on the first split."""
        marks = []
        for one in (setting, other):
            if one not in self._marks:
                self._marks[one] = [self._judges[0].mark(one)]
            marks.append(self._marks[one][0])
        return marks[0] >= marks[1]

    def _scores(self) -> dict[Setting, float]:
        """Means over the splits, of the settings that were tried on all of them."""
        return {
            setting: float(np.mean(marks))
            for setting, marks in self._marks.items()
            if len(marks) == len(self._judges)
        }


def some_rows(pairs: ResolvedPairs, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Some thousand rows of each view; the same of both where they may be the same objects."""
    x = rng.permutation(pairs.n_x)[:_ENOUGH]
    together = pairs.one_view or pairs.n_x == pairs.n_y
    return x, x if together else rng.permutation(pairs.n_y)[:_ENOUGH]


def score_of_training(fitted: Candidate, rows: tuple[IntArray, IntArray], among: ResolvedPairs) -> float:
    """How well rows that were learned from find each other, given the pairs among them."""
    codes = [pack(fitted.training_values(side, rows[side]) >= 0) for side in range(len(fitted.bases))]
    return score_codes(codes[0], codes[-1], among)


def _codes(fitted: Candidate, views: list[Any]) -> list[Any]:
    return [pack(fitted.values(side, X) >= 0) for side, X in enumerate(views)]
