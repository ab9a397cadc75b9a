"""The equations of the paper exactly as they are printed, with their misprints.

The package does not use them. ``tests/learning/test_literal_readings.py`` shows that they do not work,
``benchmarks/misprints.py`` measures the difference, and ``docs/explanation/paper.md`` gives the reasons.

Numbers in brackets are equation numbers of the paper. Pairs are ``(i, j)``, row numbers of x and y.
"""

from __future__ import annotations

import numpy as np


def pair_covariance(x, y, pairs):
    """E{x y^T} over pairs, as in (4): without centring."""
    i, j = pairs
    return x[i].T @ y[j] / len(i)


def covariance_difference(x, y, positive, negative, gamma):
    """Sigma^D = Sigma^N - gamma Sigma^P of Algorithm 1."""
    return pair_covariance(x, y, negative) - gamma * pair_covariance(x, y, positive)


def smallest_singular_vectors(difference, n_bits):
    """Algorithm 1: row i of P is u_{n-i+1}, row i of Q is v_{n'-i+1}.

    The two indices refer to the same singular value only if n = n'.
    """
    u, _, vt = np.linalg.svd(difference, full_matrices=True)
    return u.T[::-1][:n_bits], vt[::-1][:n_bits]


def smallest_singular_pairs(difference, n_bits):
    """Pairs of singular vectors of the smallest of the min(n, n') singular values."""
    u, _, vt = np.linalg.svd(difference, full_matrices=False)
    return u.T[::-1][:n_bits], vt[::-1][:n_bits]


def largest_singular_vectors(difference, n_bits):
    """Section 5: the largest left and right singular vectors, without a change of sign."""
    u, _, vt = np.linalg.svd(difference, full_matrices=False)
    return u.T[:n_bits], vt[:n_bits]


def trace_loss(P, Q, difference):
    """The relaxed loss (4): tr(P Sigma^D Q^T)."""
    return float(np.trace(P @ difference @ Q.T))


def threshold_grid(values, n_edges=65):
    """Candidate thresholds -a of one bit, from below its smallest value to above its largest."""
    low, high = values.min(), values.max()
    margin = 1e-6 * max(high - low, 1.0)
    return np.linspace(low - margin, high + margin, n_edges)


def _shares_below(values, grid):
    return np.searchsorted(np.sort(values), grid) / len(values)


def product_rates(x, y, positive, negative, grid_x, grid_y):
    """FN and FP of one bit at every threshold pair, as products of marginals: (6) and the first line of (7).

    Parameters
    ----------
    x, y : arrays of shape (n,), (n',)
        Projections of one bit.
    """
    px, py = (
        _shares_below(v[i], g)[:, None] for v, i, g in zip((x, y), positive, (grid_x, grid_y), strict=True)
    )
    nx, ny = (
        _shares_below(v[i], g)[:, None] for v, i, g in zip((x, y), negative, (grid_x, grid_y), strict=True)
    )
    py, ny = py.T, ny.T
    return px * (1 - py) + py * (1 - px), nx * ny + (1 - nx) * (1 - ny)


def repeated_term_false_positives(x, y, negative, grid_x, grid_y):
    """FP by the last line of (7), which prints Pr(x below) Pr(y below) twice."""
    nx, ny = (_shares_below(v[i], g) for v, i, g in zip((x, y), negative, (grid_x, grid_y), strict=True))
    return 2 * np.outer(nx, ny)


def joint_rates(x, y, positive, negative, grid_x, grid_y):
    """FN and FP of one bit at every threshold pair, with both signs counted for each pair."""

    def agreeing(pairs):
        bins = (np.concatenate([[-np.inf], grid_x, [np.inf]]), np.concatenate([[-np.inf], grid_y, [np.inf]]))
        below = np.histogram2d(x[pairs[0]], y[pairs[1]], bins)[0].cumsum(axis=0).cumsum(axis=1) / len(
            pairs[0]
        )
        both_below = below[:-1, :-1]
        return 2 * both_below + 1 - below[:-1, -1:] - below[-1:, :-1]

    return 1 - agreeing(positive), agreeing(negative)


