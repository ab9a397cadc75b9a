"""Fitting and encoding with hostile features, pairs and parameters."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import diffhash as dh

from ..case import Use, attempt
from ..mutate import hostile_array, hostile_object

__all__ = ["make"]

_SCALES = [1e-300, 1e-160, 1e-30, 1e-8, 1.0, 1e8, 1e30, 1e160, 1e300]


def make(rng: random.Random, folder: Path) -> Use:
    """A small fit of which something is unusual, then an encoding."""
    n = rng.choice([2, 5, 24])
    views: dict[Any, Any] = {"x": _features(rng, n, 6), "y": _features(rng, n, 4)}
    pairs: Any = rng.choice([dh.Pairs.aligned(n), dh.Pairs(positive=(np.arange(n), np.arange(n)[::-1]))])
    method = rng.choice([dh.DiffHash, dh.KernelDiffHash, dh.BoostedHash])
    parameters: dict[str, Any] = {"n_bits": rng.choice([1, 2, 3])}
    names = sorted(method().get_params())
    for name in rng.sample(names, rng.choice([0, 0, 1])):
        parameters[name] = rng.choice(
            [hostile_object(rng), 0, -1, 10**9, 2**70, 1e-30, 1e30, True, "auto", None]
        )
    action = rng.randrange(8)
    if action == 0:
        views["x"] = hostile_array(rng)
    elif action == 1:
        views = rng.choice(
            [hostile_object(rng), {"x": views["x"]}, {**views, "z": views["y"]}, {3: views["x"]}]
        )
    elif action == 2:
        pairs = hostile_object(rng)
    later = hostile_array(rng) if action == 3 else _features(rng, 3, 6)

    def use() -> bool:
        hasher = attempt(method, **parameters)
        if hasher is None or attempt(hasher.fit, views, pairs) is None:
            return False
        attempt(hasher.encode, later, modality="x")
        attempt(hasher.project, later, modality=hostile_object(rng))
        return True

    return use


def _features(rng: random.Random, n: int, d: int) -> Any:
    X = np.random.default_rng(rng.randrange(2**32)).normal(size=(n, d))
    action = rng.randrange(10)
    if action == 0:
        X *= rng.choice(_SCALES)
    elif action == 1:
        X[:, 0] *= rng.choice(_SCALES)
    elif action == 2:
        with np.errstate(over="ignore"):
            return (X * rng.choice(_SCALES)).astype(np.float32)
    elif action == 3:
        X[rng.randrange(n)] = rng.choice([np.nan, np.inf, 0.0])
    elif action == 4:
        X[:] = X[0]
    elif action == 5:
        matrix = scipy.sparse.csr_array(np.where(X > 0, X, 0))
        if rng.random() < 0.5 and matrix.nnz:
            # A matrix of another program: a column that does not exist, or rows out of order.
            part = rng.choice([matrix.indices, matrix.indptr])
            part[rng.randrange(len(part))] = rng.choice([-1, 10**6, 2**31 - 1, 0])
        return matrix
    return X
