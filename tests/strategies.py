"""Hypothesis strategies: small inputs with ties, repeated rows and uneven labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import diffhash as dh


@dataclass(frozen=True)
class Problem:
    """One or two small views and pairs. The pairs are also listed as sets, for slow references."""

    x: Any
    y: Any
    pairs: dh.Pairs
    positive: set[tuple[int, int]]
    negative: set[tuple[int, int]]
    one_view: bool


def features(rng: np.random.Generator, n: int, d: int, *, discrete: bool) -> Any:
    """Random features; discrete ones have many ties."""
    if discrete:
        return rng.integers(-1, 2, size=(n, d)).astype(np.float64)
    return rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, size=d) + rng.normal(size=d)


@st.composite
def problems(draw: st.DrawFn, *, one_view: bool | None = None) -> Problem:
    """Small views of various shapes with every kind of pairs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    single = draw(st.booleans()) if one_view is None else one_view
    n_x = draw(st.integers(3, 12))
    kind = draw(st.sampled_from(["listed", "rest", "labels", "sets"] + ([] if single else ["aligned"])))
    n_y = n_x if single or kind == "aligned" else draw(st.integers(3, 12))
    discrete = draw(st.booleans())
    x = features(rng, n_x, draw(st.integers(1, 4)), discrete=discrete)
    y = x if single else features(rng, n_y, draw(st.integers(1, 4)), discrete=discrete)
    every = {(i, j) for i in range(n_x) for j in range(n_y) if not single or i < j}
    if kind == "aligned":
        positive = {(r, r) for r in range(n_x)}
        return Problem(x, y, dh.Pairs.aligned(n_x), positive, every - positive, single)
    if kind in ("labels", "sets"):
        if kind == "labels":
            la, lb = rng.integers(0, 3, size=n_x), rng.integers(0, 3, size=n_y)
            similar = {(i, j) for i, j in every if la[i] == (la if single else lb)[j]}
        else:
            la, lb = rng.random((n_x, 3)) < 0.4, rng.random((n_y, 3)) < 0.4
            similar = {(i, j) for i, j in every if (la[i] & (la if single else lb)[j]).any()}
        # Positives may be sampled. Negatives by label are then still all pairs without a common label.
        n_positive = draw(st.integers(1, len(similar))) if similar and draw(st.booleans()) else None
        second = None if single else lb
        pairs = dh.Pairs.from_labels(la, second, n_positive=n_positive, random_state=0)
        positive = (
            similar if n_positive is None else set(zip(*map(np.ndarray.tolist, pairs.positive), strict=True))
        )
        return Problem(x, y, pairs, positive, every - similar, single)
    order = rng.permutation(sorted(every))
    n_positive = draw(st.integers(1, max(1, len(order) // 2)))
    positive = {tuple(map(int, pair)) for pair in order[:n_positive]}
    repeated = np.concatenate([order[:n_positive], order[: draw(st.integers(0, min(2, n_positive)))]]).T
    if kind == "rest":
        return Problem(x, y, dh.Pairs(positive=tuple(repeated)), positive, every - positive, single)
    n_negative = draw(st.integers(0, len(order) - n_positive))
    chosen = order[n_positive : n_positive + n_negative].reshape(-1, 2)
    negative = {tuple(map(int, pair)) for pair in chosen}
    pairs = dh.Pairs(positive=tuple(repeated), negative=tuple(chosen.T))
    return Problem(x, y, pairs, positive, negative, single)
