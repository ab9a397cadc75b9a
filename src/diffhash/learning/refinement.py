r"""Minimise the loss over pairs by L-BFGS, with tanh in place of the sign.

The codes of the two views are relaxed to :math:`h_i = \tanh(P z_i + a)` and
:math:`g_j = \tanh(Q z'_j + b)`. Projections and thresholds are then optimised together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.optimize

from ..types import FloatArray
from .pair_loss import PairLoss

__all__ = ["Affine", "Progress", "refine"]

#: A round before the last one stops when the relative decrease of the loss is below this.
_EARLY_ROUND_TOLERANCE = 1e-3

#: Called after every iteration with its number and the loss.
Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class Affine:
    """Weights (n_features, n_bits) and offsets (n_bits,) of each side; with one view both sides are equal."""

    weights: tuple[FloatArray, FloatArray]
    offsets: tuple[FloatArray, FloatArray]


def refine(
    x: FloatArray,
    y: FloatArray | None,
    loss: PairLoss,
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
    x, y : arrays of shape (n, d), (n', d')
        Features of each view; ``y`` is None for one view.
    loss : PairLoss
    start : Affine
    penalty : float
        This number times the mean squared length of the weights of a bit is added to the loss.
    scales : one or two arrays of shape (d,), (d',), optional
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
    objective = _Objective([x] if y is None else [x, y], loss, start.weights[0].shape[1], penalty, scales)
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
    return Affine((weights[0], weights[-1]), (offsets[0], offsets[-1])), converged


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
    """The penalised loss as a function of one flat vector: weights of each side, then offsets of each side.

    Parameters
    ----------
    sides : one or two arrays of shape (n, d), (n', d')
    loss : PairLoss
    n_bits : int
    penalty, scales
        See :func:`refine`.
    """

    def __init__(
        self,
        sides: list[FloatArray],
        loss: PairLoss,
        n_bits: int,
        penalty: float,
        scales: Sequence[FloatArray] | None,
    ) -> None:
        self._sides = sides
        self._loss = loss
        self._n_bits = n_bits
        self._penalty_per_bit = penalty / n_bits
        self._dtype = sides[0].dtype
        self._scales = [s[:, None] for s in scales] if scales is not None else [np.ones((1, 1))] * len(sides)

    def pack(self, affine: Affine) -> FloatArray:
        """The flat vector of an affine function."""
        n_sides = len(self._sides)
        weights, offsets = affine.weights[:n_sides], affine.offsets[:n_sides]
        return np.concatenate([*(w.ravel() for w in weights), *offsets]).astype(np.float64)

    def unpack(self, theta: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
        """Weights and offsets of each side: inverse of :meth:`pack`."""
        n_sides, m = len(self._sides), self._n_bits
        sizes = [side.shape[1] * m for side in self._sides]
        parts = np.split(theta, np.cumsum([*sizes, *[m] * n_sides])[:-1])
        return [p.reshape(-1, m) for p in parts[:n_sides]], parts[n_sides:]

    def __call__(self, theta: FloatArray, slope: float) -> tuple[float, FloatArray]:
        """The loss and its gradient at a flat vector."""
        weights, offsets = self.unpack(theta)
        codes = self._codes(weights, offsets, slope)
        value, *gradients = self._loss(codes[0], codes[-1])
        if len(self._sides) == 1:
            gradients = [gradients[0] + gradients[1]]
        for code, gradient in zip(codes, gradients, strict=True):
            # The derivative of tanh is 1 - tanh^2. It overwrites the codes, which are not needed any more.
            np.multiply(code, code, out=code)
            np.subtract(1.0, code, out=code)
            gradient *= code
            gradient *= slope
        pieces = []
        for side, scale, gradient, w in zip(self._sides, self._scales, gradients, weights, strict=True):
            value += self._penalty_per_bit * float(np.vdot(w, w))
            pieces.append((scale * (side.T @ gradient) + 2 * self._penalty_per_bit * w).ravel())
        pieces += [gradient.sum(axis=0, dtype=np.float64) for gradient in gradients]
        return value, np.concatenate(pieces)

    def _codes(self, weights: list[FloatArray], offsets: list[FloatArray], slope: float) -> list[FloatArray]:
        """Relaxed codes of each side."""
        codes = []
        for side, scale, w, b in zip(self._sides, self._scales, weights, offsets, strict=True):
            values = side @ (slope * scale * w).astype(self._dtype)
            values += (slope * b).astype(self._dtype)
            codes.append(np.tanh(values, out=values))
        return codes
