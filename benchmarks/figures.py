"""Accuracy of the paper's three methods on its synthetic data.

Tie-aware mAP on 5,000 unseen objects, mean of both directions, from 10^4 positive and 10^5 negative
pairs drawn by labels; centres of scale 5, gamma 10. Run ``python -m benchmarks.figures``.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import diffhash as dh

SETTINGS = ((25, 25), (50, 50), (100, 64))
METHODS = {
    "DiffHash": lambda m: dh.DiffHash(n_bits=m),
    "DiffHash, standardize=False (the paper's)": lambda m: dh.DiffHash(n_bits=m, standardize=False),
    "KernelDiffHash": lambda m: dh.KernelDiffHash(n_bits=m),
    'KernelDiffHash, bandwidth="median"': lambda m: dh.KernelDiffHash(n_bits=m, bandwidth="median"),
    "BoostedHash, 1 direction": lambda m: dh.BoostedHash(n_bits=m),
    "BoostedHash, 5 directions": lambda m: dh.BoostedHash(n_bits=m, n_directions=5),
}


def paper_job(n_classes, seed):
    """Data and training pairs of the paper's experiment."""
    data = dh.datasets.make_paper_data(n_classes=n_classes, center_scale=5.0, random_state=seed)
    labels = data.train.labels
    pairs = dh.Pairs.from_labels(labels["x"], labels["y"], 10_000, 100_000, random_state=seed)
    return data, pairs


def mean_average_precision(hasher, split):
    """Both directions on one split, averaged."""
    codes = {m: hasher.encode(X, modality=m) for m, X in split.views.items()}
    return np.mean(
        [
            dh.evaluate(codes[q], codes[d], split.labels[q], split.labels[d]).mean_average_precision
            for q, d in (("x", "y"), ("y", "x"))
        ]
    )


def measure(seeds):
    """Figures by method and setting, each an array over the seeds."""
    figures = {name: {} for name in METHODS}
    for n_classes, m in SETTINGS:
        for seed in seeds:
            data, pairs = paper_job(n_classes, seed)
            for name, make in METHODS.items():
                with warnings.catch_warnings():
                    # At the median bandwidth the kernel has fewer useful directions than bits.
                    warnings.simplefilter("ignore", dh.errors.RankWarning)
                    hasher = make(m).fit(data.train.views, pairs)
                figures[name].setdefault((n_classes, m), []).append(mean_average_precision(hasher, data.test))
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13, 14, 15])
    seeds = parser.parse_args().seeds
    figures = measure(seeds)
    print(f"mAP, mean (lowest to highest) of seeds {', '.join(map(str, seeds))}\n")
    print("| | " + " | ".join(f"K = {k}, m = {m}" for k, m in SETTINGS) + " |")
    print("|---" * (1 + len(SETTINGS)) + "|")
    for name, row in figures.items():
        cells = [f"{np.mean(row[s]):.3f} ({min(row[s]):.3f} to {max(row[s]):.3f})" for s in SETTINGS]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
