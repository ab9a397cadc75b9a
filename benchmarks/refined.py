"""RefinedHash as it comes, over several seeds: ``python -m benchmarks.refined``.

Mean average precision on unseen items, and with the training items as database; the paper's data from sampled pairs and
from labels; recall among the first ten on the symbols. Nothing is chosen by hand or on test items.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

import diffhash as dh

from .accuracy.machine import machine
from .datasets import DATASETS, DEFAULT_FOLDER, ROOT

RESULTS = ROOT / "benchmarks" / "results" / "refined.json"


def fit(views, pairs, n_bits, seed):
    started = time.perf_counter()
    hasher = dh.RefinedHash(n_bits, random_state=seed).fit(views, pairs)
    return hasher, round(time.perf_counter() - started, 2)


def codes(hasher, views):
    return [hasher.encode(X, modality=m) for m, X in views.items()]


def both_ways(queries, database, labels, others, figure):
    (a, b), (c, d) = queries, database
    return [round(figure(dh.evaluate(p, q, labels, others)), 4) for p, q in ((a, d), (b, c))]


def precision(result):
    return result.mean_average_precision


def labelled(key, n_bits, seed, folder):
    task = DATASETS[key].load(0, folder)
    labels = task.train_labels
    hasher, seconds = fit(task.train, dh.Pairs.from_labels(labels, labels), n_bits, seed)
    unseen, training = codes(hasher, task.test), codes(hasher, task.train)
    return {
        "unseen": both_ways(unseen, unseen, task.test_labels, task.test_labels, precision),
        "training": both_ways(unseen, training, task.test_labels, labels, precision),
        "seconds": seconds,
    }


def paper(n_classes, source, seed):
    data = dh.datasets.make_paper_data(n_classes=n_classes, random_state=seed)
    x, y = data.train.labels.values()
    sizes = (10_000, 100_000) if source == "pairs" else (None, None)
    pairs = dh.Pairs.from_labels(x, y, *sizes, random_state=seed)
    hasher, seconds = fit(data.train.views, pairs, n_classes, seed)
    unseen, labels = codes(hasher, data.test.views), data.test.labels["x"]
    return {"unseen": both_ways(unseen, unseen, labels, labels, precision), "seconds": seconds}


def symbols(n_bits, seed, folder):
    task = DATASETS["symbols"].load(0, folder)
    hasher, seconds = fit(task.train, dh.Pairs.aligned(task.n_train), n_bits, seed)
    unseen, rows = codes(hasher, task.test), np.arange(task.n_test)
    return {
        "unseen": both_ways(unseen, unseen, rows, rows, lambda r: r.recall_at(10)),
        "seconds": seconds,
    }


def jobs(seeds, folder):
    for key in ("wiki", "uci-digits"):
        if DATASETS[key].available(folder):
            for n_bits in (32, 64):
                yield f"{key}, {n_bits} bits", lambda s, k=key, n=n_bits: labelled(k, n, s, folder), seeds
    for n_classes in (25, 50, 100):
        for source in ("pairs", "labels"):
            name = f"paper's data, K = {n_classes}, {n_classes} bits, from {source}"
            yield name, lambda s, k=n_classes, f=source: paper(k, f, s), min(seeds, 3)
    yield "symbols, 128 bits, recall at 10", lambda s: symbols(128, s, folder), min(seeds, 3)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--seeds", type=int, default=5, help="at most 3 of them on made and larger data")
    options = parser.parse_args(arguments)
    found = {}
    print("| data | seeds | unseen database | training items as database | seconds |\n|---|---|---|---|---|")
    for name, measure, seeds in jobs(options.seeds, options.data):
        runs = []
        for seed in range(seeds):
            runs.append(measure(seed))
            print(name, seed, runs[-1], file=sys.stderr, flush=True)
        found[name] = runs
        cells = []
        for protocol in ("unseen", "training"):
            values = np.array([run[protocol] for run in runs if protocol in run])
            there = (
                [f"{m:.3f} ± {s:.3f}" for m, s in zip(values.mean(0), values.std(0), strict=True)]
                if len(values)
                else []
            )
            cells.append(" / ".join(there))
        print(
            f"| {name} | {seeds} | {cells[0]} | {cells[1]} | {np.mean([r['seconds'] for r in runs]):.1f} |",
            flush=True,
        )
        RESULTS.write_text(
            json.dumps({"machine": machine(), "runs": found}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
