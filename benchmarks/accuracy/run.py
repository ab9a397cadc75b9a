"""Measure every cell (method, width, seed) of a dataset, keeping what was measured before."""

from __future__ import annotations

import json
import sys
import time
import warnings
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from diffhash.errors import RankWarning, TooManyBitsError
from diffhash.types import IntArray

from ..datasets import Dataset, Task
from ..peers import best_setting, try_settings
from .machine import machine
from .methods import Method
from .scores import Scores, score, summary

#: Width at which settings are chosen, or the widest below it that a method can give.
TUNING_WIDTHS = (32, 16)
#: Rows used for tuning in all: a fifth of them to validate.
TUNING_ROWS = 2500
#: References without hashing sort real distances, which takes long: so many queries will do.
REAL_QUERIES = 1000
UNSEEN, TRAINING = "unseen", "training"


class Results:
    """One JSON file per dataset. A method whose grid has changed is measured again."""

    def __init__(self, path: Path, dataset: Dataset) -> None:
        self.path = path
        self.data: dict[str, Any] = {"dataset": dataset.key, "tuning": {}, "cells": {}}
        if path.is_file():
            self.data |= json.loads(path.read_text(encoding="utf-8"))

    def drop_stale(self, method: Method) -> None:
        tuned = self.data["tuning"].get(method.name)
        if tuned is not None and tuned["grid"] != json.loads(json.dumps(method.factory.grid)):
            del self.data["tuning"][method.name]
            kept = {k: c for k, c in self.data["cells"].items() if c["method"] != method.name}
            self.data["cells"] = kept

    def save(self) -> None:
        self.data["machine"] = machine()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".part")
        draft.write_text(one_per_line(self.data), encoding="utf-8")
        draft.replace(self.path)


def one_per_line(data: dict[str, Any]) -> str:
    """JSON with a line for every cell: small, and readable as a difference."""
    parts = []
    for key, value in sorted(data.items()):
        if isinstance(value, dict):
            lines = (f"  {json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in sorted(value.items()))
            parts.append(f" {json.dumps(key)}: {{\n" + ",\n".join(lines) + "\n }")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def measure(
    dataset: Dataset,
    folder: Path,
    methods: list[Method],
    seeds: int,
    path: Path,
    widths: tuple[int, ...] = (),
) -> Results:
    """All cells of a dataset, seed by seed."""
    results = Results(path, dataset)
    for seed in range(seeds):
        task = dataset.load(seed, folder)
        results.data["sizes"] = sizes(task)
        for method in methods:
            results.drop_stale(method)
            if method.missing(dataset) or (seed and not (dataset.redrawn or method.seeded)):
                continue
            for width in widths or method.widths:
                key = f"{method.name} | {width} | {seed}"
                if key not in results.data["cells"]:
                    results.data["cells"][key] = measure_cell(
                        results, dataset, folder, task, method, width, seed
                    )
                    results.save()
    return results


def sizes(task: Task) -> dict[str, Any]:
    features = {m: int(X.shape[1]) for m, X in task.train.items()}
    return {"train": task.n_train, "test": task.n_test, "features": features}


def measure_cell(
    results: Results, dataset: Dataset, folder: Path, task: Task, method: Method, width: int, seed: int
) -> dict[str, Any]:
    """One method with one width and one seed: fitted with its tuned setting, timed and scored."""
    cell: dict[str, Any] = {"method": method.name, "width": width, "seed": seed}
    started = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RankWarning)
        try:
            # Settings come from the first seed's training rows, whatever the seed.
            first = task if seed == 0 or not dataset.redrawn else None
            setting = tuned_setting(results, method, first or dataset.load(0, folder))
            peer = method.factory(n_bits=width, random_state=seed, **setting)
            cell["train_seconds"] = clock(lambda: peer.fit(task.train, task.train_labels))[1]
        except TooManyBitsError as error:
            tell(dataset, method, width, seed, "more bits than it can give")
            return cell | {"dash": str(error)}
    if any(issubclass(w.category, RankWarning) for w in caught):
        cell["beyond_rank"] = True
    cell["bytes"] = width // 8 if method.binary else 4 * width
    cell |= score_cell(peer, method, task, with_training=seed == 0)
    figure = cell[UNSEEN]["both"]
    tell(dataset, method, width, seed, f"mAP {figure['map']['mean']:.3f}, {time.monotonic() - started:.1f} s")
    return cell


