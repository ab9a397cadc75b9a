"""From class scores to bits: several ways, compared by cross-fitting.

A way is learned from the scores of the objects of all folds but one, and judged by a search with codes among the
objects of that fold. The score of an object comes from a regression without its fold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...codes import pack
from ...learning.couple_loss import CoupleLoss
from ...learning.refinement import Affine, refine
from ...learning.score_bits import class_code_bits, class_mean_bits, rotated_bits
from ...types import FloatArray, IntArray
from .couple_scores import CoupleScores, average_scores, chance_scores, code_scores, weighted_mean
from .fit_options import FitOptions, FitProgress, Tried
from .scored_rows import ScoredRows

__all__ = ["ScoreLayer", "choose_layer", "rotation_score"]

#: Rows of each view that are used to compare ways.
_MAX_COMPARED_ROWS = 1600
#: A way that is less simple must be better by this.
_SIMPLER_WITHIN = 0.002
#: With at most this many scores, thresholds that are spread apart are tried.
_MAX_SPREAD_SCORES = 4
_SPREADS = (0.3, 0.6, 0.9)
#: Rotations with different starts, of which the best is kept.
_N_STARTS = 4
#: The best of the starts that are refined.
_N_REFINED = 2
_SLOPES = (1.0, 2.0)
#: Iterations of each round of a refinement that is compared with others.
_TRIAL_ITERATIONS = 15


@dataclass(frozen=True)
class ScoreLayer:
    """An affine function from class scores to values whose signs are bits.

    Attributes
    ----------
    affine : Affine
    description : str
    tried : list of Tried
    score, chance : float or None
        Mean average precision of codes of held-out objects, and of codes that say nothing.
    losses : list of float
        Loss after each iteration of the refinement, if there was one.
    by_couple : dict of float by (view, view)
        The score of each couple.
    """

    affine: Affine
    description: str
    tried: list[Tried]
    score: float | None
    chance: float | None
    losses: list[float]
    by_couple: CoupleScores


@dataclass(frozen=True)
class _Way:
    """One way to make bits. ``penalty`` None: without refinement."""

    start: str
    spread: float = 0.0
    target: float = 0.0
    penalty: float | None = None

    def __str__(self) -> str:
        text = self.start + (f", thresholds spread over {self.spread:g}" if self.spread else "")
        return text if self.penalty is None else f"{text}, refined (target {self.target:g})"


def choose_layer(
    known: ScoredRows,
    targets: FloatArray,
    folds: list[IntArray],
    options: FitOptions,
    report: FitProgress,
) -> ScoreLayer:
    """Choose a way to make bits on held-out objects, and learn it from all objects.

    Parameters
    ----------
    known : ScoredRows
        Scores of each view by regressions without the fold of the object.
    targets : array of shape (n_labels, n_scores)
        Axes of the scores.
    folds : list of int arrays of shape (n,)
        Fold of each row.
    options : FitOptions
    report : function
        Called as ``report(share_done, message)``.
    """
    learner = _Learner(targets, options)
    ways = _ways(known.scores[0].shape[1])
    splits = _splits(known, folds)
    found: dict[_Way, float] = {}
    by_couple: dict[_Way, CoupleScores] = {}

    def judge(way: _Way) -> float:
        if way not in found:
            of_folds = [fold.score(learner.learn(way, fold.fit)[0]) for fold in splits]
            found[way] = float(
                np.mean([fold.mean(each) for fold, each in zip(splits, of_folds, strict=True)])
            )
            by_couple[way] = average_scores(of_folds)
        return found[way]

    best, chance = ways[0], None
    if splits:
        best = _best_way(ways, options, judge, report)
        chance = float(np.mean([fold.mean(chance_scores(fold.held_out.couples)) for fold in splits]))
        judge(best)
    report(0.9, "learning the bits from all objects")
    affine, losses = _learn_from_all(learner, best, known)
    tried = [Tried(str(way), score) for way, score in found.items()]
    return ScoreLayer(affine, str(best), tried, found.get(best), chance, losses, by_couple.get(best, {}))


def rotation_score(
    known: ScoredRows, targets: FloatArray, folds: list[IntArray], options: FitOptions
) -> float | None:
    """Score of rotated scores on held-out objects; None if there are too few. See :func:`choose_layer`."""
    learner = _Learner(targets, options)
    splits = _splits(known, folds)
    if not splits:
        return None
    found = [fold.mean(fold.score(learner.learn(_Way("rotation"), fold.fit)[0])) for fold in splits]
    return float(np.mean(found))


def _ways(n_scores: int) -> list[_Way]:
    """The ways without refinement, the simplest first."""
    spreads = _SPREADS if n_scores <= _MAX_SPREAD_SCORES else ()
    rotations = [_Way("rotation", spread) for spread in (0.0, *spreads)]
    return [*rotations, _Way("class codes"), _Way("codes of class means")]


def _best_way(
    ways: list[_Way], options: FitOptions, judge: Callable[[_Way], float], report: FitProgress
) -> _Way:
    """The best way on held-out objects: first without refinement, then refinements of the best starts."""
    plain = _best(ways, judge)
    report(0.75, "comparing refined bits")
    rotations = [way for way in ways if way.start == "rotation"]
    starts = dict.fromkeys([_best(rotations, judge), plain])
    first_target, *other_targets = options.negative_targets
    refined = [
        replace(start, target=first_target, penalty=penalty)
        for start in starts
        for penalty in options.penalties[:1]
    ]
    best = _best([plain, *refined], judge)
    if best.penalty is None:
        return best
    report(0.85, "comparing targets of the refinement")
    return _best([best, *(replace(best, target=target) for target in other_targets)], judge)


def _best(ways: list[_Way], judge: Callable[[_Way], float]) -> _Way:
    """The way with the best score; a later one must be clearly better than an earlier one."""
    best = ways[0]
    for way in ways[1:]:
        if judge(way) > judge(best) + _SIMPLER_WITHIN:
            best = way
    return best


@dataclass(frozen=True)
class _Learner:
    """Learns ways from scores."""

    targets: FloatArray
    options: FitOptions

    def learn(
        self,
        way: _Way,
        known: ScoredRows,
        start: Affine | None = None,
        max_iter: int = _TRIAL_ITERATIONS,
    ) -> tuple[Affine, list[float]]:
        """The affine function of a way, and the losses of its refinement."""
        start = self.start(way, known, 0) if start is None else start
        if way.penalty is None:
            return start, []
        losses: list[float] = []
        loss = CoupleLoss(
            known.couples, self.options.n_bits, way.target, self.options.positive_weight, per_query=True
        )
        scales = [1.0 / np.maximum(s.std(axis=0, dtype=np.float64), 1e-9) for s in known.scores]
        # The penalty applies to weights of scores of unit variance.
        weights = tuple(w / scale[:, None] for w, scale in zip(start.weights, scales, strict=True))
        found, _ = refine(
            known.scores,
            loss,
            Affine(weights, start.offsets),
            penalty=way.penalty,
            scales=scales,
            slopes=_SLOPES,
            max_iter=max_iter,
            progress=lambda _iteration, value: losses.append(value),
        )
        weights = tuple(w * scale[:, None] for w, scale in zip(found.weights, scales, strict=True))
        return Affine(weights, found.offsets), losses

    def start(self, way: _Way, known: ScoredRows, number: int) -> Affine:
        """The bits of a way before refinement; each number gives another random start."""
        # Two numbers: the stream must not be the one of data that was drawn with the same seed.
        seed = self.options.random_state
        rng = np.random.default_rng(None if seed is None else [seed, number])
        if way.start == "rotation":
            return rotated_bits(known.scores, self.options.n_bits, rng, way.spread)
        if way.start == "class codes":
            return class_code_bits(known.scores, self.targets, self.options.n_bits, rng)
        return class_mean_bits(known.scores, known.labels, self.targets, self.options.n_bits, rng)


def _learn_from_all(learner: _Learner, way: _Way, known: ScoredRows) -> tuple[Affine, list[float]]:
    """Learn a way from all objects: of several starts, the one whose codes search best is used."""
    rows = [np.arange(min(n, _MAX_COMPARED_ROWS)) for n in known.couples.n_rows]
    compared = _Fold(known, known.rows(rows))

    def score(affine: Affine) -> float:
        return compared.mean(compared.score(affine))

    starts = [learner.start(way, known, number) for number in range(_N_STARTS)]
    starts.sort(key=score, reverse=True)
    if way.penalty is None:
        return starts[0], []
    fits = [learner.learn(way, known, start, learner.options.max_iter) for start in starts[:_N_REFINED]]
    return max(fits, key=lambda fit: score(fit[0]))


@dataclass(frozen=True)
class _Fold:
    """One split of the objects: the part to learn from, and the held-out part."""

    fit: ScoredRows
    held_out: ScoredRows

    def score(self, affine: Affine) -> CoupleScores:
        """Score of a search among the held-out objects, of each couple."""
        codes = [
            pack(s @ w.astype(s.dtype) + b.astype(s.dtype) >= 0)
            for s, w, b in zip(self.held_out.scores, affine.weights, affine.offsets, strict=True)
        ]
        return code_scores(codes, self.held_out.couples)

    def mean(self, scores: CoupleScores) -> float:
        """The weighted mean over the couples."""
        return weighted_mean(self.held_out.couples, lambda couple: scores[couple.sides])


def _splits(known: ScoredRows, folds: list[IntArray]) -> list[_Fold]:
    """One split for each fold, of at most 1,600 objects of each view.

    A couple is left out if it has no positive or no negative pair in a part, and a split if a part has no couple.
    """
    kept = [np.arange(min(len(f), _MAX_COMPARED_ROWS)) for f in folds]
    known = known.rows(kept)
    folds = [f[rows] for f, rows in zip(folds, kept, strict=True)]
    found = []
    for number in np.unique(folds[0]):
        fold = _Fold(
            known.rows([np.flatnonzero(f != number) for f in folds]),
            known.rows([np.flatnonzero(f == number) for f in folds]),
        )
        if fold.fit.enough and fold.held_out.enough:
            found.append(fold)
    return found
