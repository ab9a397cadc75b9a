"""The fit of RefinedHash to pairs without classes.

Objects have one or a few partners each, so there are no classes to regress to. Directions of both views are
found by regularised canonical correlation analysis (:mod:`~diffhash.learning.paired_directions`), weighted,
rotated, and refined within the space of the directions. Representations, ridges and all that follows are
chosen by searches among held-out objects. The plain rotated directions are always among the candidates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...evaluation.pair_score import score_codes
from ...learning.paired_directions import pair_covariance, paired_directions
from ...pairs.holdout import hold_out
from ...pairs.resolved import ResolvedPairs
from ...types import FloatArray
from .fit_options import FitOptions, FitProgress, RefinedFit, Tried
from .pair_bits import Bits, BitSetting, fit_bits
from .pair_search import choose_bits, choose_directions, default_setting
from .pair_trial import MAX_DIRECTIONS, DirectionSetting, PairTrial, ViewBasis, distinct_landmarks, fit_basis

__all__ = ["fit_pairs"]

#: Largest number of objects of each view in the trials.
_MAX_TRIAL_OBJECTS = 1600
#: Up to this many objects there are four splits instead of two: few objects are a noisy judge.
_FEW_OBJECTS = 800
#: Largest number of coordinates of each view, and of numbers in all coordinates of a view.
_LINEAR_RANK, _KERNEL_RANK, _MAX_NUMBERS = 1024, 512, 1 << 27
#: If rows are aligned, at most this many take part in the refinement.
_MAX_REFINED_ROWS = 50_000


def fit_pairs(
    views: list[Any],
    pairs: ResolvedPairs,
    options: FitOptions,
    *,
    progress: FitProgress | None,
    who: list[str],
) -> RefinedFit:
    """Learn codes of one or two views from pairs without classes.

    Parameters
    ----------
    views : list of one or two float arrays, dense or CSR
    pairs : ResolvedPairs
    options : FitOptions
    progress : function, optional
        Called as ``progress(share_done, message)``.
    who : list of str
        For each view, the prefix of error messages.

    Examples
    --------
    >>> from diffhash import Pairs
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> pairs = Pairs.aligned(100).resolve(100, 100)
    >>> found = fit_pairs([X, 2 * X], pairs, FitOptions(8), progress=None, who=["x", "y"])
    >>> found.score > 3 * found.chance
    True
    """
    report = progress or (lambda _done, _message: None)
    rng = np.random.default_rng(options.random_state)
    n_splits = 4 if max(pairs.n_x, pairs.n_y) <= _FEW_OBJECTS else 2
    splits = hold_out(pairs, options.validation_share, _MAX_TRIAL_OBJECTS, rng, n_splits)
    setting = default_setting(views, options)
    tried: list[Tried] = []
    score = chance = None
    bits = BitSetting(options.n_bits, 0.5)
    if splits:
        trials = [PairTrial(views, split, options.random_state, who) for split in splits]
        settings, tried = choose_directions(trials, views, options, report)
        trials = [trial for trial in trials if all(map(trial.can_fit, settings))]
        if trials:
            setting, bits, score, of_bits = choose_bits(trials, settings, options, report)
            tried += of_bits
            chance = float(np.mean([_chance(trial.split.scored_pairs) for trial in trials]))
        del trials
    report(0.8, "fitting all objects")
    fitted, losses = _final_fit(views, pairs, setting, bits, options, who)
    report(1.0, "done")
    description = f"{' | '.join(map(str, setting))}; {bits}"
    maps, projections, thresholds = zip(*fitted, strict=True)
    return RefinedFit(
        list(maps), list(projections), list(thresholds), tried, description, score, chance, losses
    )


def _chance(pairs: ResolvedPairs) -> float:
    """The score of codes that are all equal."""
    return score_codes(np.zeros((pairs.n_x, 1), np.uint8), np.zeros((pairs.n_y, 1), np.uint8), pairs)


def _final_fit(
    views: list[Any],
    pairs: ResolvedPairs,
    setting: DirectionSetting,
    bit_setting: BitSetting,
    options: FitOptions,
    who: list[str],
) -> tuple[list[tuple[Any, FloatArray, FloatArray]], list[float]]:
    """For each view map, projection and threshold; and the losses of the refinement."""
    bases = []
    for X, view, name in zip(views, setting, who, strict=False):
        rank = _LINEAR_RANK if view.representation.features == "linear" else _KERNEL_RANK
        landmarks = None
        if view.representation.features == "kernel":
            landmarks = distinct_landmarks(X, options.n_landmarks, options.random_state, who=name)
        max_rank = options.max_rank or max(128, min(rank, _MAX_NUMBERS // X.shape[0]))
        bases.append(fit_basis(X, view.representation, landmarks, max_rank=max_rank, who=name))
    scales = [basis.axes.scales(view.ridge) for basis, view in zip(bases, setting, strict=True)]
    y = None if pairs.one_view else bases[-1].coordinates
    directions = paired_directions(pair_covariance(bases[0].coordinates, y, pairs), scales, MAX_DIRECTIONS)
    found = len(directions.strengths)
    bit_setting = replace(bit_setting, n_directions=min(bit_setting.n_directions, found))
    k = bit_setting.n_directions
    weights = [s[:, None] * d[:, :k] for s, d in zip(scales, (directions.x, directions.y), strict=False)]
    values = [b.coordinates @ w.astype(b.coordinates.dtype) for b, w in zip(bases, weights, strict=True)]
    learned_from, learned_pairs = values, pairs
    if pairs.aligned and pairs.n_x > _MAX_REFINED_ROWS:
        rows = np.sort(np.random.default_rng(options.random_state).permutation(pairs.n_x)[:_MAX_REFINED_ROWS])
        learned_from, learned_pairs = [side[rows] for side in values], pairs.subset(rows, rows)
    bits = fit_bits(
        learned_from,
        directions,
        learned_pairs,
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
    offsets = bits.offsets[side].copy()
    projected = bits.projected(side, values)
    share = (projected >= 0).mean(axis=0)
    (constant,) = np.nonzero(np.minimum(share, 1 - share) < min_share)
    if len(constant):
        offsets[constant] -= np.median(projected[:, constant], axis=0)
    projection = np.asarray((basis.axes.directions @ (weight @ bits.weights[side])).T, dtype=np.float64)
    return basis.map, projection, np.asarray(offsets - projection @ basis.axes.mean)
