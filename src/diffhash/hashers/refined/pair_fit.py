"""The fit of RefinedHash to pairs without classes.

Objects have one or a few partners each, so there are no classes to regress to. Directions of all views are
found by regularised canonical correlation analysis (:mod:`~diffhash.learning.paired_directions`), weighted,
rotated, and refined within the space of the directions. Representations, ridges and all that follows are
chosen by searches among held-out objects. The plain rotated directions are always among the candidates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...learning.paired_directions import covariance_blocks, paired_directions
from ...learning.score_bits import without_constant_bits
from ...pairs.couples import ResolvedCouples
from ...pairs.objects import hold_out_couples
from ...threads import one_blas_thread
from ...types import FloatArray
from .all_rows import PairedRows
from .couple_scores import CoupleScores, chance_scores, weighted_mean
from .fit_options import FitOptions, FitProgress, RefinedFit, Tried
from .pair_bits import Bits, BitSetting, fit_bits
from .pair_search import choose_bits, choose_directions, default_setting
from .pair_trial import MAX_DIRECTIONS, DirectionSetting, PairTrial, ViewBasis, distinct_landmarks, fit_basis

__all__ = ["fit_pairs"]

#: Largest number of objects of each view in the trials.
_MAX_TRIAL_OBJECTS = 1600
#: Up to this many objects there are four splits instead of two: few objects are a noisy judge. With several couples
#: the directions, which take long, are compared on two.
_FEW_OBJECTS = 800
#: Largest number of coordinates of each view, and of numbers in all coordinates of a view.
_LINEAR_RANK, _KERNEL_RANK, _MAX_NUMBERS = 1024, 512, 1 << 27
#: If rows are aligned, at most this many take part in the refinement.
_MAX_REFINED_ROWS = 50_000


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
    if splits:
        # Trials are small and run in several threads of their own.
        with one_blas_thread():
            trials = [PairTrial(views, split, options.random_state, who) for split in splits]
            of_directions = trials if len(couples) == 1 else trials[:2]
            settings, tried = choose_directions(of_directions, views, options, report)
            trials = [trial for trial in trials if all(map(trial.can_fit, settings))]
            if trials:
                setting, bits, by_couple, score, of_bits = choose_bits(trials, settings, options, report)
                tried += of_bits
                chance = float(np.mean([_chance(trial.split.scored) for trial in trials]))
        del trials
    report(0.8, "fitting all objects")
    fitted, losses = _final_fit(views, couples, setting, bits, options, who, all_rows)
    report(1.0, "done")
    maps, projections, thresholds = zip(*fitted, strict=True)
    return RefinedFit(
        list(maps),
        list(projections),
        list(thresholds),
        tried,
        list(setting),
        str(bits),
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
    setting: DirectionSetting,
    bit_setting: BitSetting,
    options: FitOptions,
    who: list[str],
    all_rows: PairedRows | None,
) -> tuple[list[tuple[Any, FloatArray, FloatArray]], list[float]]:
    """For each view map, projection and threshold; and the losses of the refinement."""
    bases = []
    for X, view, name in zip(views, setting, who, strict=True):
        rank = _LINEAR_RANK if view.representation.features == "linear" else _KERNEL_RANK
        landmarks = None
        if view.representation.features == "kernel":
            landmarks = distinct_landmarks(X, options.n_landmarks, options.random_state, who=name)
        max_rank = options.max_rank or max(128, min(rank, _MAX_NUMBERS // X.shape[0]))
        bases.append(fit_basis(X, view.representation, landmarks, max_rank=max_rank, who=name))
    if all_rows is None:
        axes = [basis.axes for basis in bases]
        covariances = covariance_blocks([basis.coordinates for basis in bases], couples)
    else:
        axes, covariances = all_rows.measure([basis.map for basis in bases], [basis.axes for basis in bases])
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


def _projection(
    basis: ViewBasis, weight: FloatArray, bits: Bits, side: int, values: FloatArray, min_share: float
) -> tuple[Any, FloatArray, FloatArray]:
    """Map, projection and threshold of one view. A bit that is nearly constant is cut at its median."""
    offsets = without_constant_bits(bits.offsets[side], bits.projected(side, values), min_share)
    projection = np.asarray((basis.axes.directions @ (weight @ bits.weights[side])).T, dtype=np.float64)
    return basis.map, projection, np.asarray(offsets - projection @ basis.axes.mean)
