"""Calls of the native search, packing and counting: through their checks, and past them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import diffhash as dh
from diffhash import codes, native
from diffhash.errors import DiffhashError
from tests.native.naive import distances as naive_distances

from ..case import Use, WrongAnswerError, attempt
from ..mutate import hostile_array, hostile_object

__all__ = ["make", "make_raw"]


def _codes(rng: random.Random, n: int, width: int) -> Any:
    return np.random.default_rng(rng.randrange(2**32)).integers(0, 256, (n, width), dtype=np.uint8)


def make(rng: random.Random, folder: Path) -> Use:
    """One public function, with one or two arguments that are not what it expects."""
    n, width = rng.choice([0, 1, 7, 200]), rng.choice([1, 2, 8, 9, 64, 512])
    database, queries = _codes(rng, n, width), _codes(rng, rng.choice([0, 1, 3]), width)
    ids = rng.sample(range(-1000, 1000), n)
    common = {"queries": queries, "database": database, "n_bits": None, "n_threads": None, "kernel": None}
    few = {name: common[name] for name in ("queries", "database", "n_bits")}
    calls: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (native.top_k, {**common, "k": 5, "ids": ids, "allowed": np.ones(n, dtype=bool)}),
        (_join, {"left": database, "right": rng.choice([None, queries]), "radius": width, "n_bits": None}),
        (_duplicates, {"codes": database, "radius": width, "ids": ids, "n_bits": None, "max_pairs": 50}),
        (native.within, {**common, "radius": 4 * width, "ids": ids, "allowed": None}),
        (
            native.distance_table,
            {
                **common,
                "query_labels": np.zeros(len(queries), int),
                "database_labels": np.zeros(n, int),
                "max_shared": 1,
            },
        ),
        (
            native.joint_counts,
            {
                "bins_x": np.zeros((2, 5), int),
                "bins_y": np.ones((2, 4), int),
                "index": (np.array([0, 4]), np.array([3, 1])),
                "n_bins": 2,
                "weights": None,
                "n_threads": None,
            },
        ),
        (native.pack_signs, {"projections": np.ones((n, 9)), "offset": np.zeros(9), "n_threads": None}),
        (codes.unpack, {"codes": database, "n_bits": 8 * width}),
        (codes.pack, {"bits": np.ones((n, 9), dtype=bool)}),
        (_index, {**few, "ids": ids, "k": 3}),
    ]
    function, arguments = rng.choice(calls)
    for name in rng.sample(sorted(arguments), rng.choice([0, 1, 1, min(2, len(arguments))])):
        arguments[name] = _instead(rng, name, arguments[name])
    return lambda: _check(function, arguments)


def _instead(rng: random.Random, name: str, old: Any) -> Any:
    if name == "n_threads":
        return rng.choice([0, 1, 3, 64, 2**31, 2**63, 2**64, -1, True, 2.0, "2", hostile_object(rng)])
    if name in ("k", "radius", "n_bits", "n_bins", "max_pairs"):
        return rng.choice([0, 1, 2**31, 2**63, 2**64, -1, True, 2.0, np.int8(3), "3", hostile_object(rng)])
    if isinstance(old, np.ndarray) and rng.random() < 0.5:
        return rng.choice(
            [old.T, old[::-1], old[:, ::2] if old.ndim == 2 else old, old.astype(float), old[None], old[:0]]
        )
    return rng.choice([hostile_object, hostile_array])(rng)


def _join(**arguments: Any) -> Any:
    return list(native.join(**arguments))


def _duplicates(**arguments: Any) -> Any:
    return dh.duplicates(**arguments).clusters


def _index(queries: Any, database: Any, n_bits: Any, ids: Any, k: Any) -> Any:
    index = dh.HammingIndex(database, ids, n_bits=n_bits)
    found = index.search(queries, k)
    index.within(queries, k)
    attempt(index.add, queries)
    attempt(index.remove, ids)
    attempt(index.get, ids)
    return found


def _check(function: Callable[..., Any], arguments: dict[str, Any]) -> bool:
    try:
        result = function(**arguments)
    except DiffhashError:
        return False
    database = arguments.get("database")
    if (
        function is native.top_k
        and arguments["ids"] is None
        and arguments["allowed"] is None
        and len(database)
    ):
        queries = np.asarray(arguments["queries"])
        expected = np.sort(naive_distances(queries, np.asarray(database)), axis=1)[:, : arguments["k"]]
        if arguments["n_bits"] is None and not np.array_equal(result.distances, expected):
            raise WrongAnswerError("top_k gives other distances than the slow version")
    return True


def make_raw(rng: random.Random, folder: Path) -> Use:
    """One function of the extension itself, with arrays that do not fit each other: it may refuse, but never crash."""
    from diffhash.native import _kernels

    n, width, q, k = (
        rng.choice([0, 1, 9, 300]),
        rng.choice([1, 2, 8, 16, 33]),
        rng.choice([0, 1, 3]),
        rng.choice([1, 4]),
    )
    database, queries = _codes(rng, n, width), _codes(rng, q, width)
    kernel = rng.choice([*_kernels.kernels(), *_kernels.kernels(), "no such kernel"])
    k = min(k, n)
    calls: dict[str, list[Any]] = {
        "top_k": [
            database, queries, None, None, 2, kernel,
            np.empty((q, k), dtype=np.int64), np.empty((q, k), dtype=np.uint16),
        ],
        "within": [database, queries, 8, None, None, 2, kernel],
        "join": [
            database, queries, np.zeros(n, np.int64), np.full(n, q), np.array([[0, n]]), 8,
            np.zeros((1, width), np.uint8), 10, 2, kernel,
        ],
        "unite": [np.arange(n), np.zeros(min(n, 2), np.int64), np.zeros(min(n, 2), np.int64)],
        "distance_table": [
            database, queries, np.array([0, n] if n else [0]), np.zeros((min(n, 1), 1), np.uint64),
            np.zeros((q, 1), np.uint64), False, 2, kernel, np.zeros((q, 8 * width + 1, 2), dtype=np.int64),
        ],
        "joint_counts": [
            np.zeros((2, 5), np.uint8), np.ones((2, 4), np.uint8), np.array([0, 4]), np.array([3, 1]), None, 1,
            np.zeros((2, 2, 2), dtype=np.int64),
        ],
        "pack32": [np.ones((n, 9), np.float32), np.zeros(9, np.float32), 2, kernel, np.zeros((n, 2), np.uint8)],
        "pack64": [np.ones((n, 9)), np.zeros(9), 2, kernel, np.zeros((n, 2), np.uint8)],
        "read_all": [database.ravel(), True, 2],
    }  # fmt: skip
    name = rng.choice(sorted(calls))
    arguments = calls[name]
    # Only Python checks that bins and row numbers fit their arrays, so these arrays stay as they are.
    places = [4, 5] if name == "joint_counts" else range(len(arguments))
    for _ in range(rng.choice([0, 1, 1, 2])):
        place = rng.choice(places)
        arguments[place] = _other_shape(rng, arguments[place])
    function = getattr(_kernels, name)
    return lambda: _call(function, arguments)


def _other_shape(rng: random.Random, old: Any) -> Any:
    if isinstance(old, np.ndarray):
        shape = [max(0, size + rng.choice([-1, 0, 0, 1, 7])) for size in old.shape]
        kind = rng.choice([old.dtype, old.dtype, np.dtype("u1"), np.dtype("i8"), np.dtype("f8")])
        last = old[..., ::2] if old.ndim else old
        return rng.choice(
            [np.zeros(shape, kind), np.zeros(shape[::-1], kind), np.zeros(shape[1:], kind), last]
        )
    if isinstance(old, int) and not isinstance(old, bool):
        return rng.choice([0, 1, 3, 100, -1, 2**64, None, "x", 1.5])
    return rng.choice([None, 0, b"", "portable", hostile_array(rng)])


def _call(function: Callable[..., Any], arguments: list[Any]) -> bool:
    try:
        function(*arguments)
    except (TypeError, ValueError):
        return False
    return True
