"""Slow versions of what a comparison computes."""

from __future__ import annotations

import itertools

import numpy as np


def recall_of_ranking(distances, relevant, k):
    """Expected share of the relevant items among the first k, if tied items are in random order."""
    if not relevant.any():
        return float("nan")
    found, rank = 0.0, 0
    for _, group in itertools.groupby(np.argsort(distances, kind="stable"), key=lambda item: distances[item]):
        tied = list(group)
        places = min(max(k - rank, 0), len(tied))
        found += sum(relevant[item] for item in tied) * places / len(tied)
        rank += len(tied)
    return found / relevant.sum()


def bootstrap_means(forth, back, drawn):
    """Mean of both directions over queries that are repeated as often as they were drawn."""
    means = []
    for counts in drawn:
        rows = [row for row, count in enumerate(counts) for _ in range(count)]
        means.append((np.mean(forth[rows]) + np.mean(back[rows])) / 2)
    return np.array(means)


def canonical_correlations(X, Y):
    """Square roots of the eigenvalues of Cxx^-1 Cxy Cyy^-1 Cyx."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    Cxx, Cyy, Cxy = X.T @ X, Y.T @ Y, X.T @ Y
    values = np.linalg.eigvals(np.linalg.inv(Cxx) @ Cxy @ np.linalg.inv(Cyy) @ Cxy.T)
    return np.sqrt(np.sort(values.real)[::-1])
