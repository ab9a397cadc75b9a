"""The fit of RefinedHash to pairs without classes.

Objects have one or a few partners each, so there are no classes to regress to. Directions of all views are
found by regularised canonical correlation analysis (:mod:`~diffhash.learning.paired_directions`), weighted,
rotated, and refined within the space of the directions. Representations, ridges and all that follows are
chosen by searches among held-out objects. The plain rotated directions are always among the candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...learning.paired_directions import covariance_blocks, paired_directions
from ...learning.score_bits import without_constant_bits
from ...maps.wide_rows import WideRows
from ...pairs.couples import ResolvedCouples
from ...pairs.objects import hold_out_couples
from ...threads import one_blas_thread
from ...types import FloatArray
from .all_rows import PairedRows
from .couple_needs import multiply_blocks, multiply_weights, need_factors
from .couple_scores import CoupleScores, chance_scores, weighted_mean
from .fit_options import FitOptions, FitProgress, RefinedFit, Tried
from .pair_bits import Bits, BitSetting, fit_bits
from .pair_search import best_when_refined, choose_bits, choose_directions, default_setting
from .pair_trial import (
    MAX_DIRECTIONS,
    DirectionSetting,
    PairTrial,
    ViewBasis,
    distinct_landmarks,
    fit_basis,
    trial_rank,
)

__all__ = ["fit_pairs", "rank_like_trials"]

#: Largest number of objects of each view in the trials.
_MAX_TRIAL_OBJECTS = 1600
#: All rows of a view with very many features are compared in one space of the rows, if there are at most so many.
_MAX_WIDE_ROWS = 2048
#: Up to this many objects there are four splits instead of two: few objects are a noisy judge. With several couples
#: the directions, which take long, are compared on two.
_FEW_OBJECTS = 800
#: Largest number of coordinates of each view, and of numbers in all coordinates of a view.
_LINEAR_RANK, _KERNEL_RANK, _MAX_NUMBERS = 1024, 512, 1 << 27
#: If rows are aligned, at most this many take part in the refinement.
_MAX_REFINED_ROWS = 50_000
#: In descriptions of bits for which couples are weighted by need.
_BY_NEED = ", couples by need"


def fit_pairs(
    views: list[Any],
    couples: ResolvedCouples,
    options: FitOptions,
    *,
    progress: FitProgress | None,
    who: list[str],
    all_rows: PairedRows | None = None,
) -> RefinedFit:
    """Learn codes of any number of views from pairs without classes.

    Parameters
    ----------
    views : list of float arrays, dense or CSR
    couples : ResolvedCouples
    options : FitOptions
    progress : function, optional
        Called as ``progress(share_done, message)``.
    who : list of str
        For each view, the prefix of error messages.
    all_rows : PairedRows, optional
        Given if views and couples are only a sample. Settings and bits are learned from the sample, directions from
        sums over all rows.

    Examples
    --------
    >>> from diffhash import Pairs
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> couples = ResolvedCouples.of_pairs(Pairs.aligned(100).resolve(100, 100))
    >>> found = fit_pairs([X, 2 * X], couples, FitOptions(8), progress=None, who=["x", "y"])
    >>> found.score > 3 * found.chance
    True
    """
    report = progress or (lambda _done, _message: None)
    rng = np.random.default_rng(options.random_state)
    n_splits = 4 if max(couples.n_rows) <= _FEW_OBJECTS else 2
    splits = hold_out_couples(couples, options.validation_share, _MAX_TRIAL_OBJECTS, rng, n_splits)
    setting = default_setting(views, options)
    tried: list[Tried] = []
    score = chance = None
    by_couple: CoupleScores = {}
    bits = BitSetting(options.n_bits, 0.5)
    factors: dict[tuple[int, int], float] = {}
    if splits:
        # Trials are small and run in several threads of their own.
        with one_blas_thread():
            wide = [
                WideRows(X) if X.shape[0] <= _MAX_WIDE_ROWS and WideRows.suits(X) else None for X in views
            ]
            trials = [PairTrial(views, split, options.random_state, who, wide) for split in splits]
            of_directions = trials if len(couples) == 1 else trials[:2]
            settings, tried = choose_directions(of_directions, views, options, report)
            if len(couples) > 1:
                settings = [*settings, *_with_larger_ridges(settings[0], options)]
            trials = [trial for trial in trials if all(map(trial.can_fit, settings))]
            if trials:
                setting, bits, by_couple, score, of_bits = choose_bits(trials, settings, options, report)
                tried += of_bits
                if len(couples) > 1:
                    # Couples that have most to gain count more, if the mean over all couples then is higher.
                    needs = need_factors(couples, by_couple)
                    weighted = [trial.with_weights(needs) for trial in trials]
                    refined = best_when_refined(weighted, settings, options)
                    other = choose_bits(weighted, [refined], options, report)
                    tried += [replace(each, description=each.description + _BY_NEED) for each in other[-1]]
                    if other[3] > score:
                        setting, bits, by_couple, score, _ = other
                        factors = needs
                chance = float(np.mean([_chance(trial.split.scored) for trial in trials]))
        del trials
    report(0.8, "fitting all objects")
    fitted, losses = _final_fit(views, couples, factors, setting, bits, options, who, all_rows)
    report(1.0, "done")
    maps, projections, thresholds = zip(*fitted, strict=True)
    return RefinedFit(
        list(maps),
        list(projections),
        list(thresholds),
        tried,
        list(setting),
        f"{bits}{_BY_NEED if factors else ''}",
        score,
        chance,
        losses,
        by_couple,
    )


def _chance(couples: ResolvedCouples) -> float:
    """The score of codes that are all equal."""
    scores = chance_scores(couples)
    return weighted_mean(couples, lambda couple: scores[couple.sides])


def _final_fit(
    views: list[Any],
    couples: ResolvedCouples,
    factors: Mapping[tuple[int, int], float],
    setting: DirectionSetting,
    bit_setting: BitSetting,
    options: FitOptions,
    who: list[str],
    all_rows: PairedRows | None,
) -> tuple[list[tuple[Any, FloatArray, FloatArray]], list[float]]:
    """For each view map, projection and threshold; and the losses of the refinement."""
    couples, bases = multiply_weights(couples, factors), []
    for X, view, name in zip(views, setting, who, strict=True):
        rank = _LINEAR_RANK if view.representation.features == "linear" else _KERNEL_RANK
        landmarks = None
        if view.representation.features == "kernel":
            landmarks = distinct_landmarks(X, options.n_landmarks, options.random_state, who=name)
        if len(couples) > 1:
            rank = min(rank, rank_like_trials(len(views), X.shape[0], options))
        max_rank = options.max_rank or max(128, min(rank, _MAX_NUMBERS // X.shape[0]))
        bases.append(fit_basis(X, view.representation, landmarks, max_rank=max_rank, who=name))
    if all_rows is None:
        axes = [basis.axes for basis in bases]
        covariances = covariance_blocks([basis.coordinates for basis in bases], couples)
    else:
        axes, covariances = all_rows.measure([basis.map for basis in bases], [basis.axes for basis in bases])
        covariances = multiply_blocks(covariances, factors)
    scales = [each.scales(view.ridge) for each, view in zip(axes, setting, strict=True)]
    directions = paired_directions(covariances, scales, MAX_DIRECTIONS)
    found = len(directions.strengths)
    bit_setting = replace(bit_setting, n_directions=min(bit_setting.n_directions, found))
    k = bit_setting.n_directions
    weights = [s[:, None] * d[:, :k] for s, d in zip(scales, directions.parts, strict=True)]
    values = [b.coordinates @ w.astype(b.coordinates.dtype) for b, w in zip(bases, weights, strict=True)]
    learned_from, among = values, couples
    n = couples.n_rows[0]
    if all(couple.pairs.aligned for couple in couples) and n > _MAX_REFINED_ROWS:
        rows = np.sort(np.random.default_rng(options.random_state).permutation(n)[:_MAX_REFINED_ROWS])
        learned_from, among = [side[rows] for side in values], couples.subset([rows] * len(values))
    bits = fit_bits(
        learned_from,
        directions,
        among,
        bit_setting,
        n_bits=options.n_bits,
        positive_weight=options.positive_weight,
        max_iter=options.max_iter,
        random_state=options.random_state,
    )
    fitted = [
        _projection(basis, weight, bits, side, values[side], options.min_share)
        for side, (basis, weight) in enumerate(zip(bases, weights, strict=True))
    ]
    return fitted, bits.losses


def _with_larger_ridges(setting: DirectionSetting, options: FitOptions) -> list[DirectionSetting]:
    """The same representations with ridges that are 10 and 100 times as large, if the user did not fix the ridge.

    Ridges are chosen by real-valued similarities with weights for all directions. Bits of many couples have no
    such weights: along directions that are mostly chance, each view adds noise of its own.
    """
    found = []
    for factor in (10.0, 100.0):
        larger = tuple(
            view
            if len(choices.ridges) == 1
            else replace(view, ridge=min(factor * view.ridge, max(choices.ridges)))
            for view, choices in zip(setting, options.views, strict=True)
        )
        found.append(larger)
    return [each for each in dict.fromkeys(found) if each != setting]


def rank_like_trials(n_views: int, n_rows: int, options: FitOptions) -> int:
    """Number of coordinates for which the ridges of the trials are right.

    With many views the trials have few coordinates, and then a small ridge does no harm. It would with all coordinates.
    More objects carry more of them.
    """
    n_learned = (1.0 - options.validation_share) * min(n_rows, _MAX_TRIAL_OBJECTS)
    return int(trial_rank(n_views) * n_rows / n_learned)


def _projection(
    basis: ViewBasis, weight: FloatArray, bits: Bits, side: int, values: FloatArray, min_share: float
) -> tuple[Any, FloatArray, FloatArray]:
    """Map, projection and threshold of one view. A bit that is nearly constant is cut at its median."""
    offsets = without_constant_bits(bits.offsets[side], bits.projected(side, values), min_share)
    projection, constant = basis.projection(weight @ bits.weights[side])
    return basis.map, projection, np.asarray(offsets + constant)
