"""Choosing settings on a held-out part of the training objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .evaluation.metrics import average_precision
from .evaluation.table import pair_distance_table
from .native import distance_table
from .pairs import ResolvedPairs
from .types import CodeArray, IntArray

__all__ = ["HeldOut", "hold_out", "score_codes"]


@dataclass(frozen=True)
class HeldOut:
    """Rows to learn from and rows to judge by, of either view, with the pairs among each."""

    fit_rows: tuple[IntArray, IntArray]
    judge_rows: tuple[IntArray, IntArray]
    fit_pairs: ResolvedPairs
    judge_pairs: ResolvedPairs


def hold_out(
    pairs: ResolvedPairs, share: float, max_objects: int, rng: np.random.Generator
) -> HeldOut | None:
    """Split objects at random; None if a part would have no positive or no negative pair.

    Parameters
    ----------
    pairs : ResolvedPairs
    share : float
        Of the objects that judge.
    max_objects : int
        At most this many objects of each view take part.
    rng : Generator
    """
    order_x = rng.permutation(pairs.n_x)[:max_objects]
    together = pairs.one_view or pairs.aligned or pairs.n_x == pairs.n_y
    order_y = order_x if together else rng.permutation(pairs.n_y)[:max_objects]
    cut_x, cut_y = (int(len(order) * (1 - share)) for order in (order_x, order_y))
    fit_rows = (np.sort(order_x[:cut_x]), np.sort(order_y[:cut_y]))
    judge_rows = (np.sort(order_x[cut_x:]), np.sort(order_y[cut_y:]))
    if min(map(len, (*fit_rows, *judge_rows))) < 2:
        return None
    parts = [pairs.subset(*rows) for rows in (fit_rows, judge_rows)]
    if any(part.n_positive == 0 or part.n_negative == 0 for part in parts):
        return None
    return HeldOut(fit_rows, judge_rows, *parts)


def score_codes(x: CodeArray, y: CodeArray, pairs: ResolvedPairs) -> float:
    """How well codes tell similar from dissimilar pairs: higher is better.

    Mean average precision of both directions where it is known what is relevant (labels, or every
    other pair being dissimilar); where both sets are listed, the chance that a positive pair is
    nearer than a negative one.
    """
    if pairs.positive is not None and pairs.negative is not None:
        near, far = (
            np.bincount(np.bitwise_count(x[i] ^ y[j]).sum(axis=1), minlength=8 * x.shape[1] + 1).astype(float)
            for i, j in (pairs.positive, pairs.negative)
        )
        nearer = np.cumsum(near) - near / 2
        return float(nearer @ far / (near.sum() * far.sum()))
    scores = []
    for queries, items, flip in ((x, y, False), (y, x, True)):
        if pairs.groups is not None:
            groups = pairs.groups
            sides = (groups.y, groups.x) if flip else (groups.x, groups.y)
            labels = [side if groups.sets is None else groups.sets[side] for side in sides]
            table = distance_table(queries, items, *labels)
        else:
            assert pairs.positive is not None, "without labels the positives are always listed"
            table = pair_distance_table(queries, items, pairs.positive[::-1] if flip else pairs.positive)
        values = average_precision(table)
        scores.append(float(np.nanmean(values)) if not np.isnan(values).all() else 0.0)
    return float(np.mean(scores))
