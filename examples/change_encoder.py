"""Change your embedding model without re-indexing: ``python examples/change_encoder.py``.

Handwritten digits are cut in two. The right half searches left halves, which an index stores as codes. Then the
encoder of left halves changes: other features, another number of them. ``extend`` learns a hash function for
the new encoder into the codes that exist, so the index stays as it is, and new items join it. The figures compare
this with the expensive way: fit a new model and encode everything again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import diffhash as dh

N_BITS = 32
N_TRAIN, N_OLD = 1000, 1400


def old_encoder(halves: Any) -> Any:
    """Pixels."""
    return halves.reshape(len(halves), -1)


def new_encoder(halves: Any) -> Any:
    """Strokes: differences of neighbouring pixels, their sizes, and sums of rows and columns."""
    down, across = np.diff(halves, axis=1), np.diff(halves, axis=2)
    parts = [down, across, np.abs(down), np.abs(across), halves.sum(axis=1), halves.sum(axis=2)]
    return np.concatenate([part.reshape(len(halves), -1) for part in parts], axis=1)


def main() -> None:
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    pictures, labels = digits.images[order].astype(np.float32), digits.target[order]
    left, right = pictures[:, :, :4], old_encoder(pictures[:, :, 4:])
    old, new = old_encoder(left), new_encoder(left)
    train, items, later = slice(0, N_TRAIN), slice(N_TRAIN, N_OLD), slice(N_OLD, None)

    def pairs(*names: str) -> dh.Pairs:
        return dh.Pairs.from_labels(dict.fromkeys(names, labels[train]))

    hasher = dh.RefinedHash(N_BITS)
    hasher.fit({"left": old[train], "right": right[train]}, pairs("left", "right"))
    stored = hasher.encode(old[items], modality="left")

    # The new encoder is a modality of its own. Its partners are the right halves and the old features.
    views = {"left": old[train], "right": right[train], "left 2": new[train]}
    extended = hasher.extend(views, pairs(*views), modality="left 2", encodes_as="left")
    joined = extended.encode(new[later], modality="left 2")

    refitted = dh.RefinedHash(N_BITS)
    refitted.fit({"left": new[train], "right": right[train]}, pairs("left", "right"))
    again = refitted.encode(new[N_TRAIN:], modality="left")

    def precision(model: Any, rows: slice, database: Any, database_labels: Any) -> float:
        queries = model.encode(right[rows], modality="right")
        return dh.evaluate(queries, database, labels[rows], database_labels).mean_average_precision

    # Each part of the database is searched by the right halves of the other part.
    figures = {
        "old items, as they were stored": precision(hasher, later, stored, labels[items]),
        "new items, old encoder": precision(
            hasher, items, hasher.encode(old[later], modality="left"), labels[later]
        ),
        "new items, new encoder, extended": precision(extended, items, joined, labels[later]),
        "old items, refitted and encoded again": precision(
            refitted, later, again[: N_OLD - N_TRAIN], labels[items]
        ),
        "new items, refitted": precision(refitted, items, again[N_OLD - N_TRAIN :], labels[later]),
    }
    print(f"{len(stored)} items are stored as codes of {N_BITS} bits; {len(joined)} come later.")
    print(f"The new encoder gives {new.shape[1]} features, the old one gave {old.shape[1]}.\n")
    for name, figure in figures.items():
        print(f"{name:<40} mAP {figure:.3f}")
    one = dh.HammingIndex(np.concatenate([stored, joined]))
    found = one.search(extended.encode(right[items][:1], modality="right"), k=10).ids[0]
    print(
        f"\nOne index has both: the first ten for a {labels[items][0]} are {labels[N_TRAIN:][found].tolist()}."
    )
    print(
        f"Codes of {next(iter(extended.model_.encodes_as))!r} join those of 'left'; nothing was encoded again."
    )


if __name__ == "__main__":
    main()
