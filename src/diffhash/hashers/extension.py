"""A hash function for a new modality, in the codes of a model that stays as it is.

The new view is regressed to the codes of its partners. Representation and ridge are those with the smallest error on
objects that were left out. Regressions to the projections of the partners, which are signs before they are cut,
are tried, too. The scores of left-out objects are then refined with the old codes frozen. Each is used if it finds
partners of held-out objects better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, ParameterError
from ..learning.class_scores import RIDGES, ViewRegression, scale_free_error
from ..learning.fusion import partner_consensus, reliability_slopes
from ..learning.score_bits import without_constant_bits
from ..maps import FeatureMap, MappedView
from ..maps.representation import Representation, fit_representation
from ..pairs.couples import ResolvedCouples
from ..pairs.objects import HeldOutCouples, hold_out_couples
from ..types import FloatArray, IntArray
from .extension_layer import HeldOutLayers
from .refined.fit_options import ViewOptions, compare_representations
from .refined.pair_trial import distinct_landmarks

__all__ = ["NewModality", "learn_modality"]

_N_FOLDS = 5
#: Rows and landmarks on which representations are compared.
_TRIAL_ROWS, _TRIAL_LANDMARKS = 1200, 300
#: Rows of each modality whose left-out scores are computed.
_MAX_SCORED_ROWS = 4800
_N_LANDMARKS = 1000
#: Largest number of principal components of the new view.
_MAX_RANK = 1024
#: A bit with a smaller share of zeros or ones gets the median as its threshold.
_MIN_SHARE = 0.02
#: Another target must find held-out partners better by this.
_CLEARLY_BETTER = 0.002
#: Share of the variance that cannot be predicted, at least.
_SMALLEST_ERROR = 0.02


@dataclass(frozen=True)
class NewModality:
    """What was learned for a new modality.

    Attributes
    ----------
    map : FeatureMap
    projection : array of shape (n_bits, n_features_out)
    threshold : array of shape (n_bits,)
    fusion_slopes : array of shape (n_bits,)
        See :func:`~diffhash.learning.fusion.reliability_slopes`.
    """

    map: FeatureMap
    projection: FloatArray
    threshold: FloatArray
    fusion_slopes: FloatArray


def learn_modality(
    X: Any, partners: Sequence[FloatArray], couples: ResolvedCouples, random_state: int | None, *, who: str
) -> NewModality:
    """Learn a hash function whose bits agree with those of the partners.

    Parameters
    ----------
    X : array of shape (n, n_features), dense or CSR
        Features of the new modality, which has number 0 in ``couples``.
    partners : arrays of shape (n', n_bits)
        Projections of the known modalities, which have the numbers 1, 2, ...
    couples : ResolvedCouples
        Pairs of the new modality with known ones.
    random_state : int or None
    who : str
        Prefix of error messages.
    """
    n_bits = partners[0].shape[1]
    values = [np.zeros((X.shape[0], n_bits)), *partners]
    target = partner_consensus(values, couples, within_classes=False)[0]
    known = _with_partners(values, couples)
    rng = np.random.default_rng(None if random_state is None else [random_state, 0xE47])
    splits = hold_out_couples(couples, 1 / _N_FOLDS, _MAX_SCORED_ROWS, rng, _N_FOLDS)
    rows, folds = _folds(splits, X.shape[0], known, rng)
    layers = HeldOutLayers(rows, values, splits, couples)
    first = _fit_view(X, target, known, rows, folds, random_state, who)
    fit, scores = first, first.left_out(X, target, rows, folds)
    best = layers.plain_score(scores, fit.regression.label_mean)
    for other in _real_targets(X, values, couples, first.representation, rows, folds, random_state, who):
        (found,) = _refitted(X, other, first.representation, known, rows, folds, random_state, who)
        of_other = found.left_out(X, other, rows, folds)
        score = layers.plain_score(of_other, found.regression.label_mean)
        if score > best + _CLEARLY_BETTER:
            fit, scores, best = found, of_other, score
    layer = layers.choose(scores, fit.regression.label_mean)
    held_out = layer.values(scores)
    threshold = without_constant_bits(layer.offsets, held_out, _MIN_SHARE)
    held_out += threshold - layer.offsets
    weights = fit.regression.weights(fit.ridge, np.eye(n_bits)) @ layer.weights
    projection = np.asarray((fit.regression.directions @ weights).T, dtype=np.float64)
    return NewModality(
        fit.map,
        projection,
        threshold - projection @ fit.regression.mean,
        reliability_slopes(held_out, target[rows]),
    )


def _with_partners(values: Sequence[FloatArray], couples: ResolvedCouples) -> IntArray:
    """Rows of the new modality that have partners."""
    # Of values that are all positive, the consensus is 1 where there is a partner.
    ones = [np.ones((len(each), 1)) for each in values]
    return np.flatnonzero(partner_consensus(ones, couples, within_classes=False)[0])


def _real_targets(
    X: Any,
    values: Sequence[FloatArray],
    couples: ResolvedCouples,
    representation: Representation,
    rows: IntArray,
    folds: IntArray,
    random_state: int | None,
    who: str,
) -> Iterator[FloatArray]:
    """Projections of the partners as targets: their mean, and their mean by how well they can be predicted.

    Signs forget how sure a partner is. If the new view predicts one partner nearly without error, and another one
    poorly, then the mean of both is a poor target for the first: weights are one over the share of the
    variance that is not predicted. With labels there are none: the mean sign over a class already tells how sure it is.
    """
    if any(couple.pairs.positive is None for couple in couples):
        return
    by_couple = []
    for couple in couples:
        alone = ResolvedCouples(couples.n_rows, (couple,))
        target = partner_consensus(values, alone, within_classes=False, real_valued=True)[0]
        by_couple.append((target, _with_partners(values, alone), couple.weight))
    yield _weighted_targets(by_couple, [1.0] * len(by_couple))
    if len(by_couple) == 1:
        return
    precisions = []
    for target, known, _ in by_couple:
        judged = np.isin(rows, known)
        found = []
        if len(np.unique(folds[judged])) >= 2:
            found = _refitted(
                X, target, representation, known, rows[judged], folds[judged], random_state, who
            )
        precisions.append(1.0 / max(found[0].error, _SMALLEST_ERROR) if found else 1.0)
    yield _weighted_targets(by_couple, precisions)


def _weighted_targets(
    by_couple: Sequence[tuple[FloatArray, IntArray, float]], precisions: Sequence[float]
) -> FloatArray:
    """The mean of the targets of the couples that each row has."""
    total, weight = np.zeros_like(by_couple[0][0]), np.zeros((len(by_couple[0][0]), 1))
    for (target, known, of_couple), precision in zip(by_couple, precisions, strict=True):
        total[known] += of_couple * precision * target[known]
        weight[known] += of_couple * precision
    return np.asarray(total / np.where(weight > 0, weight, 1.0))


def _refitted(
    X: Any,
    target: FloatArray,
    representation: Representation,
    known: IntArray,
    rows: IntArray,
    folds: IntArray,
    random_state: int | None,
    who: str,
) -> list[_ViewFit]:
    """A regression of all rows with partners, with a known representation; empty if it does not suit the rows."""
    places = np.searchsorted(known, rows)
    return _try_all([representation], X[known], target[known], places, folds, _N_LANDMARKS, random_state, who)


def _folds(
    splits: Sequence[HeldOutCouples], n_rows: int, known: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Rows of the new view that have partners, and the fold of each; rows of one object have the same fold."""
    fold_of = np.full(n_rows, -1)
    for split in splits[:1]:
        # Rows that no split scores are one more fold.
        fold_of[np.concatenate([split.fit_rows[0], split.scored_rows[0]])] = len(splits)
    for number, split in enumerate(splits):
        fold_of[split.scored_rows[0]] = number
    rows = known[fold_of[known] >= 0]
    if len(np.unique(fold_of[rows])) >= 2:
        return rows, fold_of[rows]
    # Too few pairs to hold objects out: rows are left out of the regression in turn.
    rows = np.sort(rng.permutation(known)[:_MAX_SCORED_ROWS])
    return rows, rng.permutation(np.arange(len(rows)) % max(2, min(_N_FOLDS, len(rows))))


@dataclass(frozen=True)
class _ViewFit:
    """A regression of the new view to the codes of its partners."""

    representation: Representation
    map: FeatureMap
    regression: ViewRegression
    ridge: float
    error: float

    def left_out(self, X: Any, target: FloatArray, rows: IntArray, folds: IntArray) -> FloatArray:
        """Scores of rows by regressions without their fold, without the constant term."""
        identity = np.eye(target.shape[1])
        coordinates = self.regression.coordinates(MappedView(X[rows], self.map))
        centred = self.regression.centred_targets(target[rows], identity)
        return self.regression.leave_fold_out(coordinates, centred, folds, self.ridge, identity)


def _fit_view(
    X: Any,
    target: FloatArray,
    known: IntArray,
    rows: IntArray,
    folds: IntArray,
    random_state: int | None,
    who: str,
) -> _ViewFit:
    """Choose a representation and a ridge, and regress all rows with partners."""
    drawn = np.sort(np.random.default_rng(random_state).permutation(len(rows))[:_TRIAL_ROWS])
    trial, trial_folds = rows[drawn], folds[drawn]

    def try_all(choices: list[Representation]) -> list[_ViewFit]:
        return _try_all(
            choices, X[trial], target[trial], None, trial_folds, _TRIAL_LANDMARKS, random_state, who
        )

    found = compare_representations(ViewOptions(), X, try_all)
    if not found:
        raise InputError(
            f"{who}: no representation of the features can be learned from. Give other features."
        )
    # A trial has fewer landmarks than the fit, which is a disadvantage of kernels.
    finalists = {
        features: min(group, key=lambda each: each.error).representation
        for features in ("linear", "kernel")
        if (group := [each for each in found if each.representation.features == features])
    }
    places = np.searchsorted(known, rows)
    fits = _try_all(
        list(finalists.values()), X[known], target[known], places, folds, _N_LANDMARKS, random_state, who
    )
    return min(fits, key=lambda each: each.error)


def _try_all(
    choices: list[Representation],
    X: Any,
    target: FloatArray,
    judged: IntArray | None,
    folds: IntArray,
    n_landmarks: int,
    random_state: int | None,
    who: str,
) -> list[_ViewFit]:
    """Regressions with their best ridges; representations that do not suit the features are left out."""
    landmarks = None
    if any(choice.features == "kernel" for choice in choices):
        landmarks = distinct_landmarks(X, n_landmarks, random_state, who=who)
    identity = np.eye(target.shape[1])
    found = []
    for choice in choices:
        try:
            fitted = fit_representation(X, choice, landmarks, who=who)
            view = MappedView(X, fitted)
            regression = ViewRegression.of(view, target, _MAX_RANK, who=who)
        except (InputError, ParameterError):
            continue
        rows = slice(None) if judged is None else judged
        coordinates = regression.coordinates(view if judged is None else MappedView(X[judged], fitted))
        centred = regression.centred_targets(target[rows], identity)
        errors = [
            scale_free_error(centred, regression.leave_fold_out(coordinates, centred, folds, ridge, identity))
            for ridge in RIDGES[::2]
        ]
        best = int(np.argmin(errors))
        found.append(_ViewFit(choice, fitted, regression, float(RIDGES[::2][best]), errors[best]))
    return found
