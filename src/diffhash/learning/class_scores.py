r"""Class scores: ridge regression from the features of a view to the indicators of its labels.

Let :math:`z_i` be the centred coordinates of row i along the principal components of the features, with
variances :math:`s_k`, and :math:`t_i` its centred targets. The regression with penalty
:math:`\lambda s_1` per row is solved in closed form, and so are its *leave-one-out* scores: what the
regression without row i would say about row i,

.. math:: l_i = f_i - (t_i - f_i) \frac{h_i}{1 - h_i}, \qquad
          h_i = \frac1n + \frac1n \sum_k \frac{z_{ik}^2}{s_k + \lambda s_1}

with the fitted scores :math:`f_i`. They cost no more than the fit, and their error chooses the ridge. If
:math:`h_i` is almost 1, the regression goes through row i whatever its targets are; this counts as a wrong score,
so that a ridge is never chosen because it is too small. Scores without a whole fold of rows
(:meth:`ViewRegression.leave_fold_out`) have a closed form too. They are distributed like the scores of new
objects, so bits are learned from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from ..errors import InputError
from ..maps import MappedView
from ..types import FloatArray, IntArray

__all__ = [
    "RIDGES",
    "RegressionSums",
    "ViewRegression",
    "scale_free_error",
    "shared_targets",
]

#: Ridges that are compared, in multiples of the largest variance.
RIDGES = 10.0 ** np.arange(-7, 1.25, 0.5)
#: Components whose variance is below this share of the largest are left out.
_SMALLEST_VARIANCE = 1e-7
#: Precise sums of so many features are float64; those of more features are float32 for so many rows at a time.
_MAX_PRECISE_FEATURES, _PRECISE_ROWS = 512, 1024
#: A regression goes through a row if the leverage of the row differs from 1 by less than this. The quotient of
#: two smaller differences would be wrong in single precision.
_SMALLEST_REMAINDER = 1e-3


@dataclass(frozen=True)
class ViewRegression:
    """What ridge regression needs of a view: principal components, and their moments with the indicators.

    Attributes
    ----------
    mean : array of shape (n_features,)
        Mean of the mapped features.
    directions : array of shape (n_features, rank)
        Principal components.
    variances : array of shape (rank,)
        Variances along them, decreasing.
    moments : array of shape (rank, n_labels)
        Covariances of the coordinates and the indicators.
    label_mean : array of shape (n_labels,)
    n_rows : int
    """

    mean: FloatArray
    directions: FloatArray
    variances: FloatArray
    moments: FloatArray
    label_mean: FloatArray
    n_rows: int

    @classmethod
    def of(
        cls, view: MappedView, indicators: Any, max_rank: int | None = None, *, who: str = "fit"
    ) -> ViewRegression:
        """From one pass over the rows. With more features than rows, nothing has the size of all features squared.

        If squares of the features overflow, there is an error with the prefix ``who``.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            found = cls._of(view, indicators, max_rank)
        return _finite(found, who)

    @classmethod
    def _of(cls, view: MappedView, indicators: Any, max_rank: int | None) -> ViewRegression | None:
        n = view.n_rows
        if n >= view.n_features:
            return RegressionSums.of(view, indicators).solution(max_rank)
        label_mean = _column_sums(indicators) / n
        features = view.whole()
        mean = _column_sums(features) / n
        gram = _centred_gram(features, mean) / n
        if not np.isfinite(gram).all():
            return None
        variances, vectors = _leading(gram, max_rank)
        scaled = vectors / np.sqrt(n * variances)
        products = np.asarray(features.T @ scaled.astype(features.dtype))
        directions = products - np.outer(mean, scaled.sum(axis=0))
        moments = np.sqrt(variances / n)[:, None] * np.asarray(indicators.T @ vectors).T
        return cls(mean - view.offset, directions, variances, moments, label_mean, n)

    def coordinates(self, view: MappedView) -> FloatArray:
        """Coordinates of rows along the components, of shape (n, rank)."""
        return view.project(self.directions.T, -self.mean @ self.directions)

    def centred_targets(self, indicators: Any, targets: FloatArray) -> FloatArray:
        """Targets of rows, ``indicators @ targets`` minus their mean; of shape (n, n_targets)."""
        return np.asarray(indicators @ targets - self.label_mean @ targets)

    def weights(self, ridge: float, targets: FloatArray) -> FloatArray:
        """Weights of the coordinates, of shape (rank, n_targets)."""
        return np.asarray(self.moments @ targets / self._damped(ridge)[:, None])

    def leave_one_out(
        self, coordinates: FloatArray, centred_targets: FloatArray, ridge: float, targets: FloatArray
    ) -> FloatArray:
        """Scores of rows of the view by the regression without them, of shape (n, n_targets).

        Parameters
        ----------
        coordinates : array of shape (n, rank)
            Of any of the rows that the regression was fitted to.
        centred_targets : array of shape (n, n_targets)
            Of the same rows.
        ridge : float
        targets : array of shape (n_labels, n_targets)
        """
        fitted = coordinates @ self.weights(ridge, targets).astype(coordinates.dtype)
        leverage = (1.0 + (coordinates**2) @ (1.0 / self._damped(ridge))) / self.n_rows
        remaining = np.maximum(1.0 - leverage, _SMALLEST_REMAINDER)
        scores = centred_targets - (centred_targets - fitted) / remaining[:, None]
        # Rounding errors hide what the regression would say without these rows. It counts as wrong.
        through = leverage > 1.0 - _SMALLEST_REMAINDER
        scores[through] = -centred_targets[through]
        return np.asarray(scores)

    def leave_fold_out(
        self,
        coordinates: FloatArray,
        centred_targets: FloatArray,
        folds: IntArray,
        ridge: float,
        targets: FloatArray,
    ) -> FloatArray:
        """Scores of rows of the view by the regression without all rows of their fold, (n, n_targets).

        Leave-one-out scores know a little about the label that was left out: its share of the class is
        missing. If the features say nothing, that is all they know. Within a fold this is the same for all rows.

        Parameters
        ----------
        coordinates, centred_targets, ridge, targets
            See :meth:`leave_one_out`.
        folds : int array of shape (n,)
            Fold of each row.
        """
        scale = 1.0 / np.sqrt(self._damped(ridge))
        scores = coordinates @ self.weights(ridge, targets).astype(coordinates.dtype)
        scores = scores.astype(np.float64)
        for fold in np.unique(folds):
            rows = np.flatnonzero(folds == fold)
            whitened = coordinates[rows] * scale.astype(coordinates.dtype)
            # The hat matrix of the rows. Solving with I - H removes all of them from the regression at once.
            left_out = -np.asarray(1.0 + whitened @ whitened.T, dtype=np.float64) / self.n_rows
            left_out[np.diag_indices_from(left_out)] += 1.0 + 1e-9
            residuals = scipy.linalg.solve(left_out, centred_targets[rows] - scores[rows], check_finite=False)
            scores[rows] = centred_targets[rows] - residuals
        return np.asarray(scores)

    def best_ridge(
        self, coordinates: FloatArray, centred_targets: FloatArray, ridges: FloatArray, targets: FloatArray
    ) -> tuple[float, float]:
        """The ridge with the smallest leave-one-out error, and this error.

        Bits depend on the directions of scores, not on their common scale. So the error is the mean squared
        error after the best scaling, relative to scores that say nothing: :math:`1 - c^2` with the
        correlation c of scores and targets. Without scaling, larger ridges would win. If c is negative, the
        error is :math:`1 + c^2`.
        """
        errors = [
            scale_free_error(centred_targets, self.leave_one_out(coordinates, centred_targets, r, targets))
            for r in ridges
        ]
        best = int(np.argmin(errors))
        return float(ridges[best]), errors[best]

    def damped_moments(self, ridge: float) -> FloatArray:
        """Moments of the whitened coordinates with the indicators."""
        return np.asarray(self.moments / np.sqrt(self._damped(ridge))[:, None])

    def _damped(self, ridge: float) -> FloatArray:
        return np.asarray(self.variances + ridge * self.variances[0])


