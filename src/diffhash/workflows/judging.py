"""Retrieval measured in every direction, from codes and what belongs together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..evaluation import Evaluation, evaluate
from ..types import CodeArray, IntArray
from .relation import Relation

__all__ = ["evaluate_directions", "figures_of"]


def evaluate_directions(
    codes: dict[str, CodeArray], relation: Relation, *, within: bool, queries: int, seed: int
) -> dict[tuple[str, str], Evaluation]:
    """From every modality into every other, and within each if asked for or if there is only one."""
    rng = np.random.default_rng(seed)
    found = {}
    for a in codes:
        n = len(codes[a])
        rows = np.sort(rng.choice(n, queries, replace=False)) if queries and queries < n else np.arange(n)
        for b in codes:
            if a != b or within or len(codes) == 1:
                found[a, b] = _evaluate(codes[a], codes[b], rows, relation, a, b)
    return found


def _evaluate(
    queries: CodeArray, items: CodeArray, rows: IntArray, relation: Relation, a: str, b: str
) -> Evaluation:
    if relation.labels is not None:
        own = rows if a == b else None
        return evaluate(queries[rows], items, relation.labels[a][rows], relation.labels[b], own=own)
    if a == b:
        raise InputError(
            "evaluate: retrieval within a modality is judged by labels: a query's own item must be left out. "
            "Give --labels."
        )
    if relation.positive is None:
        i, j = rows, rows
    else:
        i, j = relation.positive if [*relation.n_rows].index(a) == 0 else relation.positive[::-1]
    places = np.full(len(queries), -1)
    places[rows] = np.arange(len(rows))
    kept = places[i] >= 0
    return evaluate(queries[rows], items, relevant=(places[i[kept]], j[kept]))


def figures_of(result: Evaluation, n_items: int) -> dict[str, Any]:
    """The figures of one direction, plain."""
    low, high = result.confidence_interval()
    k = min(10, n_items)
    return {
        "queries": len(result.table) - result.n_without_relevant,
        "without relevant": result.n_without_relevant,
        "items": n_items,
        "mAP": result.mean_average_precision,
        "mAP low": low,
        "mAP high": high,
        "EER": result.equal_error_rate,
        "precision at 10": result.precision_at(k),
        "recall at 1": result.recall_at(1),
        "recall at 10": result.recall_at(k),
    }
