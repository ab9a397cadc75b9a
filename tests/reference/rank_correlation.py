"""Spearman's rank correlation, by loops over pairs."""

from __future__ import annotations

import math


def mid_rank(value, values):
    """Rank from 1; tied values share the mean of their ranks."""
    smaller = sum(other < value for other in values)
    equal = sum(other == value for other in values)
    return smaller + (equal + 1) / 2


def pearson(a, b):
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    covariance = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    squares = sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)
    return covariance / math.sqrt(squares) if squares else math.nan


def spearman(a, b):
    """Pearson's correlation of the ranks."""
    return pearson([mid_rank(x, a) for x in a], [mid_rank(y, b) for y in b])


def of_codes(codes, X, metric):
    """Correlation of Hamming distances with ``metric(x, x')`` over all pairs of objects."""
    hamming, distances = [], []
    for j in range(len(codes)):
        for i in range(j):
            hamming.append(sum(int(a ^ b).bit_count() for a, b in zip(codes[i], codes[j], strict=True)))
            distances.append(metric(X[i], X[j]))
    return spearman(hamming, distances)
