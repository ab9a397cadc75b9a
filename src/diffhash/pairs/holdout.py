"""Splits of the training objects into one part to fit settings and one part to score them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..types import FloatArray, IntArray
from .resolved import ResolvedPairs

__all__ = ["HeldOut", "hold_out"]

#: For each view: rows, and for each row a position in [0, 1). Splits are intervals of positions.
_PositionedRows: TypeAlias = tuple[tuple[IntArray, FloatArray], tuple[IntArray, FloatArray]]


@dataclass(frozen=True)
class HeldOut:
    """A split: for each part, the rows of each view and the pairs between them."""

    fit_rows: tuple[IntArray, IntArray]
    scored_rows: tuple[IntArray, IntArray]
    fit_pairs: ResolvedPairs
    scored_pairs: ResolvedPairs


def hold_out(
    pairs: ResolvedPairs, share: float, max_objects: int, rng: np.random.Generator, n_splits: int = 1
) -> list[HeldOut]:
    """Split the objects at random, several times, with different scored objects if there are enough.

    If the positives are listed and not aligned, whole pairs are drawn: few objects that are drawn one by
    one would have their partner in the same part. Both rows of a pair are then in the same part, if each
    has only one partner. A split is left out if one of its parts has no positive or no negative pair.

    Parameters
    ----------
    pairs : ResolvedPairs
    share : float
        Share of the objects that are scored.
    max_objects : int
        Largest number of objects of each view in both parts together.
    rng : Generator
    n_splits : int
    """
    if pairs.positive is not None and not pairs.aligned and not pairs.labelled:
        splits = _split(pairs, _draw_pairs(pairs, max_objects, rng), share, n_splits)
        if splits:
            return splits
    return _split(pairs, _draw_objects(pairs, max_objects, rng), share, n_splits)


def _split(pairs: ResolvedPairs, drawn: _PositionedRows, share: float, n_splits: int) -> list[HeldOut]:
    splits = []
    for number in range(n_splits):
        fit, scored = [], []
        for rows, positions in drawn:
            # Each split takes another interval of the positions.
            held_out = (positions + number * share) % 1.0 >= 1.0 - share
            fit.append(np.sort(rows[~held_out]))
            scored.append(np.sort(rows[held_out]))
        if min(map(len, (*fit, *scored))) < 2:
            continue
        parts = [pairs.subset(*side) for side in (fit, scored)]
        if all(part.n_positive and part.n_negative for part in parts):
            splits.append(HeldOut((fit[0], fit[1]), (scored[0], scored[1]), *parts))
    return splits


def _draw_objects(pairs: ResolvedPairs, max_objects: int, rng: np.random.Generator) -> _PositionedRows:
    """Draw single objects. If both views may have the same objects, the same rows of both are drawn."""
    x = rng.permutation(pairs.n_x)[:max_objects]
    same_rows = pairs.one_view or pairs.n_x == pairs.n_y
    y = x if same_rows else rng.permutation(pairs.n_y)[:max_objects]
    return (x, _even_positions(len(x))), (y, _even_positions(len(y)))


def _draw_pairs(pairs: ResolvedPairs, max_objects: int, rng: np.random.Generator) -> _PositionedRows:
    """Draw pairs and give both rows the same position, then fill up with rows that have no partner.

    A row with several partners gets the position of only one of them.
    """
    assert pairs.positive is not None, "the positives must be listed"
    order = rng.permutation(len(pairs.positive[0]))[: max_objects // 2 if pairs.one_view else max_objects]
    i, j = (side[order] for side in pairs.positive)
    positions_x = np.full(pairs.n_x, np.nan)
    rows_x, first = np.unique(i, return_index=True)
    positions_x[rows_x[np.argsort(first)]] = _even_positions(len(rows_x))
    positions_y = positions_x if pairs.one_view else np.full(pairs.n_y, np.nan)
    unset = np.isnan(positions_y[j])
    positions_y[j[unset]] = positions_x[i[unset]]
    sides = []
    for number, positions in enumerate((positions_x,) if pairs.one_view else (positions_x, positions_y)):
        has_partner = np.zeros(len(positions), bool)
        for side in pairs.positive if pairs.one_view else (pairs.positive[number],):
            has_partner[side] = True
        n_more = max(0, max_objects - int(np.isfinite(positions).sum()))
        others = rng.permutation(np.flatnonzero(~has_partner))[:n_more]
        positions[others] = _even_positions(len(others))
        rows = np.flatnonzero(np.isfinite(positions))
        sides.append((rows, positions[rows]))
    return sides[0], sides[-1]


def _even_positions(n: int) -> FloatArray:
    return np.asarray(np.arange(n) / max(n, 1))
