"""Rows of the table about learning: a million rows, the paper's job, wide views, many classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse

import diffhash as dh
from benchmarks.figures import paper_job
from benchmarks.training import floor_kernel, floor_linear

from .measuring import Line, line_of_time, measure, take_turns

N_BITS = 64
#: Rows of a block of the floors: 16 MB of 1,000 features.
_BLOCK = 4096


def hashers() -> Mapping[str, dh.BaseHasher]:
    """Every hasher, and the forms of DiffHash that take other ways through the code."""
    return {
        "DiffHash": dh.DiffHash(N_BITS),
        "DiffHash(whiten, rotate)": dh.DiffHash(N_BITS, whiten=True, rotate=True),
        "KernelDiffHash": dh.KernelDiffHash(N_BITS),
        "BoostedHash": dh.BoostedHash(N_BITS),
        "RefinedHash": dh.RefinedHash(N_BITS),
    }


def views_of(n: int) -> dict[str, Any]:
    """Two views of 128 and 64 features, float32; the second one is a noisy copy of half of the first."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 128), dtype=np.float32)
    return {"x": x, "y": x[:, :64] + rng.standard_normal((n, 64), dtype=np.float32)}


def sixteen_classes(views: Mapping[str, Any]) -> dh.Pairs:
    """Labels from the signs of the first features."""
    labels = (views["x"][:, :4] > 0) @ np.array([1, 2, 4, 8])
    return dh.Pairs.from_labels(labels, labels)


def refined_million() -> list[Line]:
    """RefinedHash with labels."""
    views = views_of(10**6)
    x, y = views["x"], views["y"]
    pairs = sixteen_classes(views)
    floor = measure(lambda: (x.T @ x, y.T @ y, x @ x[:N_BITS].T, y @ y[:N_BITS].T), 2)
    ours = measure(lambda: dh.RefinedHash(N_BITS).fit(views, pairs))
    return [
        line_of_time(
            "RefinedHash, 10⁶ rows, 16 classes, 128 + 64 features",
            ours,
            limit=40,
            megabytes=1536,
            floor=("covariances and projections", floor.seconds),
        )
    ]


def diff_million() -> list[Line]:
    """DiffHash with aligned rows, and ten times fewer of them: the time must grow linearly."""
    lines, per_row = [], 0.0
    for n, name in ((10**5, "10⁵"), (10**6, "10⁶")):
        views = views_of(n)
        x, y = views["x"], views["y"]
        floor = measure(lambda x=x, y=y: (x.T @ y, x @ x[:N_BITS].T, y @ y[:N_BITS].T), 3)
        ours = measure(lambda views=views, n=n: dh.DiffHash(50).fit(views, dh.Pairs.aligned(n)), 3)
        growth = ours.seconds / n / per_row if per_row else 0.0
        more = f", {growth:.2f} × the time a row of 10⁵" if per_row else ""
        lines.append(
            line_of_time(
                f"DiffHash, {name} aligned rows, 50 bits{more}",
                ours,
                limit=4 if n == 10**6 else None,
                floor=("product and projections", floor.seconds),
            )
        )
        per_row = ours.seconds / n
    return lines


def kernel_million() -> list[Line]:
    """KernelDiffHash with aligned rows and 1,000 landmarks, whose features (8 GB) are computed twice."""
    views = views_of(10**6)
    x, y = views["x"], views["y"]
    # Small exponents, as those of a kernel are.
    landmarks = [view[:1000].T * np.float32(1e-3) for view in (x, y)]

    def features(rows: slice) -> tuple[Any, Any]:
        found = []
        for view, points in zip((x, y), landmarks, strict=True):
            values = view[rows] @ points
            found.append(np.exp(values, out=values))
        return found[0], found[1]

    def bare() -> object:
        table = np.zeros((1000, 1000), dtype=np.float32)
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(x), _BLOCK)]
        for rows in blocks:
            kx, ky = features(rows)
            table += kx.T @ ky
        for rows in blocks:
            kx, ky = features(rows)
            projected = kx @ table[:, :50], ky @ table[:, :50]
        return projected

    floor = measure(bare)
    ours = measure(lambda: dh.KernelDiffHash(50).fit(views, dh.Pairs.aligned(len(x))))
    return [
        line_of_time(
            "KernelDiffHash, 10⁶ aligned rows, 1,000 landmarks, 50 bits",
            ours,
            floor=("products and exponentials", floor.seconds),
            ratio=1.3,
        )
    ]


def paper_diff() -> list[Line]:
    """DiffHash on the paper's job."""
    return [_paper(dh.DiffHash(50), floor_linear, 3.0, 15)]


def paper_kernel() -> list[Line]:
    """KernelDiffHash on the paper's job."""
    return [_paper(dh.KernelDiffHash(50), floor_kernel, 1.2, 5)]


def _paper(hasher: dh.BaseHasher, floor: Callable[..., Any], ratio: float, repeats: int) -> Line:
    data, pairs = paper_job(50, 0)
    calls = {"ours": lambda: hasher.fit(data.train.views, pairs), "floor": floor(data, pairs)}
    found = take_turns(calls, repeats)
    return line_of_time(
        f"{type(hasher).__name__}, the paper's job (10⁴ + 10⁵ pairs, 50 bits)",
        found["ours"],
        floor=("products and decomposition", found["floor"].seconds),
        ratio=ratio,
    )


def wide_sparse(name: str) -> list[Line]:
    """Two views of 10⁵ sparse features, as words of texts in two languages."""
    return [_learned(name, "2 × 10⁵ sparse features, 500 rows", _sparse_views(500), 3)]


def _sparse_views(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    topics = rng.integers(0, 50, n)
    views = {}
    for name in "xy":
        words = np.where(
            rng.random((n, 100)) < 0.5,
            (topics[:, None] * 2000 + rng.zipf(1.3, (n, 100)) % 2000) % 10**5,
            rng.zipf(1.2, (n, 100)) % 10**5,
        )
        counts = (np.ones(words.size, np.float32), (np.repeat(np.arange(n), 100), words.ravel()))
        views[name] = scipy.sparse.csr_array(counts, shape=(n, 10**5))
    return views


def wide_dense(name: str) -> list[Line]:
    """Thousands of dense features with few rows, as embeddings of a small collection."""
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((300, 100))
    views = {
        view: (hidden @ rng.standard_normal((100, d)) + rng.standard_normal((300, d))).astype(np.float32)
        for view, d in (("x", 5000), ("y", 4000))
    }
    return [_learned(name, "5,000 + 4,000 dense features, 300 rows", views, 3)]


def many_classes(name: str) -> list[Line]:
    """As many labels as half of the rows."""
    views = views_of(10**5)
    labels = np.random.default_rng(1).permutation(10**5) // 2
    pairs = dh.Pairs.from_labels(labels, labels)
    return [_learned(name, "50,000 classes, 10⁵ rows", views, 20, pairs)]


def _learned(
    name: str, what: str, views: Mapping[str, Any], limit: float, pairs: dh.Pairs | None = None
) -> Line:
    n = next(iter(views.values())).shape[0]
    hasher = hashers()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dh.errors.DiffhashWarning)
        ours = measure(lambda: hasher.fit(views, dh.Pairs.aligned(n) if pairs is None else pairs))
    return line_of_time(f"{name}, {what}", ours, limit=limit)
