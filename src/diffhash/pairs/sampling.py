"""Drawing pairs uniformly, without listing those that are only implied."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import PairsError
from ..types import FloatArray, PairIndex
from .labels import sample_pairs
from .resolved import ResolvedPairs

__all__ = ["sample_resolved"]


def sample_resolved(
    pairs: ResolvedPairs, n_positive: int, n_negative: int, rng: np.random.Generator, *, caller: str
) -> ResolvedPairs:
    """Distinct positive and negative pairs, each drawn with equal chance; both sets are listed."""
    for what, n, available in (
        ("positive", n_positive, pairs.n_positive),
        ("negative", n_negative, pairs.n_negative),
    ):
        if n > available:
            raise PairsError(f"{caller}: {n} {what} pairs were asked for, but there are only {available}.")
    positive, positive_weights = _sample(
        pairs, (pairs.positive, pairs.positive_weights), n_positive, rng, similar=True, caller=caller
    )
    negative, negative_weights = _sample(
        pairs, (pairs.negative, pairs.negative_weights), n_negative, rng, similar=False, caller=caller
    )
    return replace(
        pairs,
        positive=positive,
        negative=negative,
        groups=None,
        positive_weights=positive_weights,
        negative_weights=negative_weights,
    )


def _sample(
    pairs: ResolvedPairs,
    listed: tuple[PairIndex | None, FloatArray | None],
    n: int,
    rng: np.random.Generator,
    *,
    similar: bool,
    caller: str,
) -> tuple[PairIndex, FloatArray | None]:
    index, weights = listed
    if index is not None:
        chosen = np.sort(rng.choice(len(index[0]), size=n, replace=False))
        return (index[0][chosen], index[1][chosen]), None if weights is None else weights[chosen]
    if n == 0:
        return (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)), None
    if pairs.groups is not None:
        drawn = sample_pairs(
            pairs.groups, n, similar=similar, one_view=pairs.one_view, rng=rng, caller=caller
        )
        return drawn, None
    assert pairs.positive is not None, "without labels the positives are always listed"
    return pairs.draw_other_pairs(pairs.positive, n, rng), None
