"""The regression of one view to labels: choice of its representation, width and ridge.

Representations are compared by their leave-one-out errors on a sample of the rows with few landmarks. Those that may
be better with all landmarks are the finalists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError, ParameterError
from ...learning.class_scores import ViewRegression, shared_targets
from ...maps import FeatureMap, MappedView
from ...maps.representation import Representation, fit_representation
from ...types import FloatArray, IntArray
from .fit_options import FitOptions, Tried, ViewOptions, compare_representations
from .pair_trial import distinct_landmarks

__all__ = [
    "MAX_RIDGE_ROWS",
    "MAX_SCORES",
    "Candidate",
    "ViewFit",
    "choose_finalists",
    "fit_candidate",
    "fit_ridge",
    "sample_rows",
]

#: Rows and landmarks of a view on which representations are compared.
_MAX_TRIAL_ROWS, _TRIAL_LANDMARKS = 1200, 300
#: If a trial has more labels than this, whole classes are left out of it.
_MAX_TRIAL_LABELS = 256
#: Largest number of rows of a view that choose the ridge, and of scores of all these rows.
MAX_RIDGE_ROWS, _MAX_RIDGE_SCORES = 20_000, 1_280_000
#: Largest number of scores of an object. With more classes, the leading directions among them are used.
MAX_SCORES = 256
#: The final ridge is at most this factor away from the one that was chosen in a trial.
_RIDGE_FACTOR = 100.0


@dataclass(frozen=True)
class ViewFit:
    """The regression of one view, and its relative leave-one-out error."""

    representation: Representation
    map: FeatureMap
    ridge: float
    regression: ViewRegression
    error: float

    def leave_fold_out(
        self, X: Any, labels: Any, targets: FloatArray, rows: IntArray, folds: IntArray
    ) -> FloatArray:
        """Scores of rows by regressions without their fold, of shape (n_rows, n_targets)."""
        centred = self.regression.centred_targets(labels[rows], targets)
        coordinates = self.regression.coordinates(MappedView(X[rows], self.map))
        return self.regression.leave_fold_out(coordinates, centred, folds, self.ridge, targets)


@dataclass(frozen=True)
class Candidate:
    """A representation of a view with the ridge and the relative leave-one-out error of a trial."""

    representation: Representation
    ridge: float
    error: float


def _candidates(
    X: Any, labels: Any, choices: ViewOptions, random_state: int | None, who: str
) -> list[Candidate]:
    """Representations of a view, compared by their leave-one-out errors on a sample of the rows."""
    rows = sample_rows(labels, _MAX_TRIAL_ROWS, np.random.default_rng(random_state))
    X, labels = X[rows], labels[rows]
    labels = labels[:, np.flatnonzero(np.asarray(labels.sum(axis=0)).reshape(-1) > 0)]
    identity = np.eye(labels.shape[1])
    landmarks = None
    if "kernel" in choices.features:
        landmarks = distinct_landmarks(X, _TRIAL_LANDMARKS, random_state, who=who)
    failures: list[Exception] = []

    def try_all(representations: list[Representation]) -> list[Candidate]:
        found = []
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
                found.append(Candidate(representation, ridge, remaining))
        return found

    found = compare_representations(choices, X, try_all)
    if not found:
        raise failures[0]
    return found


def _finalists(candidates: list[Candidate], more_landmarks: bool) -> list[Candidate]:
    """The best candidate, and kernels that may be better than it with the landmarks of the fit.

    More landmarks than in a trial make the errors of kernels smaller, above all of narrow ones. So the best kernel
    is compared again if a linear candidate is best, and so are narrower kernels with its metric.
    """
    best = min(candidates, key=lambda each: each.error)
    kernels = [each for each in candidates if each.representation.features == "kernel"]
    if not kernels or not more_landmarks:
        return [best]
    kernel = min(kernels, key=lambda each: each.error)
    narrower = [
        each
        for each in kernels
        if each.representation.metric == kernel.representation.metric
        and each.representation.width < kernel.representation.width
    ]
    return list(dict.fromkeys([best, kernel, *narrower]))


def sample_rows(labels: Any, max_rows: int, rng: np.random.Generator) -> IntArray:
    """Random rows; with many labels all rows of some of the classes, so that classes keep their sizes."""
    n, n_labels = labels.shape
    if n_labels <= _MAX_TRIAL_LABELS:
        return np.sort(rng.permutation(n)[:max_rows])
    by_label = labels.tocsc()[:, rng.permutation(n_labels)]
    n_taken = max(
        2, min(_MAX_TRIAL_LABELS, int(np.searchsorted(by_label.indptr, max_rows, side="right")) - 1)
    )
    return np.unique(by_label[:, :n_taken].indices)[:max_rows].astype(np.int64)


def choose_finalists(
    X: Any, labels: Any, choices: ViewOptions, options: FitOptions, who: str
) -> tuple[list[Candidate], list[Tried]]:
    """The representations of a view that may be the best one, and all that were tried."""
    candidates = _candidates(X, labels, choices, options.random_state, who)
    tried = [Tried(f"{each.representation}, ridge {each.ridge:.1g}", 1.0 - each.error) for each in candidates]
    more_landmarks = min(X.shape[0], options.n_landmarks) > _TRIAL_LANDMARKS
    return _finalists(candidates, more_landmarks), tried


def fit_candidate(
    candidate: Candidate, X: Any, labels: Any, choices: ViewOptions, options: FitOptions, who: str
) -> ViewFit:
    """The regression of all rows. The ridge is chosen again by their leave-one-out error."""
    representation = candidate.representation
    landmarks = None
    if representation.features == "kernel":
        landmarks = distinct_landmarks(X, options.n_landmarks, options.random_state, who=who)
    view = MappedView(X, fit_representation(X, representation, landmarks, who=who))
    regression = ViewRegression.of(view, labels, options.max_rank, who=who)
    return fit_ridge(candidate, regression, view, labels, choices, options)


def fit_ridge(
    near: Candidate | ViewFit,
    regression: ViewRegression,
    view: MappedView,
    labels: Any,
    choices: ViewOptions,
    options: FitOptions,
) -> ViewFit:
    """Choose the ridge of a regression by the leave-one-out error of rows that it was fitted to.

    Parameters
    ----------
    near : Candidate or ViewFit
        The same representation; the ridge is not far from its ridge.
    regression : ViewRegression
    view : MappedView
        Some or all of the rows of the regression.
    labels : sparse array of shape (n, n_labels)
        Labels of these rows.
    choices, options
    """
    ridges = np.asarray(choices.ridges)
    ridges = ridges[(ridges >= near.ridge / _RIDGE_FACTOR) & (ridges <= near.ridge * _RIDGE_FACTOR)]
    targets = shared_targets([regression.damped_moments(near.ridge)], MAX_SCORES)
    n, n_used = view.n_rows, min(MAX_RIDGE_ROWS, _MAX_RIDGE_SCORES // targets.shape[1])
    rng = np.random.default_rng(options.random_state)
    rows = np.arange(n) if n <= n_used else np.sort(rng.permutation(n)[:n_used])
    coordinates = regression.coordinates(view if len(rows) == n else MappedView(view.X[rows], view.map))
    centred = regression.centred_targets(labels[rows], targets)
    ridge, error = regression.best_ridge(coordinates, centred, ridges, targets)
    return ViewFit(near.representation, view.map, ridge, regression, error)
