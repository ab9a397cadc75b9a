"""Whether promises and chances hold for unseen objects: ``python -m benchmarks.calibration --data DIR``.

Each split draws half of the training rows; the model learns and is calibrated on them. All other training rows are
queries in one modality and database in the other. A row of the table is the mean over the splits and both directions.
``--cost`` measures the time of ranking by real values instead. The page
docs/measurements/calibration.md shows the tables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import diffhash as dh
from diffhash.errors import CalibrationError
from diffhash.evaluation import distance_table, pair_distance_table
from diffhash.model import CoupleCalibration
from diffhash.search.calibration import calibration_error, chance_at, false_match_limit
from diffhash.types import FloatArray, IntArray

from .accuracy.markdown import table
from .datasets import DATA_VARIABLE, data_folder

N_BITS = 32
LIMITS = (0.1, 1.0, 10.0)


@dataclass(frozen=True)
class Rows:
    """Two views, and labels if similar objects are those of one class; otherwise row r of both is one object."""

    views: dict[str, Any]
    labels: IntArray | None

    def part(self, rows: IntArray) -> Rows:
        """Some of the objects."""
        views = {m: X[rows] for m, X in self.views.items()}
        return Rows(views, None if self.labels is None else self.labels[rows])

    @property
    def pairs(self) -> dh.Pairs:
        """What belongs together."""
        if self.labels is None:
            return dh.Pairs.aligned(len(next(iter(self.views.values()))))
        return dh.Pairs.from_labels(self.labels, self.labels)


def from_file(name: str, views: tuple[str, str], *, by_label: bool) -> Callable[[Path], Rows]:
    """Training rows of a file."""

    def load(folder: Path) -> Rows:
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            arrays = {m: file[f"{m}_train"].astype(np.float32) for m in views}
            return Rows(arrays, file["labels_train"].astype(np.int64) if by_label else None)

    return load


def made_up(n: int) -> Callable[[Path], Rows]:
    """Objects with 16 hidden numbers, seen through two noisy linear maps."""

    def load(_: Path) -> Rows:
        rng = np.random.default_rng(0)
        hidden = rng.normal(size=(n, 16))
        views = {
            m: hidden @ rng.normal(size=(16, d)) + 1.5 * rng.normal(size=(n, d))
            for m, d in (("x", 40), ("y", 30))
        }
        return Rows(views, None)

    return load


def diff_hash(seed: int) -> Any:
    return dh.DiffHash(N_BITS, whiten=True, rotate=True, random_state=seed)


def kernel_hash(seed: int) -> Any:
    return dh.KernelDiffHash(N_BITS, whiten=True, rotate=True, random_state=seed)


def refined_hash(seed: int) -> Any:
    return dh.RefinedHash(N_BITS, random_state=seed)


CASES: list[tuple[str, str, Callable[[Path], Rows], Callable[[int], Any]]] = [
    ("wiki, labels", "RefinedHash", from_file("wiki", ("image", "text"), by_label=True), refined_hash),
    ("scene15, labels", "RefinedHash", from_file("scene15", ("a", "b"), by_label=True), refined_hash),
    (
        "uci_digits, labels",
        "RefinedHash",
        from_file("uci_digits", ("fourier", "pixel"), by_label=True),
        refined_hash,
    ),
    (
        "uci_digits, labels",
        "KernelDiffHash",
        from_file("uci_digits", ("fourier", "pixel"), by_label=True),
        kernel_hash,
    ),
    (
        "uci_digits, pairs",
        "KernelDiffHash",
        from_file("uci_digits", ("karhunen", "pixel"), by_label=False),
        kernel_hash,
    ),
    ("scene15, pairs", "KernelDiffHash", from_file("scene15", ("a", "b"), by_label=False), kernel_hash),
    ("made up, 2,000, pairs", "DiffHash", made_up(2_000), diff_hash),
    ("made up, 10,000, pairs", "DiffHash", made_up(10_000), diff_hash),
]


@dataclass(frozen=True)
class Outcome:
    """One direction of one split: wrong hits per query and share found for each limit, and the other figures."""

    wrong: list[float | None]
    found: list[float | None]
    refused: list[bool]
    error: float
    recalls: tuple[float, float, float]


def unseen(rows: Rows, make: Callable[[int], Any], seed: int) -> Iterator[Outcome]:
    """Fit and calibrate on half of the rows, judge on the others."""
    n = len(next(iter(rows.views.values())))
    order = np.random.default_rng(seed).permutation(n)
    train, test = rows.part(np.sort(order[: n // 2])), rows.part(np.sort(order[n // 2 :]))
    hasher = make(seed).fit(train.views, train.pairs, calibrate=True)
    calibration = hasher.model_.calibration
    for query, into in (tuple(rows.views), tuple(rows.views)[::-1]):
        codes = {m: hasher.encode(X, modality=m) for m, X in test.views.items()}
        values = hasher.project(test.views[query], modality=query)
        yield judge(
            calibration.couple(query, into), codes[query], codes[into], values, hasher, query, test.labels
        )


def judge(
    couple: CoupleCalibration,
    x: Any,
    y: Any,
    values: FloatArray,
    hasher: Any,
    query: str,
    labels: IntArray | None,
) -> Outcome:
    n = len(y)
    own = np.arange(n)
    counts = (
        distance_table(x, y, labels, labels) if labels is not None else pair_distance_table(x, y, (own, own))
    )
    counts = counts[:, : N_BITS + 1]
    wrong: list[float | None] = []
    found: list[float | None] = []
    refused = []
    for limit in LIMITS:
        try:
            radius = false_match_limit(couple, n, limit, caller="benchmark").radius
        except CalibrationError:
            radius = None
        refused.append(radius is None)
        inside = counts[:, : 0 if radius is None else radius + 1].sum(axis=(0, 1))
        wrong.append(None if radius is None else float(inside[0]) / n)
        found.append(None if radius is None else float(inside[1] / counts[:, :, 1].sum()))
    error = calibration_error(counts, chance_at(couple, n))
    scale = 1.0 / hasher.model_.fusion_slopes[query]
    by_values = dh.asymmetric_search(y, values, 10, scale=scale).ids
    by_distance = dh.HammingIndex(y).search(x, 10).ids
    recalls = [recall(ids, labels) for ids in (by_distance, by_values)]
    return Outcome(wrong, found, refused, error, (*recalls, recalls[int(couple.prefers_asymmetric)]))


def recall(ids: IntArray, labels: IntArray | None) -> float:
    """Share of the relevant items, at most ten, among the first ten."""
    if labels is None:
        return float((ids == np.arange(len(ids))[:, None]).any(axis=1).mean())
    right = (labels[ids] == labels[:, None]).sum(axis=1)
    return float(np.mean(right / np.minimum(np.bincount(labels)[labels], 10)))


def figures(folder: Path, n_splits: int, only: str = "") -> str:
    header = ["data", "method", "unseen items"]
    header += [f"wrong hits, at most {limit:g}" for limit in LIMITS]
    header += [
        "promises kept",
        "relevant found at 1",
        "error of chances",
        "R@10 distance",
        "R@10 values",
        "R@10 auto",
    ]
    rows = []
    for name, method, load, make in CASES:
        if only not in f"{name} {method}":
            continue
        data = load(folder)
        results = [each for seed in range(n_splits) for each in unseen(data, make, seed)]
        cells: list[Any] = [
            name,
            method,
            f"{-(-len(next(iter(data.views.values()))) // 2):,}",
        ]
        kept = made = 0
        for at, limit in enumerate(LIMITS):
            known = [each.wrong[at] for each in results if each.wrong[at] is not None]
            kept, made = kept + sum(value <= limit for value in known), made + len(known)
            n_refused = sum(each.refused[at] for each in results)
            cell = f"{np.mean(known):.3f}, largest {max(known):.3f}" if known else "–"
            cells.append(f"{cell}; {n_refused} of {len(results)} refused" if n_refused else cell)
        shares = [each.found[1] for each in results if each.found[1] is not None]
        cells += [f"{kept} of {made}", f"{np.mean(shares):.1%}" if shares else "–"]
        cells.append(f"{np.mean([each.error for each in results]):.3f}")
        cells += [f"{value:.3f}" for value in np.mean([each.recalls for each in results], axis=0)]
        rows.append(cells)
        print("...", cells, flush=True)
    return table(header, rows)


def cost() -> str:
    """Time of one query among random codes, by distance and by values, and how often both ways agree."""
    rng = np.random.default_rng(0)
    rows = []
    for n in (100_000, 1_000_000):
        index = dh.HammingIndex(rng.integers(0, 256, (n, 8), dtype=np.uint8))
        values = rng.normal(size=(20, 64))
        codes = dh.native.pack_signs(values)
        times = []
        for run in (
            lambda q: index.search(codes[q : q + 1], 10),  # noqa: B023 - called in this round
            lambda q: dh.asymmetric_search(index, values[q : q + 1], 10),  # noqa: B023 - as above
            lambda q: dh.asymmetric_search(index, values[q : q + 1], 10, n_candidates=n),  # noqa: B023 - as above
        ):
            run(0)
            taken = []
            for q in range(5 if len(times) == 2 else 20):
                start = time.perf_counter()
                run(q)
                taken.append(time.perf_counter() - start)
            times.append(1000 * float(np.median(taken)))
        near = dh.asymmetric_search(index, values[:5], 10).ids
        exact = dh.asymmetric_search(index, values[:5], 10, n_candidates=n).ids
        share = np.mean([np.isin(a, b).mean() for a, b in zip(near, exact, strict=True)])
        rows.append([f"{n:,}", *(f"{t:.1f} ms" for t in times), f"{times[1] / times[0]:.1f}", f"{share:.0%}"])
    header = [
        "items",
        "by distance",
        "by values, 1,000 nearest",
        "by values, all",
        "ratio",
        "of the exact ten found",
    ]
    return table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=data_folder(), help=f"folder of the .npz files; or {DATA_VARIABLE}"
    )
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--only", default="", help="rows of the table that contain this: wiki, RefinedHash")
    parser.add_argument("--cost", action="store_true", help="measure the time of ranking by values")
    arguments = parser.parse_args()
    if arguments.cost:
        print(cost())
        return
    if arguments.data is None:
        parser.error(f"give --data DIR or set {DATA_VARIABLE}")
    print(figures(arguments.data, arguments.splits, arguments.only))


if __name__ == "__main__":
    main()
