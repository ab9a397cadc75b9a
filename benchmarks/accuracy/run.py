"""Measure every cell (method, width, seed) of a dataset, keeping what was measured before."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from diffhash.errors import RankWarning, TooManyBitsError
from diffhash.types import FloatArray, IntArray

from ..datasets import Dataset, Task
from ..peers import best_setting, try_settings
from .differences import cells_without_queries, paired_differences
from .features import KERNEL, FeatureSets, Representations
from .methods import Method
from .protocols import FUSED_WIDTHS, TRAINING, UNSEEN, fused_databases
from .results import OWN_METHOD, Results, cell_key, queries_key
from .scores import Scores, score, summary
from .summary import summarise

#: Width at which settings are chosen, or the widest below it that a method can give.
TUNING_WIDTHS = (32, 16, 8)
#: Rows used for tuning in all: a fifth of them to validate.
TUNING_ROWS = 2500
#: References without hashing sort real distances, which takes long: so many queries will do.
REAL_QUERIES = 1000


def measure(
    dataset: Dataset,
    folder: Path | None,
    methods: list[Method],
    seeds: int,
    path: Path,
    widths: tuple[int, ...] = (),
    *,
    again: bool = False,
    intervals: bool = False,
) -> Results:
    """All cells of a dataset, seed by seed, then the differences between RefinedHash and the best peers.

    With ``intervals``, cells that were measured elsewhere are measured again if their paired interval needs the
    figures of every query, which are not part of the repository.
    """
    results = Results(path, dataset)
    # Made data are not read from any folder.
    source = folder or Path()
    first: FeatureSets | None = None
    for method in methods:
        results.forget(method, widths, seeds) if again else results.drop_stale(method)
    needed = cells_without_queries(summarise(dataset, results.data), results.queries) if intervals else set()
    known = results.data["cells"].keys() - needed
    for seed in range(seeds):
        wanted = {
            method.name: [
                width
                for width in method.runs(dataset, seed)
                if (not widths or width in widths or not method.binary)
                and cell_key(method.name, width, seed) not in known
            ]
            for method in methods
        }
        if not any(wanted.values()):
            continue
        task = dataset.load(seed, source)
        results.data["sizes"] = sizes(task)
        features = FeatureSets(task, seed, partial(chosen_representations, results, dataset, source))
        if first is None:
            first = features if seed == 0 else FeatureSets(dataset.load(0, source), 0, features.choose)
        for method in methods:
            for width in wanted.get(method.name, []):
                tuned = partial(tuned_setting, results, method, first)
                cell, queries = measure_cell(features, dataset, method, width, seed, tuned)
                results.data["cells"][cell_key(method.name, width, seed)] = cell
                results.queries |= {
                    queries_key(method.name, width, seed, protocol): values.astype(np.float32)
                    for protocol, values in queries.items()
                    if method.name == OWN_METHOD or (method.family != "ours" and method.binary)
                }
            if wanted.get(method.name):
                results.save()
    results.data["differences"] |= paired_differences(summarise(dataset, results.data), results.queries)
    results.save()
    return results


def chosen_representations(results: Results, dataset: Dataset, folder: Path) -> Representations:
    """The representations of the dataset. Like every setting, they are chosen on the first seed's training rows."""
    if not results.data["representations"]:
        results.data["representations"] = Representations.choose(dataset.load(0, folder)).kept
    return Representations(results.data["representations"])


def sizes(task: Task) -> dict[str, Any]:
    features = {m: int(X.shape[1]) for m, X in task.train.items()}
    return {"train": task.n_train, "test": task.n_test, "features": features}


def measure_cell(
    features: FeatureSets,
    dataset: Dataset,
    method: Method,
    width: int,
    seed: int,
    tuned: Callable[[], dict[str, Any]],
) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """One method with one width and one seed, fitted with its setting, timed and scored.

    Returns the cell, and the figure of every query by protocol.
    """
    cell: dict[str, Any] = {"method": method.name, "width": width, "seed": seed}
    started = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RankWarning)
        try:
            peer, task, seconds, extra = fit(features, method, width, seed, tuned())
        except TooManyBitsError as error:
            tell(dataset, method, width, seed, "more bits than it can give")
            return cell | {"dash": str(error)}, {}
    if any(issubclass(w.category, RankWarning) for w in caught):
        cell["beyond_rank"] = True
    n_values = width or peer.project(next(iter(task.test.values()))[:1], next(iter(task.test))).shape[1]
    cell["bytes"] = width // 8 if method.binary else 4 * int(n_values)
    cell["train_seconds"] = round(seconds + extra[0], 5)
    figures, queries = score_cell(peer, method, task, extra[1], with_training=seed == 0)
    figure = figures[UNSEEN]["both"]
    tell(
        dataset,
        method,
        width,
        seed,
        f"mAP {figure['map']['mean']:.3f}, recall {figure['recall']['mean']:.3f}, {time.monotonic() - started:.1f} s",
    )
    return cell | figures, queries


def fit(
    features: FeatureSets, method: Method, width: int, seed: int, setting: dict[str, Any]
) -> tuple[Any, Task, float, tuple[float, float]]:
    """A fitted peer, the task as it sees it, its CPU time, and that of the maps in front of it."""
    if not method.on_features:
        peer = method.factory(n_bits=width, random_state=seed, **setting)
        _, seconds = clock(lambda: peer.fit(features.raw.train, features.raw.train_labels))
        return peer, features.raw, seconds, (0.0, 0.0)
    own = {key: value for key, value in setting.items() if key != "features"}
    names = [setting.get("features", features.names[0])]
    if KERNEL in features.names and KERNEL not in names:
        names.append(KERNEL)  # if the linear features have fewer directions than there are bits
    for place, name in enumerate(names):
        peer, task = method.factory(n_bits=width, random_state=seed, **own), features[name]
        try:
            _, seconds = clock(lambda peer=peer, task=task: peer.fit(task.train, task.train_labels))
            return peer, task, seconds, features.seconds[name]
        except TooManyBitsError:
            if place == len(names) - 1:
                raise
    raise AssertionError  # the loop returns or raises


