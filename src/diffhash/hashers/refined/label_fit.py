"""The fit of RefinedHash to labels.

Each view is regressed to the indicators of the labels (:mod:`~diffhash.learning.class_scores`). The
leave-one-out error chooses representation, width and ridge of each view by itself. Bits are then made from
scores of objects by regressions without them; several ways to make bits are compared by cross-fitting
(:mod:`.score_layer`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np

from ...errors import InputError, ParameterError
from ...learning.class_scores import ViewRegression, shared_targets
from ...learning.label_indicators import couple_indicators, label_indicators
from ...maps import FeatureMap, MappedView
from ...maps.representation import Representation, fit_representation
from ...pairs.couples import ResolvedCouples
from ...pairs.resolved import ResolvedPairs, checked_pairs
from ...types import FloatArray, IntArray
from .fit_options import FitOptions, FitProgress, RefinedFit, Tried, ViewOptions
from .pair_trial import distinct_landmarks
from .score_layer import ScoreLayer, choose_layer, with_compact_groups

__all__ = ["classes_are_tiny", "fit_labels", "list_pairs_of_tiny_classes"]

#: Rows and landmarks of a view on which representations are compared.
_MAX_TRIAL_ROWS, _TRIAL_LANDMARKS = 1200, 300
#: If a trial has more labels than this, whole classes are left out of it.
_MAX_TRIAL_LABELS = 256
#: Largest number of rows of a view that choose the ridge.
_MAX_RIDGE_ROWS = 20_000
#: Largest number of rows of a view from which bits are learned.
_MAX_LAYER_ROWS = 4800
#: Largest number of scores of an object. With more classes, the leading directions among them are used.
_MAX_SCORES = 256
#: With at most this many partners of an object on average, pairs of tiny classes are listed.
_MAX_PARTNERS = 10
#: The final ridge is at most this factor away from the one that was chosen in a trial.
_RIDGE_FACTOR = 100.0


def fit_labels(
    views: list[Any],
    couples: ResolvedCouples,
    options: FitOptions,
    *,
    progress: FitProgress | None,
    who: list[str],
) -> RefinedFit:
    """Learn codes of any number of views from labels.

    Parameters
    ----------
    views : list of float arrays, dense or CSR
    couples : ResolvedCouples
        Pairs made from labels.
    options : FitOptions
    progress : function, optional
        Called as ``progress(share_done, message)``.
    who : list of str
        For each view, the prefix of error messages.

    Examples
    --------
    >>> from diffhash import Pairs
    >>> labels = np.arange(200) % 4
    >>> X = np.eye(4)[labels] + 0.1 * np.random.default_rng(0).normal(size=(200, 4))
    >>> couples = ResolvedCouples.of_pairs(Pairs.from_labels(labels, labels).resolve(200, 200))
    >>> found = fit_labels([X, 2 * X], couples, FitOptions(8), progress=None, who=["x", "y"])
    >>> found.score > 0.95
    True
    """
    report = progress or (lambda _done, _message: None)
    indicators = label_indicators(couples)
    report(0.0, "comparing representations")
    # With many rows BLAS uses all cores; otherwise the views are fitted at the same time.
    few_rows = max(X.shape[0] for X in views) <= _MAX_RIDGE_ROWS
    with ThreadPoolExecutor(len(views) if few_rows else 1) as pool:
        fits = []
        for fit in pool.map(_fit_view, views, indicators, options.views, repeat(options), who):
            fits.append(fit)
            report(0.7 * len(fits) / len(views), f"{len(fits)} of {len(views)} views regressed to the labels")
    tried = [
        replace(each, description=f"view {side}: {each.description}")
        for side, fit in enumerate(fits, 1)
        for each in fit.tried
    ]
    targets = shared_targets([fit.regression.damped_moments(fit.ridge) for fit in fits], _MAX_SCORES)
    report(0.7, "comparing bits")
    rows, folds = _folds(couples.n_rows, options)
    scores = [
        fit.leave_fold_out(X, labels, targets, r, f)
        for fit, X, labels, r, f in zip(fits, views, indicators, rows, folds, strict=True)
    ]
    among = with_compact_groups(
        replace(
            couples,
            couples=tuple(replace(c, pairs=replace(c.pairs, positive=None)) for c in couples),
        ).subset(rows)
    )
    layer = choose_layer(scores, targets, among, folds, options, report)
    tried += layer.tried
    projections: list[FloatArray] = []
    thresholds: list[FloatArray] = []
    for side, fit in enumerate(fits):
        weights = fit.regression.weights(fit.ridge, targets) @ layer.affine.weights[side]
        projection = np.asarray((fit.regression.directions @ weights).T, dtype=np.float64)
        offsets = _without_constant_bits(layer, side, scores[side], options.min_share)
        projections.append(projection)
        thresholds.append(offsets - projection @ fit.regression.mean)
    report(1.0, "done")
    chosen_views = " | ".join(f"{fit.representation}, ridge {fit.ridge:.1g}" for fit in fits)
    return RefinedFit(
        [fit.map for fit in fits],
        projections,
        thresholds,
        tried,
        f"{chosen_views}; {layer.description}",
        layer.score,
        layer.chance,
        layer.losses,
        layer.by_couple,
    )


def _folds(n_rows: tuple[int, ...], options: FitOptions) -> tuple[list[IntArray], list[IntArray]]:
    """For each view, random rows to learn bits from, and their folds.

    Views that may have the same objects, because they have the same number of rows, have the same rows and folds.
    """
    rng = np.random.default_rng(options.random_state)
    n_folds = int(np.clip(round(1 / options.validation_share), 2, 10))

    def draw(n: int) -> tuple[IntArray, IntArray]:
        rows = rng.permutation(n)[:_MAX_LAYER_ROWS]
        return rows, rng.permutation(np.arange(len(rows)) % n_folds)

    drawn = {n: draw(n) for n in dict.fromkeys(n_rows)}
    return [drawn[n][0] for n in n_rows], [drawn[n][1] for n in n_rows]


def classes_are_tiny(pairs: ResolvedPairs) -> bool:
    """Whether most rows of a view share their labels with no other row of it.

    Class scores cannot be learned then, because a row that is left out leaves nothing of its class behind.
    """
    groups = pairs.groups
    assert groups is not None
    for labels in couple_indicators(groups)[: 1 if pairs.one_view else 2]:
        sizes = np.asarray(labels.sum(axis=0)).reshape(-1)
        # A row is alone if no label of it has another row.
        accompanied = np.asarray(labels @ (sizes > 1)).reshape(-1) > 0
        if accompanied.mean() < 0.5:
            return True
    return False


def list_pairs_of_tiny_classes(couples: ResolvedCouples) -> ResolvedCouples:
    """The same pairs with positives by label as a list, if they are few. Sums over very many groups are slow.

    Examples
    --------
    >>> from diffhash import Pairs
    >>> couples = ResolvedCouples.of_pairs(Pairs.from_labels([0, 1, 2], [2, 0, 5]).resolve(3, 3))
    >>> list_pairs_of_tiny_classes(couples).only.positive
    (array([0, 2]), array([1, 0]))
    """
    return replace(couples, couples=tuple(replace(c, pairs=_list_pairs(c.pairs)) for c in couples))


def _list_pairs(pairs: ResolvedPairs) -> ResolvedPairs:
    if not pairs.labelled:
        return pairs
    pairs = replace(pairs, positive=None)
    if pairs.n_positive > _MAX_PARTNERS * (pairs.n_x + pairs.n_y):
        return pairs
    assert pairs.groups is not None
    x, y = couple_indicators(pairs.groups)
    i, j = (x @ y.T).nonzero()
    i, j = checked_pairs(
        (i.astype(np.int64), j.astype(np.int64)), pairs.n_x, pairs.n_y, pairs.one_view, "positive", "fit"
    )
    aligned = not pairs.one_view and pairs.n_x == pairs.n_y == len(i) and bool((i == j).all())
    return replace(pairs, positive=(i, j), groups=None, aligned=aligned)


@dataclass(frozen=True)
class _ViewFit:
    """The regression of one view, and the representations that were tried."""

    representation: Representation
    map: FeatureMap
    ridge: float
    regression: ViewRegression
    tried: list[Tried]

    def leave_fold_out(
        self, X: Any, labels: Any, targets: FloatArray, rows: IntArray, folds: IntArray
    ) -> FloatArray:
        """Scores of rows by regressions without their fold, of shape (n_rows, n_targets)."""
        centred = self.regression.centred_targets(labels[rows], targets)
        coordinates = self.regression.coordinates(MappedView(X[rows], self.map))
        return self.regression.leave_fold_out(coordinates, centred, folds, self.ridge, targets)


@dataclass(frozen=True)
class _Candidate:
    """A representation of a view with the ridge and the relative leave-one-out error of a trial."""

    representation: Representation
    ridge: float
    error: float


def _candidates(
    X: Any, labels: Any, choices: ViewOptions, random_state: int | None, who: str
) -> list[_Candidate]:
    """Representations of a view, compared by their leave-one-out errors on a sample of the rows."""
    rows = _trial_rows(labels, np.random.default_rng(random_state))
    X, labels = X[rows], labels[rows]
    labels = labels[:, np.flatnonzero(np.asarray(labels.sum(axis=0)).reshape(-1) > 0)]
    identity = np.eye(labels.shape[1])
    landmarks = None
    if "kernel" in choices.features:
        landmarks = distinct_landmarks(X, _TRIAL_LANDMARKS, random_state, who=who)
    found: list[_Candidate] = []
    failures: list[Exception] = []

    def try_all(representations: list[Representation]) -> None:
        for representation in representations:
            try:
                view = MappedView(X, fit_representation(X, representation, landmarks, who=who))
                regression = ViewRegression.of(view, labels, who=who)
            except (InputError, ParameterError) as error:
                failures.append(error)
                continue
            centred = regression.centred_targets(labels, identity)
            ridge, remaining = regression.best_ridge(
                regression.coordinates(view), centred, np.asarray(choices.ridges), identity
            )
            if np.isfinite(remaining):
                found.append(_Candidate(representation, ridge, remaining))

    # The metric is chosen with the first width, then the width.
    first_width = choices.widths[0]
    options = choices.representations(X)
    try_all([r for r in options if r.features == "linear" or r.width == first_width])
    kernels = [each for each in found if each.representation.features == "kernel"]
    if kernels:
        metric = min(kernels, key=lambda each: each.error).representation.metric
        try_all(
            [r for r in options if r.features == "kernel" and r.metric == metric and r.width != first_width]
        )
    if not found:
        raise failures[0]
    return found


def _finalists(candidates: list[_Candidate]) -> list[_Candidate]:
    """The best candidate; if it is linear, also the best kernel.

    A trial has fewer landmarks than the fit. More landmarks make the error of a kernel smaller, so a kernel
    that loses a trial may be better in the end.
    """
    best = min(candidates, key=lambda each: each.error)
    if best.representation.features == "kernel":
        return [best]
    kernels = [each for each in candidates if each.representation.features == "kernel"]
    return [best, *sorted(kernels, key=lambda each: each.error)[:1]]


def _trial_rows(labels: Any, rng: np.random.Generator) -> IntArray:
    """Random rows; with many labels all rows of some of the classes, so that classes keep their sizes."""
    n, n_labels = labels.shape
    if n_labels <= _MAX_TRIAL_LABELS:
        return np.sort(rng.permutation(n)[:_MAX_TRIAL_ROWS])
    by_label = labels.tocsc()[:, rng.permutation(n_labels)]
    n_taken = max(
        2, min(_MAX_TRIAL_LABELS, int(np.searchsorted(by_label.indptr, _MAX_TRIAL_ROWS, side="right")) - 1)
    )
    return np.unique(by_label[:, :n_taken].indices)[:_MAX_TRIAL_ROWS].astype(np.int64)


def _fit_view(X: Any, labels: Any, choices: ViewOptions, options: FitOptions, who: str) -> _ViewFit:
    """Choose a representation and regress all rows of a view to the labels.

    The ridge is chosen again by the leave-one-out error of all rows.
    """
    candidates = _candidates(X, labels, choices, options.random_state, who)
    tried = [Tried(f"{each.representation}, ridge {each.ridge:.1g}", 1.0 - each.error) for each in candidates]
    fits = [_fit_candidate(each, X, labels, choices, options, who) for each in _finalists(candidates)]
    best, _ = min(fits, key=lambda fit: fit[1])
    if len(fits) > 1:
        tried += [Tried(f"{fit.representation}, all rows", 1.0 - error) for fit, error in fits]
    return replace(best, tried=tried)


def _fit_candidate(
    candidate: _Candidate, X: Any, labels: Any, choices: ViewOptions, options: FitOptions, who: str
) -> tuple[_ViewFit, float]:
    """The regression of all rows, and its leave-one-out error on at most 20,000 of them."""
    representation = candidate.representation
    landmarks = None
    if representation.features == "kernel":
        landmarks = distinct_landmarks(X, options.n_landmarks, options.random_state, who=who)
    fitted = fit_representation(X, representation, landmarks, who=who)
    view = MappedView(X, fitted)
    regression = ViewRegression.of(view, labels, options.max_rank, who=who)
    rng = np.random.default_rng(options.random_state)
    n = X.shape[0]
    rows = np.arange(n) if n <= _MAX_RIDGE_ROWS else np.sort(rng.permutation(n)[:_MAX_RIDGE_ROWS])
    coordinates = regression.coordinates(view if len(rows) == n else MappedView(X[rows], fitted))
    ridges = np.asarray(choices.ridges)
    near = ridges[(ridges >= candidate.ridge / _RIDGE_FACTOR) & (ridges <= candidate.ridge * _RIDGE_FACTOR)]
    targets = shared_targets([regression.damped_moments(candidate.ridge)], _MAX_SCORES)
    centred = regression.centred_targets(labels[rows], targets)
    ridge, error = regression.best_ridge(coordinates, centred, near, targets)
    return _ViewFit(representation, fitted, ridge, regression, []), error


def _without_constant_bits(layer: ScoreLayer, side: int, scores: FloatArray, min_share: float) -> FloatArray:
    """Thresholds of a view. A bit that is nearly constant gets the median as its threshold."""
    offsets = np.array(layer.affine.offsets[side], dtype=np.float64)
    values = scores @ layer.affine.weights[side] + offsets
    share = (values >= 0).mean(axis=0)
    (constant,) = np.nonzero(np.minimum(share, 1 - share) < min_share)
    if len(constant):
        offsets[constant] -= np.median(values[:, constant], axis=0)
    return offsets
