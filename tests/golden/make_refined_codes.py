"""Make the golden codes of RefinedHash: ``python -m tests.golden.make_refined_codes``.

They are the codes of one and of two modalities. The file was made before RefinedHash learned from many modalities, and
again when its fit to pairs got a contrastive refinement. Make it again only if a fit is meant to change, and say so in
the changelog.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

import diffhash as dh

from .kept_codes import save_codes
from .make_codes import pairs_of, views

PATH = Path(__file__).parent / "refined-codes.npz"

HASHERS = {
    "linear": lambda: dh.RefinedHash(16, features="linear"),
    "kernel": lambda: dh.RefinedHash(12, features="kernel", metric="cosine", width=1.0, n_landmarks=60),
}
KINDS = ("labels", "sets", "aligned", "listed", "rest", "one-labels", "one-sets", "one-listed")


def cases():
    """Names of all cases: "hasher/pairs/form of the views"."""
    found = [f"{name}/{kind}/dense" for name in HASHERS for kind in KINDS]
    found += [f"{name}/{kind}/sparse" for name in HASHERS for kind in ("labels", "aligned")]
    return [*found, "linear/aligned/wide", "linear/unequal/dense", "linear/tiny/dense"]


def codes_of(case):
    """Codes of the training rows of every modality."""
    name, kind, form = case.split("/")
    given, labels = views(form)
    if kind.startswith("one"):
        given = {"x": given["x"]}
    if kind == "unequal":
        # The second view has fewer rows, and lacks one class.
        rows = np.flatnonzero(labels != 3)[20:]
        given, pairs = {"x": given["x"], "y": given["y"][rows]}, dh.Pairs.from_labels(labels, labels[rows])
    elif kind == "tiny":
        numbers = np.random.default_rng(5).permutation(len(labels)) // 2
        pairs = dh.Pairs.from_labels(np.arange(len(labels)), numbers)
    else:
        pairs = pairs_of(kind, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dh.errors.WeakModelWarning)
        hasher = HASHERS[name]().fit(given, pairs)
    return {m: hasher.encode(X, modality=m) for m, X in given.items()}


if __name__ == "__main__":
    save_codes(PATH, cases(), codes_of)
