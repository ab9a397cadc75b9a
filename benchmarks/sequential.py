"""How many bits a sequential test needs, and its error rates: ``python -m benchmarks.sequential``.

The paper's data, codes of 64 bits learned on 4,000 objects. The test is fitted on 2,000 unseen objects and measured
on 2,000 others (10^4 pairs of each kind); whole codes are compared with the same cut. Means over the seeds.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import diffhash as dh

N_BITS = 64
JOBS = (
    (10, "BoostedHash", lambda: dh.BoostedHash(N_BITS, n_directions=5)),
    (25, "BoostedHash", lambda: dh.BoostedHash(N_BITS, n_directions=5)),
    (50, "KernelDiffHash", lambda: dh.KernelDiffHash(N_BITS)),
)
RATES = (0.01, 0.05)


def unseen_codes(n_classes, make, seed):
    data = dh.datasets.make_paper_data(n_classes=n_classes, n_train=4000, n_test=4000, random_state=seed)
    labels = data.train.labels
    pairs = dh.Pairs.from_labels(labels["x"], labels["y"], 10_000, 50_000, random_state=seed)
    hasher = make().fit(data.train.views, pairs)
    codes = [hasher.encode(data.test.views[m], modality=m) for m in ("x", "y")]
    return *codes, data.test.labels["x"], data.test.labels["y"]


def measure(x, y, labels_x, labels_y, rate):
    """Bits on positives and negatives, error rates, those of whole codes, and whether fit reached the rates."""
    known, new = slice(0, 2000), slice(2000, None)
    pairs = dh.Pairs.from_labels(labels_x[known], labels_y[known])
    test = dh.SequentialTest(rate, rate).fit(x[known], y[known], pairs, N_BITS)
    fresh = dh.Pairs.from_labels(labels_x[new], labels_y[new], 10_000, 10_000, random_state=0)
    short = test.report(x[new], y[new], fresh.positive, fresh.negative)
    test.lower_, test.upper_ = -np.inf, np.inf
    whole = test.report(x[new], y[new], fresh.positive, fresh.negative)
    rates = [r for report in (short, whole) for r in (report.false_reject_rate, report.false_accept_rate)]
    return [short.bits_positive, short.bits_negative, *rates, test.reached_]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore", dh.errors.DiffhashWarning)
    print(
        "| data | method | alpha, beta | bits, similar | bits, dissimilar | false rejects, whole codes "
        "| false accepts, whole codes | in reach |"
    )
    print("|---" * 8 + "|")
    for n_classes, name, make in JOBS:
        data = [unseen_codes(n_classes, make, seed) for seed in seeds]
        for rate in RATES:
            bits_p, bits_n, fr, fa, fr_whole, fa_whole, reached = np.mean(
                [measure(*d, rate) for d in data], axis=0
            )
            print(
                f"| K = {n_classes} | {name} | {rate} | {bits_p:.1f} | {bits_n:.1f} | {fr:.4f}, {fr_whole:.4f} "
                f"| {fa:.4f}, {fa_whole:.4f} | {reached * len(seeds):.0f} of {len(seeds)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
