"""Fused codes, labels as a modality, and modalities that join later: ``python -m benchmarks.fusion --data DIR``.

Prints Markdown. Figures are of unseen objects: tie-aware mean average precision by label with the query's own
object left out of the database, or recall@10: how often the objects with the query's caption are among the first ten.
The page docs/measurements/modalities.md shows the tables.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

import diffhash as dh
from diffhash.types import IntArray

from .accuracy.markdown import table
from .accuracy.protocols import FUSED, LABELLED, fused_databases
from .datasets import DATA_VARIABLE, data_folder

Make = Callable[[int], Any]
N_BITS = 32


def diff_hash(seed: int, n_bits: int = N_BITS) -> dh.DiffHash:
    return dh.DiffHash(n_bits, whiten=True, rotate=True, random_state=seed)


def kernel_diff_hash(seed: int, n_bits: int = N_BITS) -> dh.KernelDiffHash:
    return dh.KernelDiffHash(n_bits, whiten=True, rotate=True, random_state=seed)


def refined_hash(seed: int) -> dh.RefinedHash:
    return dh.RefinedHash(N_BITS, random_state=seed)


METHODS: dict[str, Make] = {
    "RefinedHash": refined_hash,
    "DiffHash, rotated": diff_hash,
    "KernelDiffHash, rotated": kernel_diff_hash,
}
VIEWS = {
    "wiki": ("image", "text"),
    "scene15": ("a", "b"),
    "uci_digits": ("fourier", "karhunen", "pixel"),
}


def read(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, Any], IntArray, IntArray]:
    """Training and test views and labels of a file with its own split."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        train, test = (
            {m: file[f"{m}_{part}"].astype(np.float32) for m in VIEWS[name]} for part in ("train", "test")
        )
        return train, test, file["labels_train"].astype(np.int64), file["labels_test"].astype(np.int64)


def precision(queries: Any, database: Any, labels: IntArray, others: IntArray, own: Any = None) -> float:
    return dh.evaluate(queries, database, labels, others, own=own).mean_average_precision


def fused_table(folder: Path) -> str:
    """Rows: a method on a dataset. Columns: the database; figures by modality of the query, and their mean."""
    rows = []
    for name, modalities in VIEWS.items():
        train, test, labels, test_labels = read(folder, name)
        own = np.arange(len(test_labels))
        for method, make in METHODS.items():
            pairs = dh.Pairs.from_labels(dict.fromkeys(modalities, labels))
            hasher = make(0).fit(train, pairs, calibrate=True)
            codes = {m: hasher.encode(X, modality=m) for m, X in test.items()}
            databases = codes | {"fused": hasher.encode_fused(test).codes}
            figures = {
                d: [precision(codes[q], items, test_labels, test_labels, own) for q in modalities]
                for d, items in databases.items()
            }
            best = max(modalities, key=lambda d: float(np.mean(figures[d])))
            rows.append([name, method, *(f"{d}: {_mean_and_parts(figures[d])}" for d in (best, "fused"))])
    header = ["", "method", "best single database: mean (by query)", "fused database: mean (by query)"]
    return table(header, rows)


def _mean_and_parts(figures: list[float]) -> str:
    return f"{np.mean(figures):.3f} ({' / '.join(f'{each:.3f}' for each in figures)})"


def protocols_table(folder: Path, seeds: int) -> str:
    """Protocols B and A on wiki: test queries, training items as database."""
    train, test, labels, test_labels = read(folder, "wiki")
    rows = []
    for method, make in METHODS.items():
        found: dict[str, list[list[float]]] = {FUSED: [], LABELLED: []}
        for seed in range(seeds):
            hasher = make(seed).fit(train, dh.Pairs.from_labels(labels, labels))
            codes = {m: hasher.encode(X, modality=m) for m, X in test.items()}
            for protocol, items in fused_databases(hasher, train, labels).items():
                found[protocol].append(
                    [precision(codes[q], items, test_labels, labels) for q in VIEWS["wiki"]]
                )
        means = {
            p: " / ".join(f"{each:.3f}" for each in np.mean(values, axis=0)) for p, values in found.items()
        }
        rows.append([method, means[FUSED], means[LABELLED]])
    return table(["wiki, image → / text →", "B: fused", "A: fused with labels"], rows)


