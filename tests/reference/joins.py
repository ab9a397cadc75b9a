"""Pairs within a radius and their clusters, by loops over all pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Pair = tuple[int, int, int]


def distance(a: np.ndarray, b: np.ndarray) -> int:
    """Number of different bits of two packed codes."""
    return (int.from_bytes(a.tobytes()) ^ int.from_bytes(b.tobytes())).bit_count()


def pairs_within(left: np.ndarray, right: np.ndarray | None, radius: int) -> list[Pair]:
    """All (left row, right row, distance) in order; without ``right``, all (i, j, distance) with i < j."""
    others = left if right is None else right
    pairs = []
    for i in range(len(left)):
        for j in range(i + 1 if right is None else 0, len(others)):
            d = distance(left[i], others[j])
            if d <= radius:
                pairs.append((i, j, d))
    return pairs


def clusters(edges: Sequence[tuple[object, object]]) -> list[set[object]]:
    """Connected components of a graph, without single nodes: sets are merged one edge after the other."""
    sets: list[set[object]] = []
    for i, j in edges:
        touched = [s for s in sets if i in s or j in s]
        sets = [s for s in sets if s not in touched] + [{i, j}.union(*touched)]
    return sets
