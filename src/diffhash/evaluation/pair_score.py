"""One number for how well codes separate positive from negative pairs."""

from __future__ import annotations

import numpy as np

from ..pairs.resolved import ResolvedPairs
from ..types import CodeArray, IntArray
from .distance_counts import distance_table, pair_distance_table
from .metrics import average_precision

__all__ = ["relevance_table", "score_codes"]


def score_codes(x: CodeArray, y: CodeArray, pairs: ResolvedPairs, queries: str = "both") -> float:
    """Score how well codes separate positive from negative pairs; higher is better.

    If both positive and negative pairs are listed, the score is the probability that a positive pair is
    nearer than a negative one. Otherwise all pairs are known (from labels, or because every pair that is not
    listed is negative), and the score is the mean average precision of both directions. If pairs have weights, a
    query counts by the sum of the weights of its positives.

    Parameters
    ----------
    x, y : uint8 arrays of shape (n, n_bytes), (n', n_bytes)
        Packed codes of both views.
    pairs : ResolvedPairs
    queries : {"both", "x", "y"}
        The view that the queries come from.
    """
    if pairs.positive is not None and pairs.negative is not None:
        near, far = (
            np.bincount(np.bitwise_count(x[i] ^ y[j]).sum(axis=1), weights, 8 * x.shape[1] + 1).astype(float)
            for (i, j), weights in (
                (pairs.positive, pairs.positive_weights),
                (pairs.negative, pairs.negative_weights),
            )
        )
        nearer = np.cumsum(near) - near / 2
        return float(nearer @ far / (near.sum() * far.sum()))
    tables = [] if queries == "y" else [relevance_table(x, y, pairs)]
    if queries != "x" and not pairs.one_view:
        tables.append(relevance_table(y, x, pairs, flip=True))
    values = [average_precision(table) for table in tables]
    if pairs.positive is not None and pairs.positive_weights is not None:
        sides = pairs.positive[:: -1 if queries == "y" else 1]
        rows = [np.concatenate(sides)] if pairs.one_view else sides
        each = np.tile(pairs.positive_weights, 2 if pairs.one_view else 1)
        means = [
            np.bincount(i, each, minlength=len(v)) @ np.nan_to_num(v) / each.sum()
            for i, v in zip(rows, values, strict=False)
        ]
        return float(np.mean(means))
    return float(np.mean([0.0 if np.isnan(v).all() else np.nanmean(v) for v in values]))


def relevance_table(
    queries: CodeArray, items: CodeArray, pairs: ResolvedPairs, *, flip: bool = False
) -> IntArray:
    """Counts by distance of each query: irrelevant and relevant items.

    Parameters
    ----------
    queries, items : uint8 arrays of shape (q, n_bytes), (n, n_bytes)
        Codes of both views. Within one view they are the same, and a query does not find itself.
    pairs : ResolvedPairs
        Labels decide what is relevant; without labels, the listed positives.
    flip : bool
        Whether the queries are the second view of the pairs.

    Returns
    -------
    int64 array of shape (q, n_distances, 2)
    """
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
