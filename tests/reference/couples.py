"""Several couples of modalities, written from the definitions: loops over pairs and over all thresholds."""

from __future__ import annotations

import itertools

import numpy as np

from .error_rates import cost, smaller_share


def weighted_covariance(x, y, pairs, weights, center_x, center_y):
    """Weighted mean of (x - center)(y - center)^T over pairs; ``weights`` is a dict by pair."""
    total = np.zeros((x.shape[1], y.shape[1]))
    for i, j in pairs:
        total += weights.get((i, j), 1.0) * np.outer(x[i] - center_x, y[j] - center_y)
    mass = sum(weights.get(pair, 1.0) for pair in pairs)
    return total / mass if mass else total


def block_matrix(views, couples, gamma):
    """The symmetric matrix of w (Sigma^N - gamma Sigma^P); ``couples`` has (u, v, weight, positive, negative)."""
    ends = np.concatenate([[0], np.cumsum([X.shape[1] for X in views])])
    matrix = np.zeros((ends[-1], ends[-1]))
    for u, v, weight, positive, negative in couples:
        x, y = views[u] - views[u].mean(axis=0), views[v] - views[v].mean(axis=0)
        block = np.zeros((x.shape[1], y.shape[1]))
        for i, j in negative:
            block += np.outer(x[i], y[j]) / len(negative)
        for i, j in positive:
            block -= gamma * np.outer(x[i], y[j]) / len(positive)
        if u == v:
            block = (block + block.T) / 2
        matrix[ends[u] : ends[u + 1], ends[v] : ends[v + 1]] = weight * block
        matrix[ends[v] : ends[v + 1], ends[u] : ends[u + 1]] = weight * block.T
    return matrix


def split_directions(matrix, sizes, n_bits):
    """Eigenvectors of the most negative eigenvalues; for each modality, rows of unit length.

    Also all eigenvalues, and the length of each part before.
    """
    values, vectors = np.linalg.eigh(matrix)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    parts = [vectors[start:end, :n_bits].T for start, end in itertools.pairwise(ends)]
    lengths = np.array([[np.linalg.norm(row) for row in part] for part in parts])
    return values, [part / length[:, None] for part, length in zip(parts, lengths, strict=True)], lengths


def total_cost(values, thresholds, couples, miss_weight):
    """Sum over couples of w (miss_weight FN + FP) for one bit; the bit of a row is ``value >= threshold``."""
    return sum(
        weight * cost(values[u], values[v], thresholds[u], thresholds[v], positive, negative, miss_weight)
        for u, v, weight, positive, negative in couples
    )


def best_of_all_thresholds(values, candidates, couples, miss_weight, min_share):
    """The lowest cost of all combinations of candidate thresholds that leave enough on either side."""
    allowed = [
        [t for t in each if smaller_share(v, t) >= min_share and smaller_share(v, t) > 0]
        for v, each in zip(values, candidates, strict=True)
    ]
    return min(
        (total_cost(values, chosen, couples, miss_weight) for chosen in itertools.product(*allowed)),
        default=np.inf,
    )