def tuned_setting(results: Results, method: Method, features: FeatureSets) -> dict[str, Any]:
    """The setting that is best on a validation part of the training rows, found once."""
    tuning = results.data["tuning"]
    names = features.names if method.on_features else [""]
    if not method.factory.grid and len(names) == 1:
        return {}
    if method.name not in tuning:
        width, trials = try_all(method, features, names)
        tuning[method.name] = {
            "grid": method.factory.grid,
            "width": width,
            "trials": [[setting, round(figure, 5)] for setting, figure in trials],
            "setting": best_setting(trials),
        }
    return dict(tuning[method.name]["setting"])


def try_all(
    method: Method, features: FeatureSets, names: list[str]
) -> tuple[int, list[tuple[dict[str, Any], float]]]:
    """Every setting on every set of features, at the widest width that one of the sets can give."""
    for width in TUNING_WIDTHS if method.binary else (max(method.widths[0], 32),):
        trials, refused = [], None
        for name in names:
            task = features[name] if name else features.raw
            try:
                found = try_settings(
                    method.factory,
                    task.train,
                    task.train_labels,
                    n_bits=width,
                    score=validation_score(
                        labelled=task.train_labels is not None, inner=is_inner(method.factory)
                    ),
                    max_rows=TUNING_ROWS,
                )
            except TooManyBitsError as error:
                refused = error
                continue
            trials += [({**s, "features": name} if name else s, value) for s, value in found]
        if trials:
            return width, trials
    assert refused is not None
    raise refused


def is_inner(peer: Any) -> bool:
    """Whether real vectors are compared by inner product, not by their cosine."""
    return bool(getattr(peer, "inner", False))


def validation_score(*, labelled: bool, inner: bool = False) -> Any:
    """Mean average precision with labels, recall among the first ten without."""

    def figure(queries: Any, database: Any, query_labels: IntArray, database_labels: IntArray) -> float:
        scores = score(queries, database, query_labels, database_labels, inner=inner)
        return float(np.nanmean(scores.precision if labelled else scores.recall))

    return figure


def score_cell(
    peer: Any, method: Method, task: Task, map_seconds: float, *, with_training: bool
) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Figures of both databases and of every query, and the time to encode an item."""
    represent = peer.encode if method.binary else peer.project
    test, seconds = clock(lambda: {m: represent(X, m) for m, X in task.test.items()})
    rows = np.arange(task.n_test)
    labels = rows if task.test_labels is None else task.test_labels
    n_queries = task.n_test if method.binary else min(task.n_test, REAL_QUERIES)
    databases: dict[str, tuple[dict[str, Any], IntArray]] = {UNSEEN: (test, labels)}
    if with_training:
        train = {m: represent(X, m) for m, X in task.train.items()}
        if task.train_labels is None:
            # Without labels a training item is relevant to no query: all items are the database.
            train = {m: np.concatenate([test[m], train[m]]) for m in train}
            databases[TRAINING] = train, np.arange(task.n_test + task.n_train)
        else:
            databases[TRAINING] = train, task.train_labels
    fused = with_training and task.train_labels is not None
    if fused and method.family == "ours" and peer.n_bits in FUSED_WIDTHS:
        for protocol, codes in fused_databases(peer.hasher, task.train, task.train_labels).items():
            databases[protocol] = dict.fromkeys(test, codes), task.train_labels
    cell: dict[str, Any] = {
        "encode_microseconds": round(1e6 * (seconds + map_seconds) / (2 * task.n_test), 3)
    }
    queries = {}
    for protocol, (database, others) in databases.items():
        found = score_both(test, database, labels, others, n_queries, inner=is_inner(peer))
        cell[protocol], both = figures_by_way(found)
        queries[protocol] = both.precision if task.test_labels is not None else both.recall
    return cell, queries


def score_both(
    queries: dict[str, Any],
    database: dict[str, Any],
    labels: IntArray,
    others: IntArray,
    n: int,
    *,
    inner: bool,
) -> dict[str, Scores]:
    """Scores of each direction."""
    return {
        f"{a} → {b}": score(queries[a][:n], database[b], labels[:n], others, inner=inner)
        for a, b in permutations(queries, 2)
    }


def figures_by_way(found: dict[str, Scores]) -> tuple[dict[str, Any], Scores]:
    """Figures of each direction, and of both together (the same objects are drawn in both)."""
    there, back = found.values()
    both = Scores(
        (there.precision + back.precision) / 2,
        (there.recall + back.recall) / 2,
        (there.equal_error_rate + back.equal_error_rate) / 2,
    )
    figures = {way: figures_of(scores) for way, scores in found.items()}
    return figures | {"both": figures_of(both)}, both


def figures_of(scores: Scores) -> dict[str, Any]:
    return {
        "map": summary(scores.precision),
        "recall": summary(scores.recall),
        "eer": round(scores.equal_error_rate, 5),
    }


def clock(call: Any) -> tuple[Any, float]:
    """Result and CPU seconds of this process, which other work on the machine hardly changes."""
    started = time.process_time()
    result = call()
    return result, round(time.process_time() - started, 5)


def tell(dataset: Dataset, method: Method, width: int, seed: int, words: str) -> None:
    print(f"{dataset.key:>12} | {method.name} | {width} | seed {seed} | {words}", file=sys.stderr, flush=True)
