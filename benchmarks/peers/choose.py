"""Choice of each view's representation, made once for a dataset and shared by all peers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diffhash.types import BoolArray, FloatArray, IntArray, Views

from .leave_one_out import choose_ridge
from .representation import Representation, Setting, candidates, unit_rows

#: Rows that the choice looks at.
MAX_ROWS = 2500
#: Ridges of the canonical correlation analysis that judges pairs, in units of the largest variance.
CCA_RIDGES = (1e-4, 1e-3, 1e-2, 1e-1)
FIRST = 10


@dataclass(frozen=True)
class Choice:
    """The settings of the views by modality: the best ones, and the best ones that are kernels.

    ``scores`` has the score of every setting that was tried by modality, the higher the better.
    """

    best: dict[str, Setting]
    kernel: dict[str, Setting]
    scores: dict[str, dict[Setting, float]]


def choose_representations(
    views: Views, labels: IntArray | BoolArray | None, *, max_rows: int = MAX_ROWS, random_state: int = 0
) -> Choice:
    """By leave-one-out log loss of each view alone with labels; by held-out recall of pairs without."""
    n = next(iter(views.values())).shape[0]
    rows = np.sort(np.random.default_rng(random_state).permutation(n)[:max_rows])
    views = {modality: X[rows] for modality, X in views.items()}
    if labels is None:
        return choose_for_pairs(views, random_state)
    return choose_for_labels(views, labels[rows], random_state)


def choose_for_labels(views: Views, labels: IntArray | BoolArray, random_state: int = 0) -> Choice:
    """Each view alone: the score is minus the leave-one-out log loss of ridge regression to the classes."""
    scores = {
        modality: {
            setting: -choose_ridge(
                Representation(setting, random_state=random_state).fit(X).transform(X), labels
            ).loss
            for setting in candidates(X)
        }
        for modality, X in views.items()
    }
    return _choice(scores)


def choose_for_pairs(views: Views, random_state: int = 0) -> Choice:
    """Recall of held-out partners by ridge-CCA: one view is chosen with the other fixed, two rounds."""
    (first, X), (second, Y) = views.items()
    n = X.shape[0]
    held_out = np.zeros(n, dtype=bool)
    held_out[np.random.default_rng(random_state).permutation(n)[: max(1, n // 5)]] = True
    parts = {
        modality: {
            setting: _split(Representation(setting, random_state=random_state).fit(Z[~held_out]), Z, held_out)
            for setting in candidates(Z)
        }
        for modality, Z in ((first, X), (second, Y))
    }
    chosen = {modality: Setting("cosine") for modality in (first, second)}
    scores: dict[str, dict[Setting, float]] = {}
    for _ in range(2):
        for one, other in ((first, second), (second, first)):
            scores[one] = {
                setting: max(
                    held_out_recall(*parts[one][setting], *parts[other][chosen[other]], ridge)
                    for ridge in CCA_RIDGES
                )
                for setting in parts[one]
            }
            chosen[one] = max(scores[one], key=scores[one].__getitem__)
    return _choice(scores)


def held_out_recall(
    train_x: FloatArray, test_x: FloatArray, train_y: FloatArray, test_y: FloatArray, ridge: float
) -> float:
    """Share of held-out objects whose partner is among the first ten, mean of both directions.

    Canonical variables of principal coordinates, whose covariance is diagonal, weighted by their
    correlations and compared by their cosine.
    """
    scale_x, scale_y = (
        1 / np.sqrt((variances := np.mean(Z**2, axis=0)) + ridge * max(variances.max(), np.finfo(float).tiny))
        for Z in (train_x, train_y)
    )
    U, correlations, Vt = np.linalg.svd(
        (train_x * scale_x).T @ (train_y * scale_y) / len(train_x), full_matrices=False
    )
    left = unit_rows((test_x * scale_x) @ U * correlations)
    right = unit_rows((test_y * scale_y) @ Vt.T * correlations)
    near = left @ right.T
    own = np.diag(near)
    ranks = [np.sum(near > own[:, None], axis=1), np.sum(near > own, axis=0)]
    return float(np.mean([np.mean(rank < FIRST) for rank in ranks]))


def _split(fitted: Representation, X: Any, held_out: BoolArray) -> tuple[FloatArray, FloatArray]:
    return fitted.transform(X[~held_out]), fitted.transform(X[held_out])


def _choice(scores: dict[str, dict[Setting, float]]) -> Choice:
    best = {modality: max(tried, key=tried.__getitem__) for modality, tried in scores.items()}
    kernel = {
        modality: max((s for s in tried if not s.linear), key=tried.__getitem__)
        for modality, tried in scores.items()
    }
    return Choice(best, kernel, scores)
