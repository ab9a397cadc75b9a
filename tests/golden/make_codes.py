"""Make the golden codes of the plain methods: ``python -m tests.golden.make_codes``.

They are the codes of one and of two modalities, made before methods learned from many. The file is kept
and never made again: what a method learns from two modalities or from one must not change.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import scipy.sparse

import diffhash as dh

from .kept_codes import save_codes

PATH = Path(__file__).parent / "plain-codes.npz"
N_ROWS, N_CLASSES, N_BITS = 180, 12, 8

HASHERS = {
    "diff": lambda: dh.DiffHash(N_BITS),
    "diff-plain": lambda: dh.DiffHash(N_BITS, gamma=1.0, center=False, standardize=False, thresholds="zero"),
    "diff-positives": lambda: dh.DiffHash(N_BITS, gamma=np.inf, thresholds="median"),
    "diff-whitened": lambda: dh.DiffHash(N_BITS, whiten=True),
    "diff-rotated": lambda: dh.DiffHash(N_BITS, rotate=True),
    "diff-whitened-rotated": lambda: dh.DiffHash(16, whiten=True, rotate=True, shrinkage=0.1),
    "kernel": lambda: dh.KernelDiffHash(N_BITS, n_landmarks=40),
    "kernel-whitened": lambda: dh.KernelDiffHash(N_BITS, n_landmarks=40, whiten=True, shrinkage=0.2),
    "kernel-whitened-rotated": lambda: dh.KernelDiffHash(16, n_landmarks=40, whiten=True, rotate=True),
    "boosted": lambda: dh.BoostedHash(N_BITS, sample_size=(500, 1000)),
    "boosted-5": lambda: dh.BoostedHash(N_BITS, n_directions=5, sample_size=(500, 1000)),
    "boosted-whitened": lambda: dh.BoostedHash(N_BITS, whiten=True, shrinkage=0.1, sample_size=(500, 1000)),
}


def views(form="dense"):
    """Two views of objects of several classes, and the class of each object.

    "wide": more features than objects. "sparse": counts, in one sparse view and one dense view.
    """
    rng = np.random.default_rng(17)
    labels = rng.permutation(np.arange(N_ROWS) % N_CLASSES)
    sizes = (230, 200) if form == "wide" else (20, 14)
    x, y = (
        rng.normal(size=(N_CLASSES, d))[labels] * 1.5 + rng.normal(size=(N_ROWS, d)) + rng.normal(size=d)
        for d in sizes
    )
    if form == "sparse":
        return {"x": scipy.sparse.csr_array(np.maximum(np.round(x), 0.0)), "y": np.round(y)}, labels
    return {"x": x, "y": y}, labels


def pairs_of(kind, labels):
    """Pairs between two views; "one-..." within one view."""
    rng = np.random.default_rng(23)
    rows = np.arange(N_ROWS)
    sets = np.zeros((N_ROWS, N_CLASSES), bool)
    sets[rows, labels] = True
    sets[::9, 0] = True
    listed = dh.Pairs.from_labels(labels, labels, 700, 2500, random_state=3)
    shuffled = rng.permutation(N_ROWS)[:150]
    return {
        "labels": lambda: dh.Pairs.from_labels(labels, labels),
        "sets": lambda: dh.Pairs.from_labels(sets, sets),
        "aligned": lambda: dh.Pairs.aligned(N_ROWS),
        "listed": lambda: dh.Pairs(listed.positive, listed.negative),
        "rest": lambda: dh.Pairs(positive=(shuffled, shuffled)),
        "one-labels": lambda: dh.Pairs.from_labels(labels),
        "one-sets": lambda: dh.Pairs.from_labels(sets),
        "one-listed": lambda: dh.Pairs.from_labels(labels, None, 600, 2500, random_state=3),
    }[kind]()


def cases():
    """Names of all cases: "hasher/pairs/form of the views"."""
    kinds = ("labels", "sets", "aligned", "listed", "rest", "one-labels", "one-sets", "one-listed")
    found = [f"{name}/{kind}/dense" for name in HASHERS for kind in kinds]
    found += [f"{name}/{kind}/sparse" for name in HASHERS for kind in ("labels", "aligned")]
    found += [f"{name}/aligned/wide" for name in HASHERS]
    return [*found, *(f"difference/{kind}/dense" for kind in kinds if kind.startswith("one"))]


def codes_of(case):
    """Codes of the training rows of every modality."""
    name, kind, form = case.split("/")
    given, labels = views(form)
    if kind.startswith("one"):
        given = {"x": given["x"]}
    hasher = dh.DiffHash(N_BITS, statistic="difference") if name == "difference" else HASHERS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dh.errors.RankWarning)
        hasher.fit(given, pairs_of(kind, labels))
    return {m: hasher.encode(X, modality=m) for m, X in given.items()}


if __name__ == "__main__":
    save_codes(PATH, cases(), codes_of)