def tuned_setting(results: Results, method: Method, task: Task) -> dict[str, Any]:
    """The setting that is best on a validation part of the training rows, found once."""
    tuning = results.data["tuning"]
    if not method.factory.grid:
        return {}
    if method.name not in tuning:
        for width in TUNING_WIDTHS:
            try:
                trials = try_settings(
                    method.factory,
                    task.train,
                    task.train_labels,
                    n_bits=width,
                    score=validation_score(labelled=task.train_labels is not None),
                    max_rows=TUNING_ROWS,
                )
                break
            except TooManyBitsError:
                if width == TUNING_WIDTHS[-1]:
                    raise
        tuning[method.name] = {
            "grid": method.factory.grid,
            "width": width,
            "trials": [[setting, round(figure, 5)] for setting, figure in trials],
            "setting": best_setting(trials),
        }
    return tuning[method.name]["setting"]


def validation_score(*, labelled: bool) -> Any:
    """Mean average precision with labels, recall among the first ten without."""

    def figure(queries: Any, database: Any, query_labels: IntArray, database_labels: IntArray) -> float:
        scores = score(queries, database, query_labels, database_labels)
        return float(np.nanmean(scores.precision if labelled else scores.recall))

    return figure


def score_cell(peer: Any, method: Method, task: Task, *, with_training: bool) -> dict[str, Any]:
    """Figures of both protocols, and the time to encode a thousand items of both views."""
    represent = peer.encode if method.binary else peer.project
    test, seconds = clock(lambda: {m: represent(X, m) for m, X in task.test.items()})
    rows = np.arange(task.n_test)
    labels = rows if task.test_labels is None else task.test_labels
    n_queries = task.n_test if method.binary else min(task.n_test, REAL_QUERIES)
    cell = {
        "encode_microseconds": round(1e6 * seconds / (2 * task.n_test), 3),
        UNSEEN: score_protocol(test, test, labels, labels, n_queries),
    }
    if with_training:
        train = {m: represent(X, m) for m, X in task.train.items()}
        if task.train_labels is None:
            # Without labels a training item is relevant to no query: all items are the database.
            train = {m: np.concatenate([test[m], train[m]]) for m in train}
            train_labels = np.arange(task.n_test + task.n_train)
        else:
            train_labels = task.train_labels
        cell[TRAINING] = score_protocol(test, train, labels, train_labels, n_queries)
    return cell


def score_protocol(
    queries: dict[str, Any], database: dict[str, Any], labels: IntArray, others: IntArray, n: int
) -> dict[str, Any]:
    """Figures of each direction, and of both together (the same objects are drawn in both)."""
    found: dict[str, Scores] = {
        f"{a} → {b}": score(queries[a][:n], database[b], labels[:n], others)
        for a, b in permutations(queries, 2)
    }
    figures = {way: figures_of(s.precision, s.recall, s.equal_error_rate) for way, s in found.items()}
    there, back = found.values()
    figures["both"] = figures_of(
        (there.precision + back.precision) / 2,
        (there.recall + back.recall) / 2,
        (there.equal_error_rate + back.equal_error_rate) / 2,
    )
    return figures


def figures_of(precision: Any, recall: Any, equal_error: float) -> dict[str, Any]:
    return {"map": summary(precision), "recall": summary(recall), "eer": round(equal_error, 5)}


def clock(call: Any) -> tuple[Any, float]:
    """Result and CPU seconds of this process, which other work on the machine hardly changes."""
    started = time.process_time()
    result = call()
    return result, round(time.process_time() - started, 5)


def tell(dataset: Dataset, method: Method, width: int, seed: int, words: str) -> None:
    print(f"{dataset.key:>12} | {method.name} | {width} | seed {seed} | {words}", file=sys.stderr, flush=True)
