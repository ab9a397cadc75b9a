"""Spaces in which rows of both views can be compared: the features themselves, or canonical variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from ..errors import InputError
from ..types import FloatArray, PairIndex
from .linear_algebra import canonical_directions, principal_axes, unit_rows
from .parts import Part
from .scores import query_scores

__all__ = ["Affine", "Space", "dense", "feature_space", "fit_canonical_space"]

#: Principal components of a view that canonical variables are computed from.
_MOST_COMPONENTS = 512
#: Canonical variables at most.
MOST_VARIABLES = 256
_RIDGES = (1e-3, 1e-2, 1e-1, 1.0)
#: Share of the training pairs on which scaling and ridge are chosen.
_SHARE = 0.2
_MOST_BYTES = 4 << 30


def dense(X: Any) -> FloatArray:
    """Features as a dense array of float64."""
    if X.shape[0] * X.shape[1] * 8 > _MOST_BYTES:
        raise InputError(
            f"compare: the baselines need dense features, and {X.shape[0]:,} × {X.shape[1]:,} do not fit in memory. "
            "Give fewer rows, or fewer features."
        )
    return np.asarray(X.toarray() if scipy.sparse.issparse(X) else X, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Affine:
    """``scaled(x) @ matrix + offset``, where ``scaled`` is x itself, of unit length, or its roots of unit length.

    Attributes
    ----------
    scaling : {"centred", "cosine", "root"}
    matrix : array of shape (d, k), or None for the identity
    offset : array of shape (k,)
    """

    scaling: str
    matrix: FloatArray | None
    offset: FloatArray

    def __call__(self, X: Any) -> FloatArray:
        """Map rows of features."""
        rows = _scaled(dense(X), self.scaling)
        return np.asarray((rows if self.matrix is None else rows @ self.matrix) + self.offset)

    def then(self, matrix: FloatArray) -> Affine:
        """The same, multiplied by one more matrix."""
        first = matrix if self.matrix is None else self.matrix @ matrix
        return Affine(self.scaling, first, self.offset @ matrix)

    @property
    def n_bytes(self) -> int:
        """Bytes of its float32 numbers."""
        return 4 * (self.offset.size + (0 if self.matrix is None else self.matrix.size))


@dataclass(frozen=True, eq=False)
class Space:
    """Maps of both views into one space, in which rows are compared by their cosine."""

    x: Affine
    y: Affine

    @property
    def n_dimensions(self) -> int:
        """Dimension of the space."""
        return int(self.x.offset.size)

    @property
    def n_bytes(self) -> int:
        """Bytes of both maps."""
        return self.x.n_bytes + self.y.n_bytes

    def side(self, number: int) -> Affine:
        """The map of the first (0) or the second (1) view."""
        return (self.x, self.y)[number]

    def first(self, n: int) -> Space:
        """The first ``n`` dimensions."""
        return self.then(np.eye(self.n_dimensions)[:, :n])

    def then(self, matrix: FloatArray) -> Space:
        """The space after one more matrix."""
        return Space(self.x.then(matrix), self.y.then(matrix))


def feature_space(train: Part, *, centred: bool) -> Space:
    """The features themselves, if both views have as many; each view minus its mean if ``centred``."""
    maps = []
    for X in (train.X, train.Y):
        mean = dense(X).mean(axis=0)
        maps.append(Affine("centred", None, -mean if centred else np.zeros_like(mean)))
    return Space(*maps)


def fit_canonical_space(train: Part, pairs: PairIndex, rng: np.random.Generator) -> Space:
    """Canonical variables, each times its correlation; scaling and ridge are chosen on held-out training pairs."""
    order = rng.permutation(len(pairs[0]))
    n_held = max(2, round(_SHARE * len(order)))
    i, j = pairs
    scalings = [_scalings(X) for X in (train.X, train.Y)]
    best: tuple[float, tuple[str, str], float] | None = None
    if len(order) >= 4 * n_held // 2 and len(order) > 10:
        fit, held = order[n_held:], order[:n_held]
        scored = train.rows(np.unique(i[held]), np.unique(j[held]))
        for names in zip(*_same_length(scalings), strict=True):
            components = _Components(train, (i[fit], j[fit]), names)
            for ridge in _RIDGES:
                value = _score(components.space(ridge), scored)
                if best is None or value > best[0]:
                    best = value, names, ridge
    names, ridge = (("centred", "centred"), 1e-2) if best is None else best[1:]
    return _Components(train, (i, j), names).space(ridge)


def _same_length(scalings: list[list[str]]) -> list[list[str]]:
    """The n-th scaling of one view goes with the n-th of the other; a view without roots keeps its cosine."""
    longest = max(map(len, scalings))
    return [names + names[-1:] * (longest - len(names)) for names in scalings]


def _scalings(X: Any) -> list[str]:
    return ["centred", "cosine", *(["root"] if X.min() >= 0 else [])]


def _scaled(X: FloatArray, scaling: str) -> FloatArray:
    if scaling == "root":
        return unit_rows(np.sqrt(np.maximum(X, 0)))
    return unit_rows(X) if scaling == "cosine" else X


class _Components:
    """Principal components of the rows of pairs, and canonical variables of them for any ridge."""

    def __init__(self, train: Part, pairs: PairIndex, scalings: tuple[str, str]) -> None:
        self._scalings = scalings
        self._means, self._axes, self._values = [], [], []
        for X, rows, scaling in zip((train.X, train.Y), pairs, scalings, strict=True):
            Z = _scaled(dense(X[np.unique(rows)]), scaling)
            mean = Z.mean(axis=0)
            axes, _ = principal_axes(Z - mean, _MOST_COMPONENTS)
            self._means.append(mean)
            self._axes.append(axes)
            self._values.append((_scaled(dense(X[rows]), scaling) - mean) @ axes)

    def space(self, ridge: float) -> Space:
        A, B = self._values
        n = len(A)
        P, Q, correlations = canonical_directions(_moment(A, ridge), _moment(B, ridge), A.T @ B / n)
        k = min(len(correlations), MOST_VARIABLES)
        maps = []
        for matrix, axes, mean, scaling in zip((P, Q), self._axes, self._means, self._scalings, strict=True):
            W = axes @ (matrix[:, :k] * correlations[:k])
            maps.append(Affine(scaling, W, -mean @ W))
        return Space(*maps)


def _moment(X: FloatArray, ridge: float) -> FloatArray:
    C = X.T @ X / len(X)
    C[np.diag_indices_from(C)] += ridge * np.trace(C) / len(C) + np.finfo(float).tiny
    return np.asarray(C)


def _score(space: Space, scored: Part) -> float:
    """Mean of both directions by cosine."""
    a, b = unit_rows(space.x(scored.X)), unit_rows(space.y(scored.Y))
    apart, relevant = 1 - a @ b.T, scored.relevant()
    both = (
        query_scores(apart, relevant, scored.measure),
        query_scores(apart.T, relevant.T, scored.measure),
    )
    return float(np.mean([np.nanmean(values) for values in both]))
