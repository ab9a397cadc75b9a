"""Drawing pairs uniformly, without listing those that are only implied."""

from __future__ import annotations

import numpy as np

from ..errors import PairsError
from ..types import PairIndex
from .labels import sample_pairs
from .resolved import ResolvedPairs

__all__ = ["sample_resolved"]


def sample_resolved(
    pairs: ResolvedPairs, n_positive: int, n_negative: int, rng: np.random.Generator, *, caller: str
) -> tuple[PairIndex, PairIndex]:
    """Distinct positive and negative pairs, each drawn with equal chance."""
    for what, n, available in (
        ("positive", n_positive, pairs.n_positive),
        ("negative", n_negative, pairs.n_negative),
    ):
        if n > available:
            raise PairsError(f"{caller}: {n} {what} pairs were asked for, but there are only {available}.")
    return (
        _sample(pairs, pairs.positive, n_positive, rng, similar=True, caller=caller),
        _sample(pairs, pairs.negative, n_negative, rng, similar=False, caller=caller),
    )


def _sample(
    pairs: ResolvedPairs,
    listed: PairIndex | None,
    n: int,
    rng: np.random.Generator,
    *,
    similar: bool,
    caller: str,
) -> PairIndex:
    if listed is not None:
        chosen = np.sort(rng.choice(len(listed[0]), size=n, replace=False))
        return listed[0][chosen], listed[1][chosen]
    if n == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if pairs.groups is not None:
        return sample_pairs(pairs.groups, n, similar=similar, one_view=pairs.one_view, rng=rng, caller=caller)
    assert pairs.positive is not None, "without labels the positives are always listed"
    return pairs.draw_other_pairs(pairs.positive, n, rng)