@dataclass
class RegressionSums:
    """Sums over the rows of a view from which its regression follows; parts can be merged.

    Attributes
    ----------
    n_rows : int
    second : array of shape (n_features, n_features)
        Products of the mapped features.
    total : array of shape (n_features,)
    cross : array of shape (n_features, n_labels)
        Products of the features and the indicators.
    label_total : array of shape (n_labels,)
    offset : array of shape (n_features,)
        See :attr:`MappedView.offset`.
    """

    n_rows: int
    second: FloatArray
    total: FloatArray
    cross: FloatArray
    label_total: FloatArray
    offset: FloatArray

    @classmethod
    def of(
        cls, view: MappedView, indicators: Any, rows: IntArray | None = None, *, precise: bool = False
    ) -> RegressionSums:
        """Sums of the rows of a view, without guests.

        Parameters
        ----------
        view : MappedView
        indicators : sparse array of shape (n or n_combinations, n_labels)
            Labels of the rows, or of combinations of labels.
        rows : int array of shape (n,), optional
            The combination of each row. By default the indicators are those of the rows.
        precise : bool
            Whether the sums must hardly depend on how rows are split into parts. Products of at most 512 features
            are then float64, and others are float32 for few rows at a time.
        """
        n = view.n_rows if rows is None else len(rows)

        def sums_of(blocks: Iterator[tuple[slice, Any]]) -> RegressionSums:
            # Each thread has its own state of NumPy's errors.
            with np.errstate(over="ignore", invalid="ignore"):
                return cls._of_blocks(view, blocks, n, indicators, rows, precise=precise)

        bytes_each = 8 * view.n_features * (view.n_features + indicators.shape[1])
        parts = view.over_blocks(sums_of, bytes_each=bytes_each)
        with np.errstate(over="ignore", invalid="ignore"):
            return reduce(cls.merge, parts)

    @classmethod
    def _of_blocks(
        cls,
        view: MappedView,
        blocks: Iterator[tuple[slice, Any]],
        n: int,
        indicators: Any,
        rows: IntArray | None,
        *,
        precise: bool,
    ) -> RegressionSums:
        d, n_summed = view.n_features, 0
        second, total, cross = np.zeros((d, d)), np.zeros(d), np.zeros((d, indicators.shape[1]))
        label_total = np.zeros(indicators.shape[1])
        for part, block in blocks:
            if part.stop > n:
                part, block = slice(part.start, max(part.start, n)), block[: max(0, n - part.start)]
            if part.start == part.stop:
                continue
            n_summed += part.stop - part.start
            labels = indicators[part if rows is None else rows[part]]
            if precise and d <= _MAX_PRECISE_FEATURES:
                block = block.astype(np.float64)
            step = _PRECISE_ROWS if precise and block.dtype == np.float32 else block.shape[0]
            for start in range(0, block.shape[0], step):
                product = block[start : start + step].T @ block[start : start + step]
                second += product.toarray() if scipy.sparse.issparse(product) else product
            total += _column_sums(block)
            with_labels = labels.T @ block
            cross += (with_labels.toarray() if scipy.sparse.issparse(with_labels) else with_labels).T
            label_total += _column_sums(labels)
        return cls(n_summed, second, total, cross, label_total, view.offset)

    def merge(self, other: RegressionSums) -> RegressionSums:
        """Add the rows of another part."""
        return RegressionSums(
            self.n_rows + other.n_rows,
            self.second + other.second,
            self.total + other.total,
            self.cross + other.cross,
            self.label_total + other.label_total,
            # A part without rows does not know whether they are sparse.
            self.offset if self.n_rows else other.offset,
        )

    def regression(self, max_rank: int | None, *, who: str) -> ViewRegression:
        """The regression of all rows. If squares of the features overflow, there is an error."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.solution(max_rank)
        return _finite(found, who)

    def solution(self, max_rank: int | None) -> ViewRegression | None:
        """The regression of all rows; None if squares of the features overflow."""
        n = self.n_rows
        mean, label_mean = self.total / n, self.label_total / n
        covariance = self.second / n - np.outer(mean, mean)
        if not np.isfinite(covariance).all():
            return None
        variances, directions = _leading(covariance, max_rank)
        moments = directions.T @ (self.cross / n - np.outer(mean, label_mean))
        return ViewRegression(mean - self.offset, directions, variances, moments, label_mean, n)


def _finite(found: ViewRegression | None, who: str) -> ViewRegression:
    if found is None:
        raise InputError(
            f"{who}: the features are so large that their squares overflow. Scale the features: divide "
            "them by a constant."
        )
    return found


def shared_targets(damped_moments: list[FloatArray], max_targets: int) -> FloatArray:
    """Orthonormal targets (n_labels, n_targets) that the views can tell apart, the best ones first.

    With C classes there are C - 1, because the indicators of a row sum to 1. With many classes only the
    leading ``max_targets`` are returned.

    Parameters
    ----------
    damped_moments : list of arrays of shape (rank, n_labels)
        See :meth:`ViewRegression.damped_moments`.
    max_targets : int
    """
    stacked = np.concatenate(damped_moments)
    in_rows = len(stacked) < stacked.shape[1]
    strengths, vectors = _largest(stacked @ stacked.T if in_rows else stacked.T @ stacked, max_targets)
    kept = strengths > 1e-9 * max(strengths[0], np.finfo(float).tiny)
    if in_rows:
        return np.asarray(stacked.T @ (vectors[:, kept] / np.sqrt(strengths[kept])))
    return np.ascontiguousarray(vectors[:, kept])


def _largest(matrix: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """The largest eigenvalues of a symmetric matrix, decreasing, and their eigenvectors."""
    size = len(matrix)
    # A few eigenvectors of a large matrix take much less time than all of them.
    subset = [size - n, size - 1] if n < size // 3 else None
    values, vectors = scipy.linalg.eigh(
        matrix, subset_by_index=subset, driver="evr" if subset else "evd", check_finite=False
    )
    return values[::-1][:n], vectors[:, ::-1][:, :n]


def scale_free_error(targets: FloatArray, scores: FloatArray) -> float:
    """Relative squared error after the best scaling; above 1 if the best scale is negative."""
    lengths = np.linalg.norm(targets) * np.linalg.norm(scores)
    correlation = float(np.vdot(targets, scores) / lengths) if lengths > 0 else 0.0
    return 1.0 - correlation * abs(correlation)


def _centred_gram(features: Any, mean: FloatArray) -> FloatArray:
    """Products of all pairs of rows after centring, of shape (n, n)."""
    if scipy.sparse.issparse(features):
        gram = (features @ features.T).toarray().astype(np.float64)
        towards_mean = np.asarray(features @ mean)
        return np.asarray(gram - towards_mean[:, None] - towards_mean + mean @ mean)
    centred = features - mean.astype(features.dtype)
    return np.asarray(centred @ centred.T, dtype=np.float64)


def _leading(matrix: FloatArray, max_rank: int | None) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of a symmetric matrix that are not negligible, decreasing, and their eigenvectors."""
    values, vectors = scipy.linalg.eigh(matrix, driver="evd", check_finite=False)
    values, vectors = values[::-1][:max_rank], vectors[:, ::-1][:, :max_rank]
    n_kept = max(1, int((values > _SMALLEST_VARIANCE * values[0]).sum()))
    return np.maximum(values[:n_kept], np.finfo(np.float64).tiny), np.ascontiguousarray(vectors[:, :n_kept])


def _column_sums(matrix: Any) -> FloatArray:
    return np.asarray(matrix.sum(axis=0, dtype=np.float64)).reshape(-1)
