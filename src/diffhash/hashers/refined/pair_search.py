"""Choose representations, ridges and kind of bits for pairs, by searches among held-out objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...learning.contrastive_loss import can_be_contrasted
from ...learning.paired_directions import decreasing_strengths, held_out_strengths
from ...maps.representation import Representation
from ...pairs.couples import ResolvedCouples
from ...threads import in_threads
from ...types import FloatArray
from .couple_scores import CoupleScores, average_scores, code_scores, found_early, weighted_mean
from .fit_options import FitOptions, FitProgress, Tried, ViewSetting
from .pair_bits import BitSetting, Frames, fit_bits, rotated_settings
from .pair_trial import DirectionSetting, PairTrial

__all__ = ["best_when_refined", "choose_bits", "choose_directions", "default_setting"]

#: A setting is dropped if its score on the first split is lower than the best by more than this share of
#: the best score, or if its distance from a perfect score is larger by more than this share.
_MUCH_LOWER, _MUCH_FARTHER = 0.1, 0.5
#: Representations of a view whose ridge is chosen.
_N_FINALISTS = 3
#: Largest number of iterations of a trial refinement.
_TRIAL_ITERATIONS = 10
#: Bits are compared by the score and by the share of partners among this many items.
_FIRST = 5
#: Codes with a higher score are not refined: there is nothing to gain.
_GOOD_ENOUGH = 0.995
#: A setting must be better than a simpler one by this share of the score, or of the distance from 1.
_CLEARLY_BETTER = 0.01
#: Refinement with the softmax loss: penalties, and factors of the similarities.
_CONTRAST_PENALTIES, _CONTRASTS = (0.3, 1.0), (1.0, 2.0)


def default_setting(views: list[Any], options: FitOptions) -> DirectionSetting:
    """The first choices of each view. They are used if no objects can be held out."""
    return tuple(
        ViewSetting(choices.representations(X)[0], choices.ridges[0])
        for X, choices in zip(views, options.views, strict=False)
    )


def choose_directions(
    trials: list[PairTrial], views: list[Any], options: FitOptions, progress: FitProgress
) -> tuple[list[DirectionSetting], list[Tried]]:
    """Representation and ridge of each view, and what was tried.

    One setting is the best if directions may be weighted by their held-out strengths, another one the best if
    they may not. They are often the same.

    Views take turns, two for each: the settings of one view are compared while the other views keep their own.
    With more than two views, the first settings have the same kind of features and the same ridge in all views,
    because one view alone hardly leaves a kind that all others have. The second turn then compares the best
    representations of the first.
    """
    scores = _DirectionScores(trials)
    best = default_setting(views, options)
    n_views = len(best)
    turns = [0] if n_views == 1 else [*range(n_views), *range(n_views)]
    compared = [options.views[side].representations(X) for side, X in enumerate(views)]
    if n_views > 2:
        best = scores.best([best, *_common_settings(compared, options)], 1)[0]
    for number, side in enumerate(turns):
        progress(0.6 * number / len(turns), "choosing how features are represented")
        representations = compared[side]
        settings = [_with(best, side, ViewSetting(r, best[side].ridge)) for r in representations]
        finalists = scores.best([best, *settings], _N_FINALISTS)
        others = [
            _with(finalist, side, replace(finalist[side], ridge=ridge))
            for finalist in finalists
            for ridge in options.views[side].ridges
        ]
        if n_views > 2:
            compared[side] = [finalist[side].representation for finalist in finalists]
        best = scores.best([*finalists, *others], 1)[0]
    return list(dict.fromkeys([best, scores.best_plain()])), scores.tried()


def choose_bits(
    trials: list[PairTrial], settings: list[DirectionSetting], options: FitOptions, progress: FitProgress
) -> tuple[DirectionSetting, BitSetting, CoupleScores, float, list[Tried]]:
    """One of the settings, how its directions become bits, its scores on held-out objects, and what was tried."""
    progress(0.6, "choosing bits")
    compared = []
    for setting in settings:
        scores = _BitScores(trials, setting, options)
        starts = rotated_settings(options.n_bits, min(scores.n_found), scores.held_out_strengths())
        rotated = scores.best(starts, 2)
        compared.append((scores.mean(rotated[0]), setting, scores, starts, rotated))
    _, setting, scores, starts, rotated = max(compared, key=lambda entry: entry[0])
    best = rotated[0]
    if options.max_iter > 0 and scores.mean(best) < _GOOD_ENOUGH:
        penalty, target = options.penalties[0], options.negative_targets[0]
        wide = max(starts, key=lambda s: s.n_directions)
        refined = [
            replace(s, penalty=penalty, negative_target=target) for s in dict.fromkeys([*rotated, wide])
        ]
        progress(0.65, "refining bits")
        of_refined = scores.best(refined, 1)[0]
        others = [replace(of_refined, penalty=p) for p in options.penalties[1:]]
        of_refined = scores.best([of_refined, *others], 1)[0]
        progress(0.7, "refining bits")
        others = [replace(of_refined, negative_target=t) for t in options.negative_targets[1:]]
        finalists = [scores.best([of_refined, *others], 1)[0]]
        progress(0.75, "refining bits")
        # If the user fixed a parameter of the squared loss, only this loss is used.
        if len(options.penalties) > 1 and len(options.negative_targets) > 1 and scores.can_be_contrasted:
            plain = replace(finalists[0], penalty=None, negative_target=None)
            finalists.append(_best_contrasted(scores, [rotated[0], starts[0], plain]))
        of_refined = max(finalists, key=scores.mean)
        if scores.mean(of_refined) > scores.mean(best) + _margin(scores.mean(best)):
            best = of_refined
    return setting, best, scores.by_couple(best), scores.expected(best), scores.tried()


def best_when_refined(
    trials: list[PairTrial], settings: Sequence[DirectionSetting], options: FitOptions
) -> DirectionSetting:
    """The setting whose bits find most after one refinement; before it, small ridges look better than they are."""
    tried = BitSetting(options.n_bits, 1.0, penalty=_CONTRAST_PENALTIES[0], contrast=_CONTRASTS[0])
    if options.max_iter == 0 or not all(can_be_contrasted(trial.split.fit) for trial in trials):
        tried = replace(tried, penalty=None, contrast=None)

    def score(setting: DirectionSetting) -> float:
        scores = _BitScores(trials, setting, options)
        bits = replace(tried, n_directions=min(options.n_bits, *scores.n_found))
        return scores.mean(scores.best([bits], 1)[0])

    return max(settings, key=score)


def _best_contrasted(scores: _BitScores, starts: list[BitSetting]) -> BitSetting:
    """The best refinement with the softmax loss: its start is chosen first, then its factor and its penalty."""
    penalty, contrast = _CONTRAST_PENALTIES[0], _CONTRASTS[0]
    best: BitSetting
    best = scores.best([replace(s, penalty=penalty, contrast=contrast) for s in starts], 1)[0]
    best = scores.best([best, *(replace(best, contrast=c) for c in _CONTRASTS[1:])], 1)[0]
    best = scores.best([best, *(replace(best, penalty=p) for p in _CONTRAST_PENALTIES[1:])], 1)[0]
    return best


class _Scores:
    """Scores of settings on all splits; those that are clearly worse on the first split stop there."""

    def __init__(self, n_trials: int) -> None:
        self._n_trials = n_trials
        self._scores: dict[Any, list[float]] = {}

    def _score(self, number: int, setting: Any) -> float:
        raise NotImplementedError

    def _score_all(self, number: int, settings: Sequence[Any]) -> list[float]:
        """Scores of settings on one split, computed at the same time."""
        return in_threads(partial(self._score, number), settings)

    def best(self, settings: Sequence[Any], n: int) -> list[Any]:
        """The best settings. If scores are nearly equal, earlier settings come first."""
        remaining = list(dict.fromkeys(settings))
        for number in range(self._n_trials):
            new = [s for s in remaining if len(self._scores.setdefault(s, [])) == number]
            for setting, score in zip(new, self._score_all(number, new), strict=True):
                self._scores[setting].append(score)
            top = max(self._scores[s][number] for s in remaining)
            lowest = top - min(_MUCH_LOWER * top, _MUCH_FARTHER * (1 - top))
            remaining = [s for s in remaining if self._scores[s][number] >= lowest]
        order = sorted(remaining, key=lambda s: -self.mean(s))
        top = self.mean(order[0])
        simplest = next(s for s in remaining if self.mean(s) >= top - _margin(top) / 2)
        return [simplest, *(s for s in order if s != simplest)][:n]

    def mean(self, setting: Any) -> float:
        """Mean score over the splits on which the setting was tried."""
        return float(np.mean(self._scores[setting]))

    def tried(self) -> list[Tried]:
        """All settings that were tried on all splits."""
        return [
            Tried(self._describe(setting), float(np.mean(scores)))
            for setting, scores in self._scores.items()
            if len(scores) == self._n_trials
        ]

    def _describe(self, setting: Any) -> str:
        return str(setting)


class _DirectionScores(_Scores):
    """Scores of real-valued similarities."""

    def __init__(self, trials: list[PairTrial]) -> None:
        super().__init__(len(trials))
        self._trials = trials

    def _score(self, number: int, setting: DirectionSetting) -> float:
        return self._trials[number].score(setting)

    def _score_all(self, number: int, settings: Sequence[DirectionSetting]) -> list[float]:
        self._trials[number].prepare(settings)
        return super()._score_all(number, settings)

    def best_plain(self) -> DirectionSetting:
        """The best setting with weights from the learning objects, of those that were tried on all splits."""
        complete = [s for s, scores in self._scores.items() if len(scores) == self._n_trials]
        return max(
            complete, key=lambda s: np.mean([trial.plain_scores.get(s, 0.0) for trial in self._trials])
        )

    def _describe(self, setting: DirectionSetting) -> str:
        return " | ".join(map(str, setting))


class _BitScores(_Scores):
    """Scores of codes."""

    def __init__(self, trials: list[PairTrial], setting: DirectionSetting, options: FitOptions) -> None:
        super().__init__(len(trials))
        self._splits = [trial.split for trial in trials]
        self._found = [trial.directions(setting) for trial in trials]
        self._options = options
        self._strengths = [
            held_out_strengths(scored, trial.split.scored)
            for trial, (_, _, scored) in zip(trials, self._found, strict=True)
        ]
        self._by_couple: dict[BitSetting, list[CoupleScores]] = {}
        self._frames: list[Frames] = [{} for _ in trials]

    @property
    def can_be_contrasted(self) -> bool:
        """Whether the softmax loss suits the pairs."""
        return all(can_be_contrasted(split.fit) for split in self._splits)

    @property
    def n_found(self) -> list[int]:
        """Number of directions on each split."""
        return [len(directions.strengths) for directions, _, _ in self._found]

    def held_out_strengths(self, without: int | None = None) -> FloatArray:
        """For each view, strengths of the directions on held-out objects: mean over the splits, decreasing."""
        others = [each for number, each in enumerate(self._strengths) if number != without]
        return decreasing_strengths(others or self._strengths)

    def by_couple(self, setting: BitSetting) -> CoupleScores:
        """Mean score of each couple over the splits."""
        return average_scores(self._by_couple[setting])

    def expected(self, setting: BitSetting) -> float:
        """Mean score over couples and splits, without what else the comparison looks at."""
        of_splits = zip(self._splits, self._by_couple[setting], strict=False)
        return float(np.mean([_mean_of_couples(split.scored, found) for split, found in of_splits]))

    def tried(self) -> list[Tried]:
        """All settings that were tried on all splits."""
        return [
            Tried(str(setting), self.expected(setting))
            for setting, scores in self._scores.items()
            if len(scores) == self._n_trials
        ]

    def _score(self, number: int, setting: BitSetting) -> float:
        directions, fitted, scored = self._found[number]
        of_splits = self._by_couple.setdefault(setting, [])
        if setting.held_out is not None:
            # The objects that judge the weights must not determine them.
            strengths = self.held_out_strengths(without=number)[:, : setting.n_directions]
            padded = np.zeros((len(strengths), setting.n_directions))
            padded[:, : strengths.shape[1]] = strengths
            setting = replace(setting, held_out=tuple(map(tuple, padded.tolist())))
        options, split = self._options, self._splits[number]
        bits = fit_bits(
            fitted,
            directions,
            split.fit,
            setting,
            n_bits=options.n_bits,
            positive_weight=options.positive_weight,
            max_iter=min(options.max_iter, _TRIAL_ITERATIONS),
            random_state=options.random_state,
            frames=self._frames[number],
        )
        codes = bits.codes(scored)
        found = code_scores(codes, split.scored)
        of_splits.append(found)
        # Reciprocal ranks depend mostly on the very first item, which makes them noisy.
        early = found_early(codes, split.scored, _FIRST)
        return weighted_mean(
            split.scored,
            lambda couple: (found[couple.sides] + early.get(couple.sides, found[couple.sides])) / 2,
        )


def _mean_of_couples(couples: ResolvedCouples, scores: CoupleScores) -> float:
    return weighted_mean(couples, lambda couple: scores[couple.sides])


def _margin(score: float) -> float:
    """By how much a score must be exceeded to count as clearly better."""
    return _CLEARLY_BETTER * min(score, 1.0 - score)


def _common_settings(
    representations: Sequence[Sequence[Representation]], options: FitOptions
) -> list[DirectionSetting]:
    """Settings with the same kind of features in all views, each the first of its kind, and with the same ridge.

    A view without such features or ridge has its own first choice.
    """
    kinds = dict.fromkeys(each.features for of_view in representations for each in of_view)
    ridges = dict.fromkeys(ridge for choices in options.views for ridge in choices.ridges)
    return [
        tuple(
            ViewSetting(
                next((each for each in of_view if each.features == kind), of_view[0]),
                ridge if ridge in choices.ridges else choices.ridges[0],
            )
            for of_view, choices in zip(representations, options.views, strict=True)
        )
        for kind in kinds
        for ridge in ridges
    ]


def _with(setting: DirectionSetting, side: int, view: ViewSetting) -> DirectionSetting:
    return (*setting[:side], view, *setting[side + 1 :])
