"""Mean average precision of a method in the three protocols."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import diffhash as dh
from diffhash.datasets import MultimodalData
from diffhash.types import CodeArray, FloatArray

#: What the codes of the database are made from.
PROTOCOLS = {
    "C": "the other view of each object",
    "B": "all views of each object, fused",
    "A": "all views and the labels of each object, fused",
    "C, unseen": "the other view of the test objects themselves",
}
METHODS: dict[str, Callable[..., Any]] = {
    "RefinedHash": dh.RefinedHash,
    "DiffHash": lambda **settings: dh.DiffHash(whiten=True, rotate=True, **settings),
    "KernelDiffHash": lambda **settings: dh.KernelDiffHash(whiten=True, rotate=True, **settings),
}


@dataclass(frozen=True)
class Figure:
    """Mean average precision of one method, number of bits, protocol and direction."""

    data: str
    method: str
    n_bits: int
    protocol: str
    task: tuple[str, str]
    value: float
    at: float | None = None


def measure(
    title: str,
    data: MultimodalData,
    methods: list[str],
    bits: list[int],
    protocols: list[str],
    *,
    seed: int = 0,
    top: int | None = None,
) -> list[Figure]:
    """All figures of a data set."""
    found = []
    for method in methods:
        for n_bits in bits:
            started = time.perf_counter()
            hasher = METHODS[method](n_bits=n_bits, random_state=seed)
            hasher.fit(data.train.views, dh.Pairs.from_labels(data.train.labels))
            fitted = time.perf_counter() - started
            for protocol in protocols:
                found += _figures(title, method, hasher, data, protocol, top)
            print(
                f"{title}, {method}, {n_bits} bits: fit {fitted:.1f} s, all {time.perf_counter() - started:.1f} s",
                file=sys.stderr,
            )
    return found


def _figures(
    title: str, method: str, hasher: Any, data: MultimodalData, protocol: str, top: int | None
) -> list[Figure]:
    queries = {m: hasher.encode(X, modality=m) for m, X in data.test.views.items()}
    if protocol == "C, unseen":
        searched, codes = data.test, dict(queries)
    else:
        searched = data.database or data.train
        codes = database_codes(hasher, data, protocol)
    names = list(queries)
    figures = []
    for query, other in ((names[0], names[1]), (names[1], names[0])):
        result = dh.evaluate(
            queries[query], codes[other], data.test.labels[query], searched.labels[other], own=None
        )
        at = None if top is None else result.mean_average_precision_at(top)
        value = result.mean_average_precision
        figures.append(Figure(title, method, hasher.n_bits, protocol, (query, other), value, at))
    return figures


def database_codes(hasher: Any, data: MultimodalData, protocol: str) -> dict[str, CodeArray]:
    """Codes of the objects to search, for queries of the other modality.

    Fused codes are the same for both directions. The labels join the fitted model by ``extend``, so the codes of
    queries do not change.
    """
    searched = data.database or data.train
    if protocol == "C":
        return {m: hasher.encode(X, modality=m) for m, X in searched.views.items()}
    pairs = dh.Pairs.from_labels(data.train.labels)
    if hasher.model_.fusion_slopes is None:
        hasher.calibrate(data.train.views, pairs)
    views, own = dict(searched.views), hasher
    if protocol == "A":
        classes = _classes(data.train.labels)
        known = {**data.train.views, "label": _indicators(data.train.labels, classes)}
        labels = {**data.train.labels, "label": next(iter(data.train.labels.values()))}
        own = hasher.extend(known, dh.Pairs.from_labels(labels), modality="label")
        views["label"] = _indicators(searched.labels, classes)
    fused = own.encode_fused(views).codes
    return dict.fromkeys(searched.views, fused)


def _classes(labels: dict[str, Any]) -> Any:
    """The different classes; None if an object can have several labels."""
    first = next(iter(labels.values()))
    return None if first.ndim == 2 else np.unique(first)


def _indicators(labels: dict[str, Any], classes: Any) -> FloatArray:
    first = next(iter(labels.values()))
    return np.asarray(first if classes is None else first[:, None] == classes, dtype=np.float32)
