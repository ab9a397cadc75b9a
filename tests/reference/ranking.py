"""Retrieval measures, computed for every order of tied items."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np


def orders(distances, relevant):
    """All rankings that are sorted by distance, as lists of relevance or of gains."""
    groups = [
        [r for d, r in zip(distances, relevant, strict=True) if d == distance]
        for distance in sorted(set(distances))
    ]
    for choice in product(*(permutations(group) for group in groups)):
        yield [r for group in choice for r in group]


def average_precision(ranking):
    """Mean of the precision at the positions of the relevant items."""
    hits = np.cumsum(ranking)
    return float(np.mean([hits[p] / (p + 1) for p, relevant in enumerate(ranking) if relevant]))


def expected(measure, distances, relevant):
    """Mean of a measure over all orders of tied items."""
    return float(np.mean([measure(ranking) for ranking in orders(distances, relevant)]))


def average_precision_at(ranking, r):
    """Sum of the precision at the relevant positions up to r, divided by the largest possible number of them."""
    hits = np.cumsum(ranking)
    found = sum(hits[p] / (p + 1) for p, relevant in enumerate(ranking[:r]) if relevant)
    return found / min(r, sum(ranking))


def ndcg(ranking, k=None):
    """Discounted gains of a ranking (a list of gains), divided by those of the best order; up to rank k."""

    def discounted(gains):
        return sum(gain / np.log2(rank + 1) for rank, gain in enumerate(gains[:k], start=1))

    return discounted(ranking) / discounted(sorted(ranking, reverse=True))
