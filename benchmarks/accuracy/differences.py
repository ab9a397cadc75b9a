"""RefinedHash minus the best peer of each place, with a paired bootstrap interval over queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from diffhash.types import FloatArray

from .protocols import TRAINING, UNSEEN
from .results import OWN_METHOD, cell_key, queries_key
from .scores import summary
from .summary import Cell, Summary


def paired_differences(found: Summary, queries: dict[str, FloatArray]) -> dict[str, Any]:
    """By "width | protocol": the peer that is best there, and the difference as mean, low and high.

    A query counts by its mean over both directions, and both methods are resampled with the same queries.
    Places whose queries are not at hand are left out.
    """
    places: dict[str, Any] = {}
    for width, protocol, own, (name, peer) in _compared(found):
        values = [
            _by_seed(queries, method, width, protocol, cell)
            for method, cell in ((OWN_METHOD, own), (name, peer))
        ]
        gap = paired_gap(*values, same_queries=not found.dataset.redrawn)
        if gap is not None:
            places[f"{width} | {protocol}"] = {"peer": name, **summary(gap)}
    return places


def cells_without_queries(found: Summary, queries: dict[str, FloatArray]) -> set[str]:
    """Keys of the cells that are compared, but whose figures of every query are not at hand."""
    return {
        cell_key(method, width, run["seed"])
        for width, protocol, own, (name, peer) in _compared(found)
        for method, cell in ((OWN_METHOD, own), (name, peer))
        for run in cell.runs
        if protocol in run and queries_key(method, width, run["seed"], protocol) not in queries
    }


def _compared(found: Summary) -> Iterator[tuple[int, str, Cell, tuple[str, Cell]]]:
    """For each place: its width and protocol, our cell, the best peer and its cell."""
    for width, own in found.cells.get(OWN_METHOD, {}).items():
        for protocol in (UNSEEN, TRAINING):
            best = found.best(width, ours=False, protocol=protocol)
            if best is not None:
                yield width, protocol, own, best


def _by_seed(
    queries: dict[str, FloatArray], method: str, width: int, protocol: str, cell: Cell
) -> dict[int, FloatArray]:
    """The figures of the queries of each seed; nothing if those of some seed are not at hand."""
    keys = {
        run["seed"]: queries_key(method, width, run["seed"], protocol) for run in cell.runs if protocol in run
    }
    return {seed: queries[key] for seed, key in keys.items()} if set(keys.values()) <= queries.keys() else {}


def paired_gap(
    ours: dict[int, FloatArray], theirs: dict[int, FloatArray], *, same_queries: bool
) -> FloatArray | None:
    """Difference of each query. With one split a query counts by its mean over each method's seeds.

    With splits or data that differ by seed, the queries of all seeds that both methods have are put
    one after the other.

    Examples
    --------
    >>> paired_gap({0: np.array([1.0]), 1: np.array([0.5])}, {0: np.array([0.5])}, same_queries=True)
    array([0.25])
    """
    if not ours or not theirs:
        return None
    if same_queries:
        a, b = (np.mean(list(values.values()), axis=0) for values in (ours, theirs))
        return np.asarray(a - b, dtype=np.float64)
    common = sorted(set(ours) & set(theirs))
    if not common:
        return None
    return np.concatenate([ours[seed] - theirs[seed] for seed in common]).astype(np.float64)
