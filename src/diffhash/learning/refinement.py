r"""Minimise the loss over pairs by L-BFGS, with tanh in place of the sign.

The codes of each view are relaxed to :math:`h_i = \tanh(P z_i + a)`. The projections and thresholds of all
views are then optimised together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.optimize

from ..types import FloatArray

__all__ = ["Affine", "CodeLoss", "Progress", "refine"]

#: A round before the last one stops when the relative decrease of the loss is below this.
_EARLY_ROUND_TOLERANCE = 1e-3

#: Called after every iteration with its number and the loss.
Progress = Callable[[int, float], None]
#: A loss of the relaxed codes of each view, and its gradient with respect to them.
CodeLoss = Callable[[Sequence[FloatArray]], tuple[float, list[FloatArray]]]


@dataclass(frozen=True)
class Affine:
    """Weights (n_features, n_bits) and offsets (n_bits,) of each view."""

    weights: tuple[FloatArray, ...]
    offsets: tuple[FloatArray, ...]


def refine(
    views: Sequence[FloatArray],
    loss: CodeLoss,
    start: Affine,
    *,
    penalty: float,
    scales: Sequence[FloatArray] | None = None,
    slopes: tuple[float, ...] = (1.0,),
    max_iter: int = 60,
    tolerance: float = 1e-5,
    progress: Progress | None = None,
) -> tuple[Affine, bool]:
    """Minimise the loss of ``tanh(slope * (scales * features @ weights + offsets))`` by L-BFGS.

    Parameters
    ----------
    views : list of arrays of shape (n, d)
        Features of each view.
    loss : function
        Such as a :class:`~diffhash.learning.couple_loss.CoupleLoss`.
    start : Affine
    penalty : float
        This number times the mean squared length of the weights of a bit is added to the loss.
    scales : list of arrays of shape (d,), optional
        Factors that whiten the features, so that the penalty treats all of them alike. No scaled copy
        of the features is made.
    slopes : increasing numbers
        Slope of tanh in each round.
    max_iter : int
        Iterations per round. A round may also use the iterations that earlier rounds left over.
    tolerance : float
        The last round stops when the loss decreases by less than this. If the loss is above 1, the
        relative decrease counts. Earlier rounds stop at a larger tolerance.
    progress : function, optional

    Returns
    -------
    Affine, and whether the last round converged
    """
    objective = _Objective(views, loss, start.weights[0].shape[1], penalty, scales)
    counter = _IterationCounter(progress)
    theta, converged = objective.pack(start), True
    for number, slope in enumerate(slopes, 1):
        found = scipy.optimize.minimize(
            objective,
            theta,
            args=(slope,),
            jac=True,
            method="L-BFGS-B",
            callback=counter.count,
            options={
                "maxiter": number * max_iter - counter.n_iterations,
                "ftol": tolerance if number == len(slopes) else max(tolerance, _EARLY_ROUND_TOLERANCE),
                "maxcor": 10,
            },
        )
        theta, converged = found.x, bool(found.success)
    weights, offsets = objective.unpack(theta)
    return Affine(tuple(weights), tuple(offsets)), converged


class _IterationCounter:
    """Counts the iterations of all rounds and reports each one to ``progress``."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self.n_iterations = 0

    def count(self, intermediate_result: scipy.optimize.OptimizeResult) -> None:
        """Callback of ``scipy.optimize.minimize``, which asks for this name of the argument."""
        self.n_iterations += 1
        if self._progress is not None:
            self._progress(self.n_iterations, float(intermediate_result.fun))


class _Objective:
    """The penalised loss as a function of one flat vector: weights of each view, then offsets of each view.

    Parameters
    ----------
    views : list of arrays of shape (n, d)
    loss : function
    n_bits : int
    penalty, scales
        See :func:`refine`.
    """

    def __init__(
        self,
        views: Sequence[FloatArray],
        loss: CodeLoss,
        n_bits: int,
        penalty: float,
        scales: Sequence[FloatArray] | None,
    ) -> None:
        self._views = views
        self._loss = loss
        self._n_bits = n_bits
        self._penalty_per_bit = penalty / n_bits
        self._dtype = views[0].dtype
        self._scales = [s[:, None] for s in scales] if scales is not None else [np.ones((1, 1))] * len(views)

    def pack(self, affine: Affine) -> FloatArray:
        """The flat vector of an affine function."""
        return np.concatenate([*(w.ravel() for w in affine.weights), *affine.offsets]).astype(np.float64)

    def unpack(self, theta: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
        """Weights and offsets of each view: inverse of :meth:`pack`."""
        n_views, m = len(self._views), self._n_bits
        sizes = [view.shape[1] * m for view in self._views]
        parts = np.split(theta, np.cumsum([*sizes, *[m] * n_views])[:-1])
        return [p.reshape(-1, m) for p in parts[:n_views]], parts[n_views:]

    def __call__(self, theta: FloatArray, slope: float) -> tuple[float, FloatArray]:
        """The loss and its gradient at a flat vector."""
        weights, offsets = self.unpack(theta)
        codes = self._codes(weights, offsets, slope)
        value, gradients = self._loss(codes)
        for code, gradient in zip(codes, gradients, strict=True):
            # The derivative of tanh is 1 - tanh^2. It overwrites the codes, which are not needed any more.
            np.multiply(code, code, out=code)
            np.subtract(1.0, code, out=code)
            gradient *= code
            gradient *= slope
        pieces = []
        for view, scale, gradient, w in zip(self._views, self._scales, gradients, weights, strict=True):
            value += self._penalty_per_bit * float(np.vdot(w, w))
            pieces.append((scale * (view.T @ gradient) + 2 * self._penalty_per_bit * w).ravel())
        pieces += [gradient.sum(axis=0, dtype=np.float64) for gradient in gradients]
        return value, np.concatenate(pieces)

    def _codes(self, weights: list[FloatArray], offsets: list[FloatArray], slope: float) -> list[FloatArray]:
        """Relaxed codes of each view."""
        codes = []
        for view, scale, w, b in zip(self._views, self._scales, weights, offsets, strict=True):
            values = view @ (slope * scale * w).astype(self._dtype)
            values += (slope * b).astype(self._dtype)
            codes.append(np.tanh(values, out=values))
        return codes
