"""The fit of RefinedHash to labels.

Each view is regressed to the indicators of the labels (:mod:`~diffhash.learning.class_scores`). The
leave-one-out error chooses representation, width and ridge of each view by itself. Bits are then made from the
leave-one-out scores, which are distributed like the scores of new objects; several ways to make them are
compared by cross-fitting (:mod:`.score_layer`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np

from ...errors import InputError
from ...learning.class_scores import ViewRegression, label_indicators, shared_targets
from ...maps import FeatureMap, MappedView
from ...maps.representation import Representation, fit_representation
from ...pairs.resolved import ResolvedPairs, checked_pairs
from ...types import FloatArray, IntArray
from .pair_options import PairFit, PairOptions, PairProgress, TriedBits, ViewOptions
from .pair_trial import distinct_landmarks
from .score_layer import ScoreLayer, choose_layer

__all__ = ["classes_are_tiny", "fit_labels", "list_pairs_of_tiny_classes"]

#: Rows and landmarks of a view on which representations are compared.
_MAX_TRIAL_ROWS, _TRIAL_LANDMARKS = 1200, 300
#: If a trial has more labels than this, whole classes are left out of it.
_MAX_TRIAL_LABELS = 256
#: Largest number of rows of a view for which leave-one-out scores are computed.
_MAX_SCORED_ROWS = 20_000
#: Largest number of scores of an object. With more classes, the leading directions among them are used.
_MAX_SCORES = 256
#: With at most this many partners of an object on average, pairs of tiny classes are listed.
_MAX_PARTNERS = 10
#: The final ridge is at most this factor away from the one that was chosen in a trial.
_RIDGE_FACTOR = 100.0


def fit_labels(
    views: list[Any],
    pairs: ResolvedPairs,
    options: PairOptions,
    *,
    progress: PairProgress | None,
    who: list[str],
) -> PairFit:
    """Learn codes of one or two views from labels.

    Parameters
    ----------
    views : list of one or two float arrays, dense or CSR
    pairs : ResolvedPairs
        Pairs made from labels.
    options : PairOptions
    progress : function, optional
        Called as ``progress(share_done, message)``.
    who : list of str
        For each view, the prefix of error messages.

    Examples
    --------
    >>> from diffhash import Pairs
    >>> labels = np.arange(200) % 4
    >>> X = np.eye(4)[labels] + 0.1 * np.random.default_rng(0).normal(size=(200, 4))
    >>> pairs = Pairs.from_labels(labels, labels).resolve(200, 200)
    >>> found = fit_labels([X, 2 * X], pairs, PairOptions(8), progress=None, who=["x", "y"])
    >>> found.score > 0.95
    True
    """
    report = progress or (lambda _done, _message: None)
    groups = pairs.groups
    assert groups is not None, "fit_labels needs labels"
    indicators = label_indicators(groups)[: len(views)]
    report(0.0, "comparing representations")
    # With many rows BLAS uses all cores; otherwise the views are fitted at the same time.
    few_rows = max(X.shape[0] for X in views) <= _MAX_SCORED_ROWS
    with ThreadPoolExecutor(len(views) if few_rows else 1) as pool:
        fits = list(pool.map(_fit_view, views, indicators, options.views, repeat(options), who))
    tried = [
        replace(each, description=f"view {side}: {each.description}")
        for side, fit in enumerate(fits, 1)
        for each in fit.tried
    ]
    targets = shared_targets([fit.regression.damped_moments(fit.ridge) for fit in fits], _MAX_SCORES)
    report(0.7, "comparing bits")
    scores = [fit.leave_one_out(labels, targets) for fit, labels in zip(fits, indicators, strict=True)]
    rows = (fits[0].rows, fits[-1].rows)
    among = replace(pairs.subset(*rows), positive=None)
    layer = choose_layer(scores, targets, among, options, report)
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
    return PairFit(
        [fit.map for fit in fits],
        projections,
        thresholds,
        tried,
        f"{chosen_views}; {layer.description}",
        layer.score,
        layer.chance,
        layer.losses,
    )


def classes_are_tiny(pairs: ResolvedPairs) -> bool:
    """Whether most rows of a view share their labels with no other row of it.

    Class scores cannot be learned then, because a row that is left out leaves nothing of its class behind.
    """
    groups = pairs.groups
    assert groups is not None
    for labels in label_indicators(groups)[: 1 if pairs.one_view else 2]:
        sizes = np.asarray(labels.sum(axis=0)).reshape(-1)
        # A row is alone if no label of it has another row.
        accompanied = np.asarray(labels @ (sizes > 1)).reshape(-1) > 0
        if accompanied.mean() < 0.5:
            return True
    return False


def list_pairs_of_tiny_classes(pairs: ResolvedPairs) -> ResolvedPairs:
    """The same pairs with the positives as a list, if they are few. Sums over very many groups are slow.

    Examples
    --------
    >>> from diffhash import Pairs
    >>> list_pairs_of_tiny_classes(Pairs.from_labels([0, 1, 2], [2, 0, 5]).resolve(3, 3)).positive
    (array([0, 2]), array([1, 0]))
    """
    pairs = replace(pairs, positive=None)
    if pairs.n_positive > _MAX_PARTNERS * (pairs.n_x + pairs.n_y):
        return pairs
    assert pairs.groups is not None
    x, y = label_indicators(pairs.groups)
    i, j = (x @ y.T).nonzero()
    i, j = checked_pairs(
        (i.astype(np.int64), j.astype(np.int64)), pairs.n_x, pairs.n_y, pairs.one_view, "positive", "fit"
    )
    aligned = not pairs.one_view and pairs.n_x == pairs.n_y == len(i) and bool((i == j).all())
    return replace(pairs, positive=(i, j), groups=None, aligned=aligned)


@dataclass(frozen=True)
class _ViewFit:
    """The regression of one view, and the rows whose leave-one-out scores are used."""

    representation: Representation
    map: FeatureMap
    ridge: float
    regression: ViewRegression
    rows: IntArray
    coordinates: FloatArray
    tried: list[TriedBits]

    def leave_one_out(self, labels: Any, targets: FloatArray) -> FloatArray:
        """Leave-one-out scores of the rows, of shape (n_rows, n_targets)."""
        centred = self.regression.centred_targets(labels[self.rows], targets)
        return self.regression.leave_one_out(self.coordinates, centred, self.ridge, targets, refit_mean=False)


def _choose_representation(
    X: Any, labels: Any, choices: ViewOptions, random_state: int | None, who: str
) -> tuple[Representation, float, list[TriedBits]]:
    """The representation of a view with the smallest leave-one-out error on a sample, and its ridge."""
    rows = _trial_rows(labels, np.random.default_rng(random_state))
    X, labels = X[rows], labels[rows]
    labels = labels[:, np.flatnonzero(np.asarray(labels.sum(axis=0)).reshape(-1) > 0)]
    identity = np.eye(labels.shape[1])
    landmarks = None
    if "kernel" in choices.features:
        landmarks = distinct_landmarks(X, _TRIAL_LANDMARKS, random_state, who=who)
    found: dict[Representation, tuple[float, float]] = {}
    failures: list[InputError] = []

    def try_all(representations: list[Representation]) -> None:
        for representation in representations:
            try:
                view = MappedView(X, fit_representation(X, representation, landmarks, who=who))
                regression = ViewRegression.of(view, labels, who=who)
            except InputError as error:
                failures.append(error)
                continue
            centred = regression.centred_targets(labels, identity)
            ridge, remaining = regression.best_ridge(
                regression.coordinates(view), centred, np.asarray(choices.ridges), identity
            )
            if np.isfinite(remaining):
                found[representation] = remaining, ridge

    # The metric is chosen with the first width, then the width.
    first_width = choices.widths[0]
    options = choices.representations(X)
    try_all([r for r in options if r.features == "linear" or r.width == first_width])
    kernels = [r for r in found if r.features == "kernel"]
    if kernels:
        metric = min(kernels, key=lambda r: found[r]).metric
        try_all(
            [r for r in options if r.features == "kernel" and r.metric == metric and r.width != first_width]
        )
    if not found:
        raise failures[0]
    best = min(found, key=lambda r: found[r])
    tried = [TriedBits(f"{r}, ridge {ridge:.1g}", 1.0 - error) for r, (error, ridge) in found.items()]
    return best, found[best][1], tried


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


def _fit_view(X: Any, labels: Any, choices: ViewOptions, options: PairOptions, who: str) -> _ViewFit:
    """Choose a representation and regress all rows of a view to the labels.

    The ridge is chosen again by the leave-one-out error of all rows.
    """
    representation, ridge, tried = _choose_representation(X, labels, choices, options.random_state, who)
    landmarks = None
    if representation.features == "kernel":
        landmarks = distinct_landmarks(X, options.n_landmarks, options.random_state, who=who)
    fitted = fit_representation(X, representation, landmarks, who=who)
    view = MappedView(X, fitted)
    regression = ViewRegression.of(view, labels, options.max_rank, who=who)
    rng = np.random.default_rng(options.random_state)
    n = X.shape[0]
    rows = np.arange(n) if n <= _MAX_SCORED_ROWS else np.sort(rng.permutation(n)[:_MAX_SCORED_ROWS])
    coordinates = regression.coordinates(view if len(rows) == n else MappedView(X[rows], fitted))
    ridges = np.asarray(choices.ridges)
    near = ridges[(ridges >= ridge / _RIDGE_FACTOR) & (ridges <= ridge * _RIDGE_FACTOR)]
    targets = shared_targets([regression.damped_moments(ridge)], _MAX_SCORES)
    centred = regression.centred_targets(labels[rows], targets)
    best, _ = regression.best_ridge(coordinates, centred, near, targets)
    return _ViewFit(representation, fitted, best, regression, rows, coordinates, tried)


def _without_constant_bits(layer: ScoreLayer, side: int, scores: FloatArray, min_share: float) -> FloatArray:
    """Thresholds of a view. A bit that is nearly constant gets the median as its threshold."""
    offsets = np.array(layer.affine.offsets[side], dtype=np.float64)
    values = scores @ layer.affine.weights[side] + offsets
    share = (values >= 0).mean(axis=0)
    (constant,) = np.nonzero(np.minimum(share, 1 - share) < min_share)
    if len(constant):
        offsets[constant] -= np.median(values[:, constant], axis=0)
    return offsets
