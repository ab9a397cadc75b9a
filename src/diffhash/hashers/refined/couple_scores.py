"""Scores of codes and of similarities over all couples of views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...evaluation.distance_counts import pair_distance_table
from ...evaluation.metrics import precision_recall_at
from ...evaluation.pair_score import score_codes
from ...pairs.couples import ResolvedCouple, ResolvedCouples
from ...types import CodeArray

__all__ = [
    "CoupleScores",
    "average_scores",
    "chance_scores",
    "code_scores",
    "found_early",
    "weighted_mean",
]

#: The score of each couple, by the numbers of its views.
CoupleScores = dict[tuple[int, int], float]


def code_scores(codes: Sequence[CodeArray], couples: ResolvedCouples) -> CoupleScores:
    """How well packed codes of each view separate the pairs of each couple, see :func:`score_codes`."""
    return {c.sides: score_codes(codes[c.first], codes[c.second], c.pairs) for c in couples}


def found_early(codes: Sequence[CodeArray], couples: ResolvedCouples, first: int) -> CoupleScores:
    """For each couple without listed negatives, the share of partners among the first few items, of both directions.

    Parameters
    ----------
    codes : list of uint8 arrays of shape (n, n_bytes)
        Of each view.
    couples : ResolvedCouples
    first : int
        Number of items. Items at equal distances count by their share of the places.
    """
    found: CoupleScores = {}
    for couple in couples:
        u, v = couple.sides
        if couple.pairs.positive is None or couple.pairs.negative is not None or couple.within:
            continue
        i, j = couple.pairs.positive
        tables = (
            pair_distance_table(codes[u], codes[v], (i, j)),
            pair_distance_table(codes[v], codes[u], (j, i)),
        )
        found[couple.sides] = float(
            np.mean([np.nanmean(precision_recall_at(table, first)[1]) for table in tables])
        )
    return found


def chance_scores(couples: ResolvedCouples) -> CoupleScores:
    """The scores of codes that are all equal."""
    return code_scores([np.zeros((n, 1), np.uint8) for n in couples.n_rows], couples)


def weighted_mean(couples: ResolvedCouples, score: Callable[[ResolvedCouple], float]) -> float:
    """The mean of a score over couples, by their weights; 0 without couples."""
    total = sum(couple.weight for couple in couples)
    return float(sum(couple.weight * score(couple) for couple in couples) / (total or 1.0))


def average_scores(scores: Sequence[Mapping[tuple[int, int], float]]) -> CoupleScores:
    """The mean over splits; a couple may be missing in some of them.

    Examples
    --------
    >>> average_scores([{(0, 1): 0.5, (0, 2): 0.25}, {(0, 1): 1.0}])
    {(0, 1): 0.75, (0, 2): 0.25}
    """
    couples = dict.fromkeys(couple for each in scores for couple in each)
    return {c: float(np.mean([each[c] for each in scores if c in each])) for c in couples}
