"""Choice of the representations of all views together.

Each view proposes finalists (:mod:`.view_fit`). Their leave-one-out errors are close, and the smaller error does not
always give the better codes. So they are compared by what codes are for: a search with rotated scores among objects
that the regressions have not seen.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from ...learning.class_scores import shared_targets
from ...pairs.couples import ResolvedCouples
from ...types import FloatArray, IntArray
from .fit_options import FitOptions, FitProgress, Tried
from .score_layer import rotation_score
from .scored_rows import ScoredRows, labelled_pairs
from .view_fit import (
    MAX_RIDGE_ROWS,
    MAX_SCORES,
    Candidate,
    ViewFit,
    choose_finalists,
    fit_candidate,
    sample_rows,
)

__all__ = ["choose_views", "draw_folds", "known_rows", "targets_of"]

#: Rows of a view to which finalists are fitted before they are compared, and rows that are searched.
_MAX_FITTED_ROWS, _MAX_COMPARED_ROWS = 5000, 1600


def choose_views(
    views: list[Any],
    indicators: list[Any],
    couples: ResolvedCouples,
    options: FitOptions,
    report: FitProgress,
    who: list[str],
) -> tuple[list[ViewFit], list[Tried]]:
    """The regression of each view, and what was tried.

    Parameters
    ----------
    views : list of float arrays, dense or CSR
    indicators : list of sparse arrays of shape (n, n_labels)
        Labels of the rows of each view.
    couples : ResolvedCouples
    options : FitOptions
    report : function
        Called as ``report(share_done, message)``.
    who : list of str
        For each view, the prefix of error messages.
    """
    n_views = len(views)
    # With many rows BLAS uses all cores; otherwise the views are fitted at the same time.
    few_rows = max(X.shape[0] for X in views) <= MAX_RIDGE_ROWS
    with ThreadPoolExecutor(n_views if few_rows else 1) as pool:
        finalists: list[list[Candidate]] = []
        tried: list[Tried] = []

        def propose(side: int) -> tuple[list[Candidate], list[Tried]]:
            return choose_finalists(views[side], indicators[side], options.views[side], options, who[side])

        for side, (proposed, seen) in enumerate(pool.map(propose, range(n_views)), 1):
            finalists.append(proposed)
            tried += [replace(each, description=f"view {side}: {each.description}") for each in seen]
            report(0.4 * side / n_views, f"representations of {side} of {n_views} views compared")

        def fit(side: int, rows: IntArray | None = None) -> list[ViewFit]:
            X, labels = views[side], indicators[side]
            X, labels = (X, labels) if rows is None else (X[rows], labels[rows])
            return [
                fit_candidate(each, X, labels, options.views[side], options, who[side])
                for each in finalists[side]
            ]

        if max(map(len, finalists)) == 1:
            return [each[0] for each in pool.map(fit, range(n_views))], tried
        rows = [_compared_rows(labels, options) for labels in indicators]
        fits = list(pool.map(fit, range(n_views), rows))
        report(0.6, "comparing representations of all views together")
        chosen, compared = _choose_together(fits, views, indicators, couples, rows, options)
        tried += compared
        if all(each is None for each in rows):
            return [fits[side][number] for side, number in enumerate(chosen)], tried
        finalists = [[finalists[side][number]] for side, number in enumerate(chosen)]
        return [each[0] for each in pool.map(fit, range(n_views))], tried


def _compared_rows(labels: Any, options: FitOptions) -> IntArray | None:
    """Rows of a view to which finalists are fitted; None: all of them.

    Views that may have the same objects, because they have the same number of rows, have the same rows.
    """
    if labels.shape[0] <= _MAX_FITTED_ROWS:
        return None
    return sample_rows(labels, _MAX_FITTED_ROWS, np.random.default_rng(options.random_state))


def _choose_together(
    fits: list[list[ViewFit]],
    views: list[Any],
    indicators: list[Any],
    couples: ResolvedCouples,
    rows: list[IntArray | None],
    options: FitOptions,
) -> tuple[list[int], list[Tried]]:
    """For each view the number of the best finalist, and all combinations that were compared.

    The first combination has the smallest leave-one-out errors. Then one view after the other takes the finalist
    that is best beside those of the other views.
    """
    whole = [np.arange(X.shape[0]) if r is None else r for X, r in zip(views, rows, strict=True)]
    views = [X[r] for X, r in zip(views, whole, strict=True)]
    indicators = [labels[r] for labels, r in zip(indicators, whole, strict=True)]
    among = couples.subset(whole)
    drawn, folds = draw_folds(among.n_rows, _MAX_COMPARED_ROWS, options)
    tried: list[Tried] = []
    scores: dict[tuple[int, ...], float] = {}

    def score(numbers: tuple[int, ...]) -> float:
        if numbers not in scores:
            together = [of_view[number] for of_view, number in zip(fits, numbers, strict=True)]
            targets = targets_of(together)
            known = known_rows(together, views, indicators, among, targets, drawn, folds)
            found = rotation_score(known, targets, folds, options)
            scores[numbers] = -np.inf if found is None else found
            if found is not None:
                tried.append(Tried(" | ".join(str(each.representation) for each in together), found))
        return scores[numbers]

    best = tuple(int(np.argmin([each.error for each in of_view])) for of_view in fits)
    for side, of_view in enumerate(fits):
        if len(of_view) > 1:
            # The first of equal ones is taken, so `best` comes first.
            others = ((*best[:side], number, *best[side + 1 :]) for number in range(len(of_view)))
            best = max([best, *others], key=score)
    return list(best), tried


def targets_of(fits: list[ViewFit]) -> FloatArray:
    """Targets that the views can tell apart, of shape (n_labels, n_targets)."""
    return shared_targets([fit.regression.damped_moments(fit.ridge) for fit in fits], MAX_SCORES)


def known_rows(
    fits: list[ViewFit],
    views: list[Any],
    indicators: list[Any],
    couples: ResolvedCouples,
    targets: FloatArray,
    rows: list[IntArray],
    folds: list[IntArray],
) -> ScoredRows:
    """Rows of each view with their scores by regressions without their fold."""
    scores = [
        fit.leave_fold_out(X, labels, targets, r, f).astype(np.float32)
        for fit, X, labels, r, f in zip(fits, views, indicators, rows, folds, strict=True)
    ]
    labels = [each[r] for each, r in zip(indicators, rows, strict=True)]
    return ScoredRows(scores, labelled_pairs(couples, rows), labels)


def draw_folds(
    n_rows: tuple[int, ...], max_rows: int, options: FitOptions
) -> tuple[list[IntArray], list[IntArray]]:
    """For each view, at most ``max_rows`` random rows, and their folds.

    Views that may have the same objects, because they have the same number of rows, have the same rows and folds.
    """
    rng = np.random.default_rng(options.random_state)
    n_folds = int(np.clip(round(1 / options.validation_share), 2, 10))

    def draw(n: int) -> tuple[IntArray, IntArray]:
        rows = rng.permutation(n)[:max_rows]
        return rows, rng.permutation(np.arange(len(rows)) % n_folds)

    drawn = {n: draw(n) for n in dict.fromkeys(n_rows)}
    return [drawn[n][0] for n in n_rows], [drawn[n][1] for n in n_rows]
