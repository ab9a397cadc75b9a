r"""Refine the codes of one modality while the codes of its partners stay as they are.

The new codes are relaxed to :math:`h_i = \tanh(W^T x_i + b)`, those of the partners are the stored signs. The
:class:`~diffhash.learning.pair_loss.PairLoss` of each couple is then a function of W and b alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.optimize

from ..types import FloatArray
from .pair_loss import PairLoss

__all__ = ["FrozenCouple", "refine_to_frozen"]


@dataclass(frozen=True)
class FrozenCouple:
    """Pairs of the new modality with a known one.

    Attributes
    ----------
    loss : PairLoss
    signs : array of shape (n', n_bits)
        Codes of the known modality, -1 or 1.
    new_first : bool
        Whether the new modality is the first one of the pairs.
    weight : float
    """

    loss: PairLoss
    signs: FloatArray
    new_first: bool
    weight: float = 1.0


def refine_to_frozen(
    x: FloatArray,
    couples: Sequence[FrozenCouple],
    weights: FloatArray,
    offsets: FloatArray,
    *,
    penalty: float,
    slopes: Sequence[float] = (1.0, 2.0),
    max_iter: int = 20,
) -> tuple[FloatArray, FloatArray]:
    """Minimise the loss of ``tanh(slope * (x @ weights + offsets))`` with frozen partners, by L-BFGS.

    Parameters
    ----------
    x : array of shape (n, d)
        Features of unit variance.
    couples : list of FrozenCouple
    weights, offsets : arrays of shape (d, n_bits), (n_bits,)
        The start.
    penalty : float
        This number times the mean squared distance of the weights of a bit from the start is added to the loss.
    slopes : increasing numbers
        Slope of tanh in each round.
    max_iter : int
        Iterations per round.

    Returns
    -------
    weights, offsets

    Examples
    --------
    >>> from diffhash import Pairs
    >>> signs = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    >>> loss = PairLoss(Pairs.from_labels([0, 0, 1, 1], [0, 0, 1, 1]).resolve(4, 4), 1, -1.0)
    >>> x = np.array([[3.0], [2.0], [1.0], [0.5]])
    >>> w, b = refine_to_frozen(x, [FrozenCouple(loss, signs, True)], np.eye(1), np.zeros(1), penalty=1e-3)
    >>> (x @ w + b >= 0).ravel()
    array([ True,  True, False, False])
    """
    shape = weights.shape
    total = sum(couple.weight for couple in couples)

    def objective(theta: FloatArray, slope: float) -> tuple[float, FloatArray]:
        w, b = theta[: weights.size].reshape(shape), theta[weights.size :]
        codes = np.tanh(slope * (x @ w + b))
        value, gradient = 0.0, np.zeros_like(codes)
        for couple in couples:
            sides = (codes, couple.signs) if couple.new_first else (couple.signs, codes)
            part, *gradients = couple.loss(*sides)
            share = couple.weight / total
            value += share * part
            gradient += share * gradients[0 if couple.new_first else 1]
        gradient *= slope * (1.0 - codes**2)
        moved = w - weights
        value += penalty / shape[1] * float(np.vdot(moved, moved))
        of_weights = x.T @ gradient + 2 * penalty / shape[1] * moved
        return value, np.concatenate([of_weights.ravel(), gradient.sum(axis=0)])

    theta = np.concatenate([weights.ravel(), offsets]).astype(np.float64)
    for slope in slopes:
        found = scipy.optimize.minimize(
            objective,
            theta,
            args=(slope,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "ftol": 1e-5},
        )
        theta = found.x
    return theta[: weights.size].reshape(shape), theta[weights.size :]
