"""Rows of the table about encoding: a million rows in memory and from a file, one query, and the size of a model."""

from __future__ import annotations

import io
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

import diffhash as dh
from benchmarks.encode_file import make_file, make_model

from .measuring import Line, clock, line_of_time, measure, shown, take_turns

N_ROWS, N_FEATURES, N_BITS = 1_000_000, 128, 64


def in_memory() -> list[Line]:
    """``encode`` of an array, beside the product alone."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_FEATURES), dtype=np.float32) + np.float32(0.5)
    model = _linear_model(X[:2000], N_FEATURES)
    weights = rng.standard_normal((N_FEATURES, N_BITS), dtype=np.float32)
    product = np.empty((N_ROWS, N_BITS), dtype=np.float32)
    found = take_turns(
        {
            "ours": lambda: model.encode(X, modality="x"),
            "floor": lambda: np.matmul(X, weights, out=product),
        },
        9,
    )
    return [
        line_of_time(
            "encode 10⁶ × 128 float32 to 64 bits, in memory",
            found["ours"],
            floor=("bare sgemm", found["floor"].seconds),
            ratio=1.1,
        )
    ]


def _linear_model(X: Any, n_features: int) -> Any:
    views = {"x": X, "y": X[:, :N_BITS] if n_features > N_BITS else X}
    return dh.DiffHash(N_BITS).fit(views, dh.Pairs.aligned(len(X))).model_


def from_file() -> list[Line]:
    """``diffhash encode`` of a file that is in the page cache, codes synced to the disk, beside the product alone."""
    from diffhash.cli.app import run_app

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_file(folder / "x.npy", N_ROWS)
        make_model(folder / "model.dhm")
        X = np.load(folder / "x.npy")
        weights = np.random.default_rng(0).standard_normal((N_FEATURES, N_BITS), dtype=np.float32)
        product = np.empty((N_ROWS, N_BITS), dtype=np.float32)

        def ours() -> None:
            arguments = ["encode", str(folder / "model.dhm"), str(folder / "x.npy"), "--modality", "x"]
            with redirect_stdout(io.StringIO()) as out:
                status = run_app([*arguments, "-o", str(folder / "codes.npy"), "--overwrite", "--json"])
            if status:
                raise SystemExit("diffhash encode failed")
            assert json.loads(out.getvalue())["rows"] == N_ROWS

        found = take_turns({"ours": ours, "floor": lambda: np.matmul(X, weights, out=product)}, 7)
    return [
        line_of_time(
            "encode 10⁶ × 128 float32 to 64 bits, from a file to a file",
            found["ours"],
            floor=("bare sgemm of an array", found["floor"].seconds),
            ratio=1.3,
        )
    ]


def one_query() -> list[Line]:
    """Latency of ``encode`` of one row."""
    lines = []
    rng = np.random.default_rng(0)
    for d in (64, 1280):
        X = rng.standard_normal((3000, d), dtype=np.float32)
        query, pairs = X[:1], dh.Pairs.aligned(len(X))
        views = {"x": X, "y": X + rng.standard_normal(X.shape, dtype=np.float32)}
        for hasher, limit in ((dh.DiffHash(N_BITS), 30e-6), (dh.KernelDiffHash(N_BITS), 150e-6)):
            model = hasher.fit(views, pairs).model_
            width = model.projections["x"].shape[1]
            floor: Callable[[], object]
            weights = np.ascontiguousarray(model.projections["x"].T, dtype=np.float32)
            if isinstance(hasher, dh.KernelDiffHash):
                landmarks = np.ascontiguousarray(model.maps["x"].landmarks)

                def floor(query: Any = query, landmarks: Any = landmarks, weights: Any = weights) -> object:
                    return np.exp(query @ landmarks.T) @ weights

            else:

                def floor(query: Any = query, weights: Any = weights) -> object:
                    return query @ weights

            what = "linear" if width == d else f"kernel with {width:,} landmarks"
            ours = latency(lambda model=model, query=query: model.encode(query, modality="x"))
            bare = latency(floor)
            lines.append(
                Line(
                    f"encode one query of {d:,} features, {what} (median)",
                    shown(ours),
                    f"bare products: {shown(bare)}",
                    f"{ours / bare:.1f} ×",
                    f"≤ {shown(limit)}",
                    ours <= limit,
                )
            )
    return lines


def latency(call: Callable[[], object]) -> float:
    """Median time of a call, in seconds, among many."""
    times = []
    until = time.perf_counter() + 1
    while len(times) < 200 or time.perf_counter() < until:
        start = clock()
        call()
        times.append(clock() - start)
    return float(np.median(times))


def model_size() -> list[Line]:
    """The file of a model that whitens and rotates."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 1280), dtype=np.float32)
    views = {"x": X, "y": X[:, :384] + rng.standard_normal((len(X), 384), dtype=np.float32)}
    hasher = dh.DiffHash(N_BITS, whiten=True, rotate=True)
    ours = measure(lambda: hasher.fit(views, dh.Pairs.aligned(len(X))))
    size = len(hasher.model_.to_bytes()) / 1e6
    floor = (1280 + 384) * N_BITS * 4 / 1e6
    return [
        Line(
            "model file, DiffHash(whiten, rotate), 1,280 + 384 features, 64 bits",
            f"{size:.2f} MB",
            f"projections in float32: {floor:.2f} MB",
            f"{size / floor:.2f} ×",
            "≤ 1 MB",
            size <= 1,
            ours.megabytes,
        )
    ]
