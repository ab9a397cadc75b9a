r"""The squared loss over the pairs of all couples of modalities.

With the weights :math:`w_c` of the couples, their mean :math:`\bar w`, and the
:class:`~diffhash.learning.pair_loss.PairLoss` :math:`L_c` of each, the loss is

.. math:: \sum_c \frac{w_c}{\bar w} L_c.

Only ratios of weights matter. The more couples a modality takes part in, the less the penalty of its projections
counts beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..pairs.couples import ResolvedCouples
from ..types import FloatArray
from .pair_loss import PairLoss

__all__ = ["CoupleLoss"]


class CoupleLoss:
    """The weighted loss of all couples, and its gradient.

    Parameters
    ----------
    couples : ResolvedCouples
    n_bits, negative_target, positive_weight, per_query
        See :class:`~diffhash.learning.pair_loss.PairLoss`.

    Examples
    --------
    >>> from diffhash import Pairs
    >>> pairs = Pairs.aligned(2).resolve(2, 2)
    >>> codes = np.array([[1.0, 1.0], [-1.0, -1.0]])
    >>> value, gradients = CoupleLoss(ResolvedCouples.of_pairs(pairs), 2, -1.0)([codes, codes])
    >>> value, len(gradients)
    (0.0, 2)
    """

    def __init__(
        self,
        couples: ResolvedCouples,
        n_bits: int,
        negative_target: float,
        positive_weight: float = 1.0,
        *,
        per_query: bool = False,
    ) -> None:
        mean = sum(couple.weight for couple in couples) / len(couples)
        self._terms = [
            (
                couple.sides,
                couple.weight / mean,
                PairLoss(couple.pairs, n_bits, negative_target, positive_weight, per_query=per_query),
            )
            for couple in couples
        ]

    def __call__(self, codes: Sequence[FloatArray]) -> tuple[float, list[FloatArray]]:
        """The loss, and its gradient with respect to the codes of each modality, in the dtype of the codes.

        Parameters
        ----------
        codes : list of arrays of shape (n, n_bits)
            Relaxed codes of the rows of each modality.
        """
        total = 0.0
        found: list[FloatArray | None] = [None] * len(codes)
        for sides, weight, loss in self._terms:
            value, *gradients = loss(codes[sides[0]], codes[sides[1]])
            total += weight * value
            for side, gradient in zip(sides, gradients, strict=True):
                gradient *= weight
                known = found[side]
                found[side] = gradient if known is None else known + gradient
        return total, [np.zeros_like(c) if g is None else g for c, g in zip(codes, found, strict=True)]
