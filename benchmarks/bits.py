"""Accuracy against the number of bits, 4 to 256, through the useful rank: ``python -m benchmarks.bits``.

Mean of both directions on unseen items, one split or draw of each dataset: mean average precision, or recall among the
first ten where there are pairs only. ``--report`` draws what was measured before.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import diffhash as dh

from .accuracy.machine import machine
from .datasets import DATASETS, DEFAULT_FOLDER, ROOT

RESULTS = ROOT / "benchmarks" / "results" / "bits.json"
PLOT = ROOT / "docs" / "_static" / "accuracy" / "bits.png"
BITS = (4, 8, 16, 32, 64, 128, 256)
METHODS = {
    "RefinedHash": lambda n: dh.RefinedHash(n),
    "KernelDiffHash, rotated": lambda n: dh.KernelDiffHash(n, n_landmarks=500, whiten=True, rotate=True),
    "DiffHash, rotated": lambda n: dh.DiffHash(n, whiten=True, rotate=True),
    "DiffHash, plain": lambda n: dh.DiffHash(n),
}
LOOKS = {
    "RefinedHash": {"color": "#8f1d5c", "marker": "o", "linewidth": 2},
    "KernelDiffHash, rotated": {"color": "#1a73b8", "marker": "^", "linewidth": 1.6},
    "DiffHash, rotated": {"color": "#d1590a", "marker": "s", "linewidth": 1.6},
    "DiffHash, plain": {"color": "#7b8794", "marker": "x", "linewidth": 1.2, "linestyle": (0, (4, 2))},
}


def measure(dataset, make, n_bits, folder):
    """Figure of both directions, or None where the features do not allow so many bits."""
    task = dataset.load(0, folder)
    labels = task.train_labels
    pairs = dh.Pairs.aligned(task.n_train) if labels is None else dh.Pairs.from_labels(labels, labels)
    try:
        hasher = make(n_bits).fit(task.train, pairs)
    except dh.errors.TooManyBitsError:
        return None
    x, y = (hasher.encode(X, modality=m) for m, X in task.test.items())
    truth = np.arange(task.n_test) if task.test_labels is None else task.test_labels
    results = [dh.evaluate(a, b, truth, truth) for a, b in ((x, y), (y, x))]
    figures = [r.recall_at(10) if labels is None else r.mean_average_precision for r in results]
    return round(float(np.mean(figures)), 4)


def measure_all(found, folder):
    for key, dataset in DATASETS.items():
        if not dataset.available(folder):
            continue
        for name, make in METHODS.items():
            curve = found.setdefault(key, {}).setdefault(name, {})
            for n_bits in BITS:
                if str(n_bits) not in curve:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", dh.errors.RankWarning)
                        curve[str(n_bits)] = measure(dataset, make, n_bits, folder)
                    print(key, name, n_bits, curve[str(n_bits)], file=sys.stderr, flush=True)
            RESULTS.write_text(json.dumps({"machine": machine(), "curves": ordered(found)}, indent=1) + "\n")


def ordered(found):
    """Curves in the order of methods and bits, whatever was measured last."""
    return {
        key: {
            name: {str(b): found[key][name][str(b)] for b in BITS if str(b) in found[key][name]}
            for name in METHODS
            if name in found[key]
        }
        for key in DATASETS
        if key in found
    }


def draw(found):
    keys = [key for key in DATASETS if key in found]
    figure, axes = plt.subplots(2, -(-len(keys) // 2), figsize=(11.5, 5.6), sharex=True)
    for axis, key in zip(axes.flat, keys, strict=False):
        for name, curve in found[key].items():
            points = [(int(b), v) for b, v in curve.items() if v is not None]
            axis.plot(*zip(*points, strict=True), label=name, markersize=4.5, **LOOKS[name])
        axis.set_xscale("log", base=2)
        axis.set_xticks(BITS, [str(b) for b in BITS], minor=False)
        axis.set_title(DATASETS[key].title, fontsize=10, loc="left")
        axis.set_ylabel("mAP" if DATASETS[key].labelled else "recall at 10", fontsize=9)
        axis.set_ylim(0, None)
        axis.grid(color="#e6e6e6")
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("bits")
    for axis in axes.flat[len(keys) :]:
        axis.set_visible(False)
    figure.legend(*axes.flat[0].get_legend_handles_labels(), ncols=4, frameon=False, loc="lower center")
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(PLOT, dpi=150)


def falls(found):
    """The largest loss of each method when its bits double, over all datasets."""
    worst = {}
    for key, methods in found.items():
        for name, curve in methods.items():
            values = [curve[str(b)] for b in BITS if curve.get(str(b)) is not None]
            fall = max((a - b for a, b in pairwise(values)), default=0.0)
            worst[name] = max(worst.get(name, (-1.0, "")), (round(fall, 4), key))
    return worst


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--report", action="store_true", help="only draw")
    options = parser.parse_args(arguments)
    found = json.loads(RESULTS.read_text())["curves"] if RESULTS.is_file() else {}
    if not options.report:
        measure_all(found, options.data)
    draw(ordered(found))
    for name, (fall, key) in falls(found).items():
        print(f"{name:<26} largest fall when the bits double: {fall:.4f} ({key})")


if __name__ == "__main__":
    main()
