"""Distance counts, bounds and chances, in loops over pairs, groups and distances."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.stats import gamma, norm, t


def grouped_counts(x, y, groups_x, groups_y, positive, negative, n_bits, n_groups):
    """Counts of dissimilar and similar pairs: all of them, and those that involve each group."""
    counts = np.zeros((2, 1 + n_groups, n_bits + 1), dtype=np.int64)
    for kind, pairs in enumerate((negative, positive)):
        for i, j in pairs:
            distance = sum(bin(a ^ b).count("1") for a, b in zip(x[i].tolist(), y[j].tolist(), strict=True))
            for row in {0, 1 + groups_x[i], 1 + groups_y[j]}:
                counts[kind, row, distance] += 1
    return counts


def upper_rate(counts, radius, fewest, confidence=0.95):
    """Bound of the share of pairs within one radius; None if too few pairs are within it."""
    total = counts[0].sum()
    inside = counts[0, : radius + 1].sum()
    groups = [row for row in counts[1:] if row.sum() > 0]
    estimates = [(inside - row[: radius + 1].sum()) / (total - row.sum()) for row in groups]
    n, mean = len(estimates), sum(estimates) / len(estimates)
    variance = (n - 1) / n * sum((estimate - mean) ** 2 for estimate in estimates)
    variance *= (t.ppf(confidence, n - 1) / norm.ppf(confidence)) ** 2
    if inside == 0:
        return None
    rate = inside / total
    effective = inside if variance == 0 else min(rate**2 / variance, inside)
    if effective < fewest:
        return None
    return min(1.0, rate * gamma.ppf(confidence, effective + 1) / effective)


def monotone_ratio(similar, dissimilar, prior=0.5):
    """Ratio p / q after pooling: adjacent distances are joined, one pair of blocks at a time, until the shares fall."""
    n, m = similar.sum(), dissimilar.sum()
    blocks = [[d] for d in range(len(similar))]

    def masses(block):
        return sum(int(similar[d]) for d in block), sum(int(dissimilar[d]) for d in block)

    while True:
        for left, right in pairwise(blocks):
            (p, q), (p_next, q_next) = masses(left), masses(right)
            if p * q_next <= p_next * q:
                blocks = [b for b in blocks if b is not left and b is not right] + [left + right]
                blocks.sort()
                break
        else:
            break
    found = np.zeros(len(similar))
    smallest = np.inf
    for block in blocks:
        p, q = masses(block)
        smallest = min(smallest, ((p + prior) / n) / ((q + prior) / m))
        found[block] = smallest
    return found
