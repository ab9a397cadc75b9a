"""Fused codes and the consensus of partners, as loops over rows, pairs and bits."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np


def partner_consensus(
    values: list[Any], couples: list[tuple[int, int, float, set[tuple[int, int]], set[tuple[int, int]]]]
) -> list[Any]:
    """Mean sign of the partners of each row: first over the partners of a couple, then over the couples."""
    found = [np.zeros(each.shape) for each in values]
    for u, rows in enumerate(values):
        for i in range(len(rows)):
            means = []
            for first, second, _, positive, _ in couples:
                partners = []
                for a, b in positive:
                    if first == u and a == i:
                        partners.append(np.where(values[second][b] >= 0, 1, -1))
                    if second == u and b == i:
                        partners.append(np.where(values[first][a] >= 0, 1, -1))
                if partners:
                    means.append(np.mean(partners, axis=0))
            if means:
                found[u][i] = np.mean(means, axis=0)
    return found


def penalised_loss(slope: float, values: Any, consensus: Any, centre: float, precision: float) -> float:
    """Logistic loss of one bit, row by row, and the pull of the prior."""
    total = precision / 2 * (slope - centre) ** 2
    for z, c in zip(values, consensus, strict=True):
        sign = 1.0 if c >= 0 else -1.0
        total += abs(c) * np.logaddexp(0.0, -slope * sign * z)
    return float(total)


def fused_bits(
    values: dict[str, Any], ids: dict[str, list[Any]], slopes: dict[str, Any]
) -> dict[Any, list[bool]]:
    """Bits of each id: the sign of the weighted sum over modalities of the mean of its rows."""
    rows_of: dict[Any, dict[str, list[Any]]] = {}
    for m, names in ids.items():
        for row, name in enumerate(names):
            rows_of.setdefault(name, defaultdict(list))[m].append(values[m][row])
    found = {}
    for name, by_modality in rows_of.items():
        bits = []
        for b in range(len(next(iter(slopes.values())))):
            total = 0.0
            for m, rows in by_modality.items():
                total += slopes[m][b] * sum(float(row[b]) for row in rows) / len(rows)
            bits.append(total >= 0)
        found[name] = bits
    return found
