"""The fit of RefinedHash to labels.

Each view is regressed to the indicators of the labels (:mod:`~diffhash.learning.class_scores`). The
leave-one-out error chooses ridges and the best representations of each view (:mod:`.view_fit`), and a search among
held-out objects chooses among the latter (:mod:`.view_choice`). Bits are then made from
scores of objects by regressions without them; several ways to make bits are compared by cross-fitting
(:mod:`.score_layer`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...learning.label_indicators import couple_indicators, label_indicators
from ...learning.score_bits import without_constant_bits
from ...maps import MappedView
from ...pairs.couples import ResolvedCouples
from ...pairs.resolved import ResolvedPairs, checked_pairs
from ...types import FloatArray
from .all_rows import LabelledRows
from .fit_options import FitOptions, FitProgress, RefinedFit, ViewSetting
from .score_layer import choose_layer
from .view_choice import choose_views, draw_folds, known_rows, targets_of
from .view_fit import ViewFit, fit_ridge

__all__ = ["classes_are_tiny", "fit_labels", "list_pairs_of_tiny_classes"]

#: Largest number of rows of a view from which bits are learned.
_MAX_LAYER_ROWS = 4800
#: With at most this many partners of an object on average, pairs of tiny classes are listed.
_MAX_PARTNERS = 10
#: With more classes than this, whose objects have at most so many partners on average, classes count as tiny.
_MAX_SMALL_CLASSES, _FEW_PARTNERS = 4096, 4


def fit_labels(
    views: list[Any],
    couples: ResolvedCouples,
    options: FitOptions,
    *,
    progress: FitProgress | None,
    who: list[str],
    all_rows: LabelledRows | None = None,
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
    all_rows : LabelledRows, optional
        Given if views and couples are only a sample. Settings and bits are learned from the sample, the final
        regressions from sums over all rows.

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
    indicators = label_indicators(couples) if all_rows is None else all_rows.sampled_indicators
    report(0.0, "comparing representations")
    fits, tried = choose_views(views, indicators, couples, options, report, who)
    targets = targets_of(fits)
    report(0.7, "comparing bits")
    rows, folds = draw_folds(couples.n_rows, _MAX_LAYER_ROWS, options)
    known = known_rows(fits, views, indicators, couples, targets, rows, folds)
    layer = choose_layer(known, targets, folds, options, report)
    tried += layer.tried
    if all_rows is not None:
        report(0.95, "summing over all rows")
        fits = _fit_all_rows(fits, views, indicators, options, who, all_rows)
    projections: list[FloatArray] = []
    thresholds: list[FloatArray] = []
    for side, fit in enumerate(fits):
        weights = fit.regression.weights(fit.ridge, targets) @ layer.affine.weights[side]
        projection = np.asarray((fit.regression.directions @ weights).T, dtype=np.float64)
        values = known.scores[side] @ layer.affine.weights[side] + layer.affine.offsets[side]
        offsets = without_constant_bits(layer.affine.offsets[side], values, options.min_share)
        projections.append(projection)
        thresholds.append(offsets - projection @ fit.regression.mean)
    report(1.0, "done")
    return RefinedFit(
        [fit.map for fit in fits],
        projections,
        thresholds,
        tried,
        [ViewSetting(fit.representation, fit.ridge) for fit in fits],
        layer.description,
        layer.score,
        layer.chance,
        layer.losses,
        layer.by_couple,
    )


def _fit_all_rows(
    fits: list[ViewFit],
    views: list[Any],
    indicators: list[Any],
    options: FitOptions,
    who: list[str],
    all_rows: LabelledRows,
) -> list[ViewFit]:
    """Regressions of all rows instead of those of the sample, with the same maps.

    Bits were learned from scores of the sample. They react to rounding errors as strongly as to other scores, and
    sums over other batches differ by rounding errors; the regressions react only a little.
    """
    regressions = all_rows.regressions([fit.map for fit in fits], max_rank=options.max_rank, who=who)
    return [
        fit_ridge(fit, regression, MappedView(X, fit.map), labels, options.views[side], options)
        for side, (fit, regression, X, labels) in enumerate(
            zip(fits, regressions, views, indicators, strict=True)
        )
    ]


def classes_are_tiny(pairs: ResolvedPairs, counts: tuple[FloatArray, FloatArray] | None = None) -> bool:
    """Whether most rows of a view share their labels with no other row of it, or whether small classes are very many.

    In the first case class scores cannot be learned, because a row that is left out leaves nothing of its class behind.
    In the second case a regression to thousands of classes, each from a few rows, takes much more time and memory than
    the pairs, and tells less.

    Parameters
    ----------
    pairs : ResolvedPairs
        Made from labels.
    counts : (array of shape (n,), array of shape (n',)), optional
        How many rows each row of both views stands for; 1 by default.
    """
    groups = pairs.groups
    assert groups is not None
    n_rows: list[float] = []
    of_sides: list[FloatArray] = []
    for side, labels in enumerate(couple_indicators(groups)[: 1 if pairs.one_view else 2]):
        weights = np.ones(labels.shape[0]) if counts is None else counts[side]
        sizes = np.asarray(labels.T @ weights).reshape(-1)
        n_rows.append(float(weights.sum()))
        of_sides.append(sizes)
        # A row is alone if no label of it has another row.
        accompanied = np.asarray(labels @ (sizes > 1)).reshape(-1) > 0
        if np.average(accompanied, weights=weights) < 0.5:
            return True
    n_related = float(of_sides[0] @ of_sides[-1])
    return len(of_sides[0]) > _MAX_SMALL_CLASSES and n_related <= _FEW_PARTNERS * max(n_rows)


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
