"""Distance counts of held-out objects, and how well two ways of ranking find them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..codes import pack
from ..evaluation.distance_evaluation import tied_table
from ..evaluation.grouped_counts import GroupedDistanceCounts
from ..evaluation.metrics import expected_hits
from ..learning.fusion import partner_consensus, reliability_slopes
from ..model.calibration import Calibration, CoupleCalibration
from ..pairs.couples import ResolvedCouple, ResolvedCouples
from ..pairs.labels import LabelGroups
from ..pairs.objects import object_numbers
from ..pairs.resolved import ResolvedPairs
from ..types import BoolArray, FloatArray, IntArray

__all__ = ["held_out_calibration"]

#: Objects are put into so many groups; bounds leave out one after another.
_N_GROUPS = 32
#: Distances are counted between at most so many rows of a modality, and rankings compared on fewer.
_MAX_COUNTED, _MAX_RANKED = 20_000, 1_500
#: How many of the first results the recall looks at.
_K = 10


def held_out_calibration(
    modalities: Sequence[str],
    values: Sequence[FloatArray],
    couples: ResolvedCouples,
    rng: np.random.Generator,
) -> Calibration:
    """Count distances of held-out pairs, of all couples of modalities for which the pairs say what is similar.

    Parameters
    ----------
    modalities : list of str
        Names, in the order of ``values``.
    values : arrays of shape (n, n_bits), one for each modality
        Projections of held-out rows, by a model that did not see them.
    couples : ResolvedCouples
        The pairs between these rows.
    rng : Generator
        Draws the groups of objects.
    """
    objects = object_numbers(couples)
    n_objects = max(int(each.max(initial=-1)) for each in objects) + 1
    order = rng.permutation(n_objects)
    ranks = [order[each] for each in objects]
    every = [*couples, *_implied_couples(couples, objects)]
    slopes = _cross_fitted_slopes(values, couples, ranks)
    found: dict[tuple[str, str], CoupleCalibration] = {}
    for couple in every:
        u, v = couple.sides
        counts = _counts(values, couple, ranks)
        expected = _expected(couple.pairs)
        recalls = _recalls(values, slopes, couple, ranks)
        for side, (a, b) in enumerate(((u, v), (v, u))):
            found[modalities[a], modalities[b]] = CoupleCalibration(
                counts, couple.pairs.groups is not None, expected[side], *recalls[side]
            )
    return Calibration(found)


def _implied_couples(couples: ResolvedCouples, objects: Sequence[IntArray]) -> list[ResolvedCouple]:
    """Couples without pairs of their own: rows of one label, or else of one object, are similar.

    Nothing is implied if dissimilar pairs are listed: pairs that are not listed are then unknown.
    """
    known = {frozenset(couple.sides) for couple in couples}
    n = len(couples.n_rows)
    missing = [(u, v) for u in range(n) for v in range(u, n) if frozenset((u, v)) not in known]
    if any(c.pairs.negative is not None for c in couples):
        return []
    if any(c.pairs.groups is not None for c in couples):
        labels: dict[int, tuple[IntArray, LabelGroups]] = {}
        for c in couples:
            if c.pairs.groups is not None:
                labels.setdefault(c.first, (c.pairs.groups.x, c.pairs.groups))
                labels.setdefault(c.second, (c.pairs.groups.y, c.pairs.groups))
        # The groups of two couples may have other numbers, so only one modality at a time.
        of_rows = {
            (u, u): LabelGroups(labels[u][0], labels[u][0], labels[u][1].n_groups, labels[u][1].sets)
            for u, v in missing
            if u == v and u in labels
        }
    else:
        n_objects = max(int(each.max(initial=-1)) for each in objects) + 1
        of_rows = {(u, v): LabelGroups(objects[u], objects[v], n_objects) for u, v in missing}
    found = []
    for (u, v), groups in of_rows.items():
        pairs = ResolvedPairs(len(groups.x), len(groups.y), u == v, None, None, groups)
        found.append(ResolvedCouple(u, v, 1.0, pairs))
    return [c for c in found if c.pairs.n_negative]


def _counts(
    values: Sequence[FloatArray], couple: ResolvedCouple, ranks: Sequence[IntArray]
) -> NDArray[np.int64]:
    rows = [_first_objects(ranks[side], _MAX_COUNTED) for side in couple.sides]
    pairs = couple.pairs.subset(rows[0], rows[1])
    codes = [pack(values[side][r] >= 0) for side, r in zip(couple.sides, rows, strict=True)]
    groups = [ranks[side][r] % _N_GROUPS for side, r in zip(couple.sides, rows, strict=True)]
    sums = GroupedDistanceCounts(values[couple.first].shape[1], _N_GROUPS)
    sums.update(codes[0], codes[1], groups[0], groups[1], pairs)
    return sums.counts


def _first_objects(ranks: IntArray, limit: int) -> IntArray:
    """At most ``limit`` rows: those of the objects with the smallest ranks, in order."""
    return np.sort(np.argsort(ranks, kind="stable")[:limit])


def _expected(pairs: ResolvedPairs) -> tuple[float | None, float | None]:
    """Share (labels) or number of the items that belong to a query, in both directions."""
    if not pairs.n_positive:
        return None, None
    if pairs.groups is not None:
        share = pairs.n_positive / (pairs.n_positive + pairs.n_negative)
        return share, share
    assert pairs.positive is not None, "without labels the positives are always listed"
    if pairs.one_view:
        each = 2 * pairs.n_positive / len(np.unique(np.concatenate(pairs.positive)))
        return each, each
    first, second = (pairs.n_positive / len(np.unique(side)) for side in pairs.positive)
    return first, second


def _cross_fitted_slopes(
    values: Sequence[FloatArray], couples: ResolvedCouples, ranks: Sequence[IntArray]
) -> list[FloatArray]:
    """For each row the slopes of its modality, fitted to the objects of the other half; shapes (n, n_bits)."""
    found: list[FloatArray] = []
    for z, consensus, rank in zip(values, partner_consensus(values, couples), ranks, strict=True):
        slopes = np.ones_like(z, dtype=np.float64)
        for half in (0, 1):
            known = np.flatnonzero(rank % 2 == half)[:_MAX_COUNTED]
            if len(known):
                slopes[rank % 2 != half] = reliability_slopes(z[known], consensus[known])
        found.append(slopes)
    return found


def _recalls(
    values: Sequence[FloatArray],
    slopes: Sequence[FloatArray],
    couple: ResolvedCouple,
    ranks: Sequence[IntArray],
) -> list[tuple[float | None, float | None, float | None]]:
    """Recall by distance and by real values of the query, and the standard error of its gain, in both directions."""
    rows = [_first_objects(ranks[side], _MAX_RANKED) for side in couple.sides]
    relevant = _relevance(couple.pairs.subset(rows[0], rows[1]))
    found: list[tuple[float | None, float | None, float | None]] = []
    for query, item in ((0, 1), (1, 0)):
        z = values[couple.sides[query]][rows[query]].astype(np.float64)
        weights = z * slopes[couple.sides[query]][rows[query]]
        items = np.where(values[couple.sides[item]][rows[item]] >= 0, 1.0, -1.0)
        wanted = relevant if query == 0 else relevant.T
        kept = ~np.eye(len(wanted), dtype=bool) if couple.within else np.ones(wanted.shape, dtype=bool)
        plain, asymmetric = (
            _recall(-(w @ items.T), wanted, kept) for w in (np.where(z >= 0, 1.0, -1.0), weights)
        )
        if not len(plain):
            found.append((None, None, None))
            continue
        error = float(np.std(asymmetric - plain)) / len(plain) ** 0.5
        found.append((float(plain.mean()), float(asymmetric.mean()), error))
    return found


def _relevance(pairs: ResolvedPairs) -> BoolArray:
    """Which rows are similar, as a matrix; pairs that are not known to be similar are not."""
    matrix = np.zeros((pairs.n_x, pairs.n_y), dtype=bool)
    if pairs.positive is not None:
        matrix[pairs.positive] = True
        return matrix | matrix.T if pairs.one_view else matrix
    groups = pairs.groups
    assert groups is not None, "without labels the positives are always listed"
    if groups.sets is None:
        return np.asarray(groups.x[:, None] == groups.y)
    sets = groups.sets.astype(np.float32)
    return np.asarray(sets[groups.x] @ sets[groups.y].T > 0)


def _recall(scores: FloatArray, relevant: BoolArray, kept: BoolArray) -> FloatArray:
    """Share of the relevant items, at most ten, that are among the first ten; ties count in part.

    Only for queries that have relevant items.
    """
    possible = np.minimum((relevant & kept).sum(axis=1), _K)
    queries = possible > 0
    if not queries.any():
        return np.zeros(0)
    table = tied_table(scores[queries], relevant[queries], kept[queries])
    return np.asarray(expected_hits(table, _K) / possible[queries])