def best_thresholds(x, y, cost, n_edges=65):
    """(8): exhaustive search over a grid for each bit. The candidates include constant bits.

    Parameters
    ----------
    x, y : arrays of shape (n, n_bits), (n', n_bits)
    cost : function
        ``cost(x, y, grid_x, grid_y)`` gives the cost of one bit at every threshold pair.

    Returns
    -------
    a, b : arrays of shape (n_bits,), added to the projections
    lowest : array of shape (n_bits,)
    """
    found = []
    for column_x, column_y in zip(x.T, y.T, strict=True):
        grid_x, grid_y = threshold_grid(column_x, n_edges), threshold_grid(column_y, n_edges)
        table = cost(column_x, column_y, grid_x, grid_y)
        u, v = np.unravel_index(table.argmin(), table.shape)
        found.append((-grid_x[u], -grid_y[v], table[u, v]))
    return tuple(np.array(found).T)


def squared_distance(X, landmarks, variance, power=-1.0):
    """(x - x')^T Sigma^power (x - x') with a diagonal Sigma, of shape (n, n_landmarks).

    Section 6 prints the power -1/2 and calls it Mahalanobis distance, which has the power -1.
    """
    scale = variance ** (power / 2)
    A, B = X.astype(np.float64) * scale, landmarks.astype(np.float64) * scale
    return np.maximum((A**2).sum(axis=1)[:, None] - 2 * (A @ B.T) + (B**2).sum(axis=1), 0.0)


def gaussian_kernel(X, landmarks, variance, power=-1.0):
    """Section 6: exp(-d^2), without a bandwidth."""
    return np.exp(-squared_distance(X, landmarks, variance, power))


def boost(x, y, positive, negative, n_bits, *, start="half", minimise=False, n_directions=1, min_share=0.01):
    """CM-SSH by (1): for each bit, the best of the first few singular pairs.

    Parameters
    ----------
    x, y : centred features
    start : {"half", "uniform"}
        "half": the weights of each set have the sum 1/2. "uniform": every pair has the same weight.
    minimise : bool
        Minimise, as printed.

    Returns
    -------
    (P, a), (Q, b)
    """
    i, j = (np.concatenate(side) for side in zip(positive, negative, strict=True))
    counts = (len(positive[0]), len(negative[0]))
    s = np.repeat([1.0, -1.0], counts)
    w = np.repeat([0.5 / n for n in counts] if start == "half" else [1.0 / sum(counts)] * 2, counts)
    rows = []
    for _ in range(n_bits):
        u, _, vt = np.linalg.svd(x[i].T @ (y[j] * (w * s)[:, None]), full_matrices=False)
        candidates = []
        for p, q in zip(u.T[:n_directions], -vt if minimise else vt, strict=False):
            loss, a, b = _best_correlation(x @ p, y @ q, i, j, w * s, -1 if minimise else 1, min_share)
            candidates.append((loss, p, a, q, b))
        _, p, a, q, b = min(candidates, key=lambda candidate: candidate[0])
        product = np.where((x @ p + a >= 0)[i] == (y @ q + b >= 0)[j], s, -s)
        r = np.clip(w @ product, -1 + 1e-9, 1 - 1e-9)
        w = w * np.exp(-0.5 * np.log((1 + r) / (1 - r)) * product)
        w /= w.sum()
        rows.append((p, a, q, b))
    P, a, Q, b = (np.array(part) for part in zip(*rows, strict=True))
    return (P, a), (Q, b)


def _best_correlation(x, y, i, j, signed, sense, min_share, n_edges=63):
    """The thresholds of one bit that minimise ``-sense`` times the weighted correlation."""
    edges = [v.mean() + v.std() * np.linspace(-3.0, 3.0, n_edges) for v in (x, y)]
    bins = [np.concatenate([[-np.inf], e, [np.inf]]) for e in edges]
    below = np.histogram2d(x[i], y[j], bins, weights=signed)[0].cumsum(axis=0).cumsum(axis=1)
    total = below[-1, -1]
    agree = 2 * below[:-1, :-1] + total - below[:-1, -1:] - below[-1:, :-1]
    loss = -sense * (2 * agree - total)
    shares = [_shares_below(v, e) for v, e in zip((x, y), edges, strict=True)]
    even = np.minimum.outer(*(np.minimum(share, 1 - share) for share in shares))
    loss = np.where(even >= min_share, loss, np.inf)
    u, v = np.unravel_index(loss.argmin(), loss.shape)
    return loss[u, v], -edges[0][u], -edges[1][v]
