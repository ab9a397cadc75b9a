"""Hypothesis strategies: small inputs with ties, repeated rows and uneven labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import diffhash as dh
from diffhash.pairs.couples import ResolvedCouple, ResolvedCouples


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


@dataclass(frozen=True)
class ManyViews:
    """Several small views and couples of them. The pairs are also listed as sets, for slow references."""

    views: list[Any]
    resolved: ResolvedCouples
    #: (u, v, weight, positive pairs, negative pairs)
    couples: list[tuple[int, int, float, set[tuple[int, int]], set[tuple[int, int]]]]


@st.composite
def many_views(draw: st.DrawFn, *, n_modalities: int | None = None) -> ManyViews:
    """Connected views with gaps and repeated rows; pairs by label or id; couples within views, and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 4)) if n_modalities is None else n_modalities
    objects = draw(st.integers(5, 9))
    ids = [rng.choice(objects, size=draw(st.integers(4, 9))) for _ in range(n)]
    names = [f"view {u}" for u in range(n)]
    kind = draw(st.sampled_from(["ids", "labels"]))
    shared = rng.integers(-1, 2, size=(objects, 3)) if draw(st.booleans()) else rng.normal(size=(objects, 3))
    views = [
        shared[each] @ rng.normal(size=(3, draw(st.integers(2, 4)))) + 0.1 * rng.normal(size=(len(each), 1))
        for each in ids
    ]
    values = [each % 3 if kind == "labels" else each for each in ids]
    given = dict(zip(names, values, strict=True))
    pairs = dh.Pairs.from_labels(given) if kind == "labels" else dh.Pairs.from_ids(given)
    chosen = [(u, v) for u in range(n) for v in range(u, n) if u != v or draw(st.booleans())]
    resolved, listed = [], []
    for u, v in chosen:
        every = {(i, j) for i in range(len(ids[u])) for j in range(len(ids[v])) if u != v or i < j}
        positive = {(i, j) for i, j in every if values[u][i] == values[v][j]}
        if not positive or positive == every:
            continue
        weight = float(rng.choice([0.5, 1.0, 3.0]))
        found = pairs.couple(names[u], names[v]).resolve(len(ids[u]), None if u == v else len(ids[v]))
        resolved.append(ResolvedCouple(u, v, weight, found))
        listed.append((u, v, weight, positive, every - positive))
    reached = {0}
    for _ in range(n):
        reached |= {side for u, v, *_ in listed for side in (u, v) if {u, v} & reached}
    assume(resolved and len(reached) == n)
    return ManyViews(views, ResolvedCouples(tuple(map(len, ids)), tuple(resolved)), listed)