def digits_table(folder: Path) -> str:
    """The third view of the digits joins a model of the other two, beside a model of all three."""
    train, test, labels, test_labels = read(folder, "uci_digits")
    *old, new = VIEWS["uci_digits"]
    rows = []
    for method, make in list(METHODS.items())[1:]:
        for kind in ("labels", "pairs"):
            full, extended = (
                _joined(make(0), train, list(old), new, labels if kind == "labels" else None, refit=refit)
                for refit in (True, False)
            )
            figures = []
            for hasher in (full, extended):
                codes = {m: hasher.encode(X, modality=m) for m, X in test.items()}
                rows_of = np.arange(len(test_labels))
                ways = [way for m in old for way in ((m, new), (new, m))]
                figures.append(
                    np.mean([precision(codes[a], codes[b], test_labels, test_labels) for a, b in ways])
                    if kind == "labels"
                    else np.mean([_recall(codes[a], codes[b], rows_of, rows_of) for a, b in ways])
                )
            rows.append(
                [f"{method}, {kind}", "mAP" if kind == "labels" else "recall@10", *_compared(*figures)]
            )
    return table(["uci_digits, add pixel", "figure", "refitted", "extended", "ratio"], rows)


def _joined(
    hasher: Any, views: dict[str, Any], old: list[str], new: str, labels: IntArray | None, *, refit: bool
) -> Any:
    n = len(views[new])

    def pairs(names: list[str]) -> dh.Pairs:
        return dh.Pairs.aligned(n) if labels is None else dh.Pairs.from_labels(dict.fromkeys(names, labels))

    if refit:
        return hasher.fit(views, pairs([*old, new]))
    return hasher.fit({m: views[m] for m in old}, pairs(old)).extend(views, pairs([*old, new]), modality=new)


def _recall(queries: Any, database: Any, ids: IntArray, others: IntArray) -> float:
    """Mean share of the items with the id of the query that are among the first ten."""
    return dh.evaluate(queries, database, ids, others).recall_at(10)


def _compared(full: float, extended: float) -> list[str]:
    return [f"{full:.3f}", f"{extended:.3f}", f"{extended / full:.3f}"]


def stamps_table(folder: Path) -> str:
    """Spanish and French speech join a model of pictures and three languages, beside a model of all six."""
    with np.load(folder / "stamps.npz", allow_pickle=False) as file:
        captions, test = file["caption"], file["test"]
        old, new = ["image", "text_en", "text_es", "text_fr"], ["speech_es", "speech_fr"]
        objects = {m: file[f"{m}_rows"] if m in new else np.arange(len(captions)) for m in old + new}
        views = {m: file[m].astype(np.float32) for m in old + new}
    train = {m: ~test[rows] for m, rows in objects.items()}
    parts = [
        {m: (views[m][train[m] == is_train], captions[objects[m][train[m] == is_train]]) for m in views}
        for is_train in (True, False)
    ]
    learn, unseen = ({m: each[0] for m, each in part.items()} for part in parts)
    ids, unseen_ids = ({m: each[1] for m, each in part.items()} for part in parts)
    rows = []
    for method, make in (("DiffHash, rotated", diff_hash), ("KernelDiffHash, rotated", kernel_diff_hash)):
        full = make(0, 64).fit(learn, dh.Pairs.from_ids(ids))
        extended = make(0, 64).fit({m: learn[m] for m in old}, dh.Pairs.from_ids({m: ids[m] for m in old}))
        for m in new:
            names = [*old, m]
            extended = extended.extend(
                {k: learn[k] for k in names}, dh.Pairs.from_ids({k: ids[k] for k in names}), modality=m
            )
        figures = []
        for hasher in (full, extended):
            codes = {m: hasher.encode(X, modality=m) for m, X in unseen.items()}
            ways = [(a, b) for a, b in permutations(codes, 2) if a in new or b in new]
            figures.append(
                np.mean([_recall(codes[a], codes[b], unseen_ids[a], unseen_ids[b]) for a, b in ways])
            )
        rows.append([method, *_compared(*figures)])
    return table(["stamps, add speech, 64 bits: recall@10", "refitted", "extended", "ratio"], rows)


TABLES: dict[str, Callable[[Path, int], str]] = {
    "fused": lambda folder, _: fused_table(folder),
    "protocols": lambda folder, seeds: protocols_table(folder, seeds),
    "digits": lambda folder, _: digits_table(folder),
    "stamps": lambda folder, _: stamps_table(folder),
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Fused codes and extended models, measured on unseen objects."
    )
    parser.add_argument(
        "--data", type=Path, default=data_folder(), help=f"folder of the files, or ${DATA_VARIABLE}"
    )
    parser.add_argument("--seeds", type=int, default=5, help="seeds of protocols A and B")
    parser.add_argument("--only", choices=tuple(TABLES), help="print one of the tables")
    chosen = parser.parse_args(arguments)
    if chosen.data is None:
        parser.error(f"give the folder of the data files: --data DIR, or ${DATA_VARIABLE}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dh.errors.DiffhashWarning)
        for name, make in TABLES.items():
            if chosen.only in (None, name):
                print(make(chosen.data, chosen.seeds), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
