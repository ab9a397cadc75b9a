"""The paper's three methods side by side: ``python examples/compare_methods.py``.

The data are the paper's synthetic ones: objects of 25 classes, each seen as 128 features in "x" and
as 64 in "y". The two cannot be compared directly; their codes can.
"""

from __future__ import annotations

import time

import diffhash as dh

N_BITS = 24
METHODS = {
    "DiffHash (CM-DIF)": dh.DiffHash(n_bits=N_BITS),
    "KernelDiffHash (MM-kDIF)": dh.KernelDiffHash(n_bits=N_BITS, n_landmarks=1000),
    "BoostedHash (CM-SSH)": dh.BoostedHash(n_bits=N_BITS, n_directions=5),
}


def main() -> None:
    data = dh.datasets.make_paper_data(n_classes=25, random_state=0)
    train, test = data.train, data.test
    pairs = dh.Pairs.from_labels(train.labels["x"], train.labels["y"], 10_000, 100_000, random_state=0)
    print(f"Learn from {pairs} between {len(train.views['x']):,} objects; test on 5,000 unseen ones.")
    print(f"Codes of {N_BITS} bits: {dh.codes.code_bytes(N_BITS)} bytes instead of 512 (x) or 256 (y).\n")
    print(f"{'method':<26} {'fit':>7} {'encode':>9} {'mAP x→y':>9} {'mAP y→x':>9}")
    codes = {}
    for name, hasher in METHODS.items():
        start = time.perf_counter()
        hasher.fit(train.views, pairs)
        fitted = time.perf_counter()
        codes[name] = {m: hasher.encode(test.views[m], modality=m) for m in ("x", "y")}
        encoded = time.perf_counter()
        there, back = (
            dh.evaluate(codes[name][a], codes[name][b], test.labels[a], test.labels[b]).mean_average_precision
            for a, b in (("x", "y"), ("y", "x"))
        )
        print(f"{name:<26} {fitted - start:5.2f} s {encoded - fitted:7.3f} s {there:9.2f} {back:9.2f}")

    rows, name = [0, 1, 2], "KernelDiffHash (MM-kDIF)"
    found = dh.HammingIndex(codes[name]["x"]).search(codes[name]["y"][rows], k=8)
    ids, distances = found.ids, found.distances
    print(f"\nThree objects of y look for their like in x, {name}:")
    for row, found, away in zip(rows, ids, distances, strict=True):
        classes = " ".join(f"{label:>2}" for label in test.labels["x"][found])
        bits = " ".join(f"{distance:>2}" for distance in away)
        print(
            f"  y[{row}] of class {test.labels['y'][row]:>2}   nearest in x: classes {classes}   at distances {bits}"
        )


if __name__ == "__main__":
    main()
