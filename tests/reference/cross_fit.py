"""Strengths of directions on held-out pairs: loops over pairs, whitening by an explicit inverse."""

from __future__ import annotations

import numpy as np


def slow_shrinkage(rows):
    """Ledoit and Wolf: how far the covariance of the rows is from the truth, estimated row by row."""
    n, d = rows.shape
    centred = rows - rows.mean(axis=0)
    covariance = sum(np.outer(row, row) for row in centred) / n
    average = np.trace(covariance) / d
    error = sum(np.sum((np.outer(row, row) - covariance) ** 2) for row in centred) / n**2
    distance = np.sum((covariance - average * np.eye(d)) ** 2)
    return min(error, distance) / distance if distance > 0 else 1.0


def slow_inverse_root(rows, shrinkage):
    """Inverse root of the shrunk covariance, with zeros for directions without variance."""
    d = rows.shape[1]
    covariance = np.cov(rows.T, bias=True).reshape(d, d)
    shrunk = (1 - shrinkage) * covariance + shrinkage * np.trace(covariance) / d * np.eye(d)
    values, vectors = np.linalg.eigh(shrunk)
    roots = [1 / np.sqrt(v) if v > 1.2e-7 * values[-1] else 0.0 for v in values]
    return vectors @ np.diag(roots) @ vectors.T


def slow_difference(x, y, positive, negative, gamma):
    """Mean product over the negatives minus gamma times that over the positives, of centred rows."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    mean_n = sum(np.outer(x[i], y[j]) for i, j in negative) / len(negative)
    mean_p = sum(np.outer(x[i], y[j]) for i, j in positive) / len(positive)
    return mean_n - gamma * mean_p


def slow_correlations(p, q, positive, negative):
    """For each column: mean product over positives minus that over negatives, over both deviations."""
    p, q = p - p.mean(axis=0), q - q.mean(axis=0)
    found = []
    for k in range(p.shape[1]):
        mean_p = sum(p[i, k] * q[j, k] for i, j in positive) / len(positive)
        mean_n = sum(p[i, k] * q[j, k] for i, j in negative) / len(negative)
        deviation = np.sqrt(np.mean(p[:, k] ** 2) * np.mean(q[:, k] ** 2))
        found.append((mean_p - mean_n) / deviation if deviation > 0 else 0.0)
    return np.array(found)


def slow_directions(matrix, one_view):
    """Directions that make the trace smallest, and how much each lowers it."""
    if one_view:
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        kept = -values > 1e-6 * max(-values[0], 0.0)
        kept[0] = True
        return vectors[:, kept].T, vectors[:, kept].T
    u, values, vt = np.linalg.svd(matrix)
    rank = max(1, int(np.sum(values > 1e-6 * values[0])))
    return u[:, :rank].T, -vt[:rank]


def slow_strengths(x, y, positive, negative, folds, whiten, gamma, one_view):
    """Mean over the folds of the correlations of the first, second, ... direction.

    ``folds`` has for each fold the rows of x and y to learn from and those to measure on. ``whiten`` has
    for each view a shrinkage, "ledoit-wolf", or None.
    """

    def within(pairs, rows_x, rows_y):
        at_x, at_y = {r: k for k, r in enumerate(rows_x)}, {r: k for k, r in enumerate(rows_y)}
        return [(at_x[i], at_y[j]) for i, j in sorted(pairs) if i in at_x and j in at_y]

    found = []
    for fit_x, fit_y, scored_x, scored_y in folds:
        roots = []
        for rows, how in ((x[fit_x], whiten[0]), (y[fit_y], whiten[1])):
            if how is None:
                roots.append(np.eye(rows.shape[1]))
            else:
                roots.append(slow_inverse_root(rows, slow_shrinkage(rows) if how == "ledoit-wolf" else how))
        fit_pairs = [within(pairs, fit_x, fit_y) for pairs in (positive, negative)]
        matrix = roots[0] @ slow_difference(x[fit_x], y[fit_y], *fit_pairs, gamma) @ roots[1]
        P, Q = slow_directions(matrix, one_view)
        scored_pairs = [within(pairs, scored_x, scored_y) for pairs in (positive, negative)]
        found.append(
            slow_correlations(x[scored_x] @ roots[0] @ P.T, y[scored_y] @ roots[1] @ Q.T, *scored_pairs)
        )
    k = min(map(len, found))
    return np.mean([each[:k] for each in found], axis=0)


def slow_useful_rank(strengths, chance):
    """The number of first directions, at least 1, whose strengths exceed chance by most together."""
    best, most = 1, -np.inf
    for rank in range(1, len(strengths) + 1):
        excess = sum(strengths[k] - chance[k] for k in range(rank))
        if excess > most:
            best, most = rank, excess
    return best
