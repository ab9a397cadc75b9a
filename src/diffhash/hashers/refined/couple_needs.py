"""Weights of couples by what they have to gain.

With many couples, those that find each other in any case, such as two translations of one text, would have a large
share of the bits, and so would couples that have nothing in common. If a couple finds a share p of the partners, and
its evidence grows by a factor in the odds, then p grows by p (1 - p) times the logarithm of the factor. So the
mean over the couples grows most if couples count by p (1 - p).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...learning.block_difference import BlockMatrix
from ...pairs.couples import ResolvedCouples

__all__ = ["multiply_blocks", "multiply_weights", "need_factors"]

#: Added to p (1 - p), which is at most 1/4: no couple is forgotten.
_LEAST_NEED = 0.02


def need_factors(
    couples: ResolvedCouples, scores: Mapping[tuple[int, int], float]
) -> dict[tuple[int, int], float]:
    """Factors of the weights of the couples; the weights have the same sum as before.

    Parameters
    ----------
    couples : ResolvedCouples
    scores : dict of float by (view, view)
        Score of held-out codes of each couple, 0 to 1; a couple that is missing has the mean of the others.

    Examples
    --------
    >>> from diffhash import Pairs
    >>> from diffhash.pairs.couples import ResolvedCouple
    >>> pairs = Pairs.aligned(2).resolve(2, 2)
    >>> couples = ResolvedCouples((2, 2, 2), tuple(ResolvedCouple(0, v, 1.0, pairs) for v in (1, 2)))
    >>> factors = need_factors(couples, {(0, 1): 0.5, (0, 2): 1.0})
    >>> {couple: round(factor, 2) for couple, factor in factors.items()}
    {(0, 1): 1.86, (0, 2): 0.14}
    """
    mean = float(np.mean(list(scores.values()))) if scores else 0.5
    found = np.clip([scores.get(couple.sides, mean) for couple in couples], 0.0, 1.0)
    needs = found * (1.0 - found) + _LEAST_NEED
    weights = np.array([couple.weight for couple in couples])
    needs *= weights.sum() / (weights @ needs)
    return {couple.sides: float(need) for couple, need in zip(couples, needs, strict=True)}


def multiply_weights(couples: ResolvedCouples, factors: Mapping[tuple[int, int], float]) -> ResolvedCouples:
    """The couples with their weights times the factors; couples without a factor keep their weights."""
    return replace(
        couples,
        couples=tuple(replace(c, weight=c.weight * factors.get(c.sides, 1.0)) for c in couples),
    )


def multiply_blocks(matrix: BlockMatrix, factors: Mapping[tuple[int, int], float]) -> BlockMatrix:
    """The blocks of the couples times their factors; blocks without a factor stay as they are."""
    blocks = {sides: factors.get(sides, 1.0) * block for sides, block in matrix.blocks.items()}
    return BlockMatrix(matrix.sizes, blocks)
