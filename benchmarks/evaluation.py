"""How fast evaluation is: ``python -m benchmarks.evaluation``.

First all metrics of 5,000 × 5,000 codes of 64 bits. Then 10,000 queries against 1,000,000 items: time and
memory, beside ranking every query by ``np.argsort`` of its distances (measured on some queries, since all of them would
take an hour, and scaled up).
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np

import diffhash as dh

from .accuracy.machine import machine

RESULTS = Path(__file__).parent / "results" / "evaluation.json"
N_BYTES, N_CLASSES = 8, 20


def make_codes(n, rng):
    """Random codes, a fifth of the bits those of their class: neither trivial nor hopeless to retrieve."""
    labels = rng.integers(N_CLASSES, size=n)
    centres = np.random.default_rng(0).integers(0, 256, (N_CLASSES, N_BYTES), dtype=np.uint8)
    mask = np.bitwise_and(*rng.integers(0, 256, (2, n, N_BYTES), dtype=np.uint8))
    noise = rng.integers(0, 256, (n, N_BYTES), dtype=np.uint8)
    return (centres[labels] & mask) | (noise & ~mask), labels


def all_metrics(result):
    return {
        "mAP": result.mean_average_precision,
        "mAP@100": result.mean_average_precision_at(100),
        "EER": result.equal_error_rate,
        "precision@10": result.precision_at(10),
        "recall@10": result.recall_at(10),
        "precision within 2": result.precision_within(2),
        "recall within 2": result.recall_within(2),
        "ROC points": len(result.roc[0]),
        "PR points": len(result.precision_recall[0]),
    }


def best_of(call, n):
    times = []
    for _ in range(n):
        started = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - started)
    return min(times), result


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def by_sorting(queries, labels, items, item_labels):
    """Mean average precision as scripts have it: one full sort of the distances per query."""
    precisions = []
    places = np.arange(1, len(items) + 1)
    for code, label in zip(queries, labels, strict=True):
        order = np.argsort(np.bitwise_count(items ^ code).sum(axis=1))
        relevant = item_labels[order] == label
        precisions.append((np.cumsum(relevant) / places)[relevant].mean())
    return float(np.mean(precisions))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--sorted-queries", type=int, default=20)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(1)
    queries, query_labels = make_codes(5000, rng)
    items, labels = make_codes(5000, rng)
    small, figures = best_of(lambda: all_metrics(dh.evaluate(queries, items, query_labels, labels)), 5)
    print(f"5,000 x 5,000, 64 bits, all metrics: {small:.3f} s   (mAP {figures['mAP']:.3f})")

    queries, query_labels = make_codes(options.queries, rng)
    items, labels = make_codes(options.items, rng)
    before = peak_mb()
    large, figures = best_of(lambda: all_metrics(dh.evaluate(queries, items, query_labels, labels)), 1)
    extra = peak_mb() - before
    n = options.sorted_queries
    few, plain = best_of(lambda: by_sorting(queries[:n], query_labels[:n], items, labels), 1)
    ours = dh.evaluate(queries[:n], items, query_labels[:n], labels).mean_average_precision
    ratio = few / n * len(queries) / large
    print(
        f"{len(queries):,} x {len(items):,}, all metrics: {large:.2f} s and {extra:.0f} MB beyond the data; "
        f"sorting each query {few / n * 1e3:.0f} ms, {ratio:.0f} times as long\n"
        f"mAP of the first {n} queries: {ours:.5f}, by sorting {plain:.5f} (ties in the order of the rows)"
    )
    result = {
        "small_seconds": round(small, 4),
        "large_seconds": round(large, 3),
        "large_extra_mb": round(extra, 1),
        "sort_seconds_per_query": round(few / n, 5),
        "ratio_to_sorting": round(ratio, 1),
        "sizes": [len(queries), len(items)],
        "machine": machine(),
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
