"""Splits of the training objects: some to learn from, others to judge settings by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..types import FloatArray, IntArray
from .resolved import ResolvedPairs

__all__ = ["HeldOut", "hold_out"]

#: Rows of either view and their places between 0 and 1, by which they are split.
_Drawn: TypeAlias = tuple[tuple[IntArray, FloatArray], tuple[IntArray, FloatArray]]


@dataclass(frozen=True)
class HeldOut:
    """Rows to learn from and rows to judge by, of either view, with the pairs among each."""

    fit_rows: tuple[IntArray, IntArray]
    scored_rows: tuple[IntArray, IntArray]
    fit_pairs: ResolvedPairs
    scored_pairs: ResolvedPairs


def hold_out(
    pairs: ResolvedPairs, share: float, max_objects: int, rng: np.random.Generator, n_splits: int = 1
) -> list[HeldOut]:
    """Split objects at random, each time with others to judge by as far as they go.

    Of listed positives that are not aligned pairs are drawn, and their rows stay on one side as far as
    they have one partner: objects drawn one by one would hardly find theirs. A split of which a part
    would have no positive or no negative pair is left out.

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
    if pairs.positive is not None and not pairs.aligned and not pairs.labelled:
        splits = _split(pairs, _drawn_in_pairs(pairs, max_objects, rng), share, n_splits)
        if splits:
            return splits
    return _split(pairs, _drawn(pairs, max_objects, rng), share, n_splits)


def _split(pairs: ResolvedPairs, drawn: _Drawn, share: float, n_splits: int) -> list[HeldOut]:
    splits = []
    for number in range(n_splits):
        fit, judge = [], []
        for rows, places in drawn:
            # Each time the last stretch of the places is another one.
            last = (places + number * share) % 1.0 >= 1.0 - share
            fit.append(np.sort(rows[~last]))
            judge.append(np.sort(rows[last]))
        if min(map(len, (*fit, *judge))) < 2:
            continue
        parts = [pairs.subset(*side) for side in (fit, judge)]
        if all(part.n_positive and part.n_negative for part in parts):
            splits.append(HeldOut((fit[0], fit[1]), (judge[0], judge[1]), *parts))
    return splits


def _drawn(pairs: ResolvedPairs, max_objects: int, rng: np.random.Generator) -> _Drawn:
    """Objects one by one; rows of both views together where they are the same objects."""
    x = rng.permutation(pairs.n_x)[:max_objects]
    together = pairs.one_view or pairs.n_x == pairs.n_y
    y = x if together else rng.permutation(pairs.n_y)[:max_objects]
    return (x, _evenly(len(x))), (y, _evenly(len(y)))


def _drawn_in_pairs(pairs: ResolvedPairs, max_objects: int, rng: np.random.Generator) -> _Drawn:
    """Both rows of a pair at one place, as far as they have one partner; then rows without any."""
    assert pairs.positive is not None, "only of listed positives"
    order = rng.permutation(len(pairs.positive[0]))[: max_objects // 2 if pairs.one_view else max_objects]
    i, j = (side[order] for side in pairs.positive)
    places_x = np.full(pairs.n_x, np.nan)
    rows_x, first = np.unique(i, return_index=True)
    places_x[rows_x[np.argsort(first)]] = _evenly(len(rows_x))
    places_y = places_x if pairs.one_view else np.full(pairs.n_y, np.nan)
    free = np.isnan(places_y[j])
    places_y[j[free]] = places_x[i[free]]
    sides = []
    for number, places in enumerate((places_x,) if pairs.one_view else (places_x, places_y)):
        partnered = np.zeros(len(places), bool)
        for side in pairs.positive if pairs.one_view else (pairs.positive[number],):
            partnered[side] = True
        room = max(0, max_objects - int(np.isfinite(places).sum()))
        rest = rng.permutation(np.flatnonzero(~partnered))[:room]
        places[rest] = _evenly(len(rest))
        rows = np.flatnonzero(np.isfinite(places))
        sides.append((rows, places[rows]))
    return sides[0], sides[-1]


def _evenly(n: int) -> FloatArray:
    return np.asarray(np.arange(n) / max(n, 1))
