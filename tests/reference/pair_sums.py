"""Sums over pairs, computed with loops over pairs from the definitions in the paper."""

from __future__ import annotations

import numpy as np


def covariance(x, y, pairs, center_x, center_y):
    """Mean of (x - center)(y - center)^T over pairs of rows."""
    total = np.zeros((x.shape[1], y.shape[1]))
    for i, j in pairs:
        total += np.outer(x[i] - center_x, y[j] - center_y)
    return total / max(len(pairs), 1)


def symmetric_covariance(x, pairs, center):
    """The same within one view, where pairs are unordered."""
    forward = covariance(x, x, pairs, center, center)
    return (forward + forward.T) / 2


def difference_covariance(x, pairs):
    """Mean of (x - x')(x - x')^T over pairs of rows of one view."""
    total = np.zeros((x.shape[1], x.shape[1]))
    for i, j in pairs:
        total += np.outer(x[i] - x[j], x[i] - x[j])
    return total / max(len(pairs), 1)


def joint_counts(bins_x, bins_y, pairs, n_bins):
    """For one bit, the number of pairs in each cell of the grid of both projections."""
    counts = np.zeros((n_bins, n_bins))
    for i, j in pairs:
        counts[bins_x[i], bins_y[j]] += 1
    return counts
