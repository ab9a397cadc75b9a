"""Choosing settings on a held-out part of the training objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .evaluation.metrics import average_precision
from .evaluation.table import distance_table, pair_distance_table
from .pair_sets import ResolvedPairs
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
    pairs: ResolvedPairs, share: float, max_objects: int, rng: np.random.Generator, n_splits: int = 1
) -> list[HeldOut]:
    """Split objects at random, each time with others to judge by as far as they go.

    Of listed positives that are not aligned whole pairs are drawn: objects drawn one by one would
    hardly have a partner among the others. A split of which a part would have no positive or no negative
    pair is left out.

    Parameters
    ----------
    pairs : ResolvedPairs
    share : float
        Of the objects that judge.
    max_objects : int
        At most this many objects of each view take part.
    rng : Generator
    n_splits : int
    """
    order_x, order_y = _drawn(pairs, max_objects, rng)
    splits = []
    for _ in range(n_splits):
        cut_x, cut_y = (int(len(order) * (1 - share)) for order in (order_x, order_y))
        fit_rows = (np.sort(order_x[:cut_x]), np.sort(order_y[:cut_y]))
        judge_rows = (np.sort(order_x[cut_x:]), np.sort(order_y[cut_y:]))
        if min(map(len, (*fit_rows, *judge_rows))) < 2:
            continue
        parts = [pairs.subset(*rows) for rows in (fit_rows, judge_rows)]
        if all(part.n_positive and part.n_negative for part in parts):
            splits.append(HeldOut(fit_rows, judge_rows, *parts))
        # Those who judged come first now, and others last.
        order_x, order_y = np.roll(order_x, len(order_x) - cut_x), np.roll(order_y, len(order_y) - cut_y)
    return splits


def _drawn(pairs: ResolvedPairs, max_objects: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Rows of either view in a random order; those of a listed pair are near each other."""
    if pairs.positive is None or pairs.aligned:
        x = rng.permutation(pairs.n_x)[:max_objects]
        together = pairs.one_view or pairs.n_x == pairs.n_y
        return x, x if together else rng.permutation(pairs.n_y)[:max_objects]
    order = rng.permutation(len(pairs.positive[0]))[:max_objects]
    i, j = (side[order] for side in pairs.positive)
    if pairs.one_view:
        both = _in_order_of_appearance(np.column_stack([i, j]).ravel())[:max_objects]
        return both, both
    return _in_order_of_appearance(i), _in_order_of_appearance(j)


def _in_order_of_appearance(rows: IntArray) -> IntArray:
    values, first = np.unique(rows, return_index=True)
    return np.asarray(values[np.argsort(first)])


def score_codes(x: CodeArray, y: CodeArray, pairs: ResolvedPairs, ways: str = "both") -> float:
    """How well codes tell similar from dissimilar pairs: higher is better.

    Mean average precision of both directions where it is known what is relevant (labels, or every
    other pair being dissimilar); where both sets are listed, the chance that a positive pair is
    nearer than a negative one.

    Parameters
    ----------
    x, y : packed codes of the rows of each view
    pairs : ResolvedPairs
    ways : {"both", "there", "back"}
        Who asks: rows of either view, of the first, or of the second.
    """
    if pairs.positive is not None and pairs.negative is not None:
        near, far = (
            np.bincount(np.bitwise_count(x[i] ^ y[j]).sum(axis=1), minlength=8 * x.shape[1] + 1).astype(float)
            for i, j in (pairs.positive, pairs.negative)
        )
        nearer = np.cumsum(near) - near / 2
        return float(nearer @ far / (near.sum() * far.sum()))
    tables = [] if ways == "back" else [_table(x, y, pairs)]
    if ways != "there" and not pairs.one_view:
        tables.append(_table(y, x, pairs, flip=True))
    values = [average_precision(table) for table in tables]
    return float(np.mean([0.0 if np.isnan(v).all() else np.nanmean(v) for v in values]))


def _table(queries: CodeArray, items: CodeArray, pairs: ResolvedPairs, *, flip: bool = False) -> IntArray:
    """Counts by distance; within one view a query does not find itself."""
    own = np.arange(len(queries)) if pairs.one_view else None
    if pairs.groups is not None:
        groups = pairs.groups
        sides = (groups.y, groups.x) if flip else (groups.x, groups.y)
        labels = [side if groups.sets is None else groups.sets[side] for side in sides]
        return distance_table(queries, items, labels[0], labels[1], own=own)
    assert pairs.positive is not None, "without labels the positives are always listed"
    i, j = pairs.positive[::-1] if flip else pairs.positive
    if own is not None:
        i, j = np.concatenate([i, j]), np.concatenate([j, i])
    table = pair_distance_table(queries, items, (i, j))
    if own is not None:
        table[:, 0, 0] -= 1
    return table
