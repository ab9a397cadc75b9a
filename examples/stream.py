"""Learn from more data than fit into memory: ``python examples/stream.py``.

Two sensors see the same objects. Their readings come in batches. The first model reads the batches several times, the
second one sees each batch once. Then the second sensor is turned, and the stream forgets what it saw before.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import diffhash as dh
from diffhash.types import FloatArray

N_BATCHES, BATCH, N_BITS = 40, 500, 16
#: What the sensors measure of the 8 properties of an object.
FIRST, SECOND = (np.random.default_rng(seed).normal(size=(8, 24)) for seed in (1, 2))

Batch = tuple[dict[str, FloatArray], dh.Pairs]


def batches(first_seed: int, second: FloatArray) -> Iterator[Batch]:
    """Readings of both sensors; row r of both is one object."""
    for number in range(N_BATCHES):
        rng = np.random.default_rng(first_seed + number)
        objects = rng.normal(size=(BATCH, 8))
        readings = {
            "first": objects @ FIRST + 0.5 * rng.normal(size=(BATCH, 24)),
            "second": objects @ second + 0.5 * rng.normal(size=(BATCH, 24)),
        }
        yield readings, dh.Pairs.aligned(BATCH)


def found(hasher: dh.DiffHash, second: FloatArray) -> str:
    """How often the reading of the other sensor is among the 10 nearest of 500."""
    views, _ = next(batches(9999, second))
    codes = {m: hasher.encode(X, modality=m) for m, X in views.items()}
    nearest = dh.HammingIndex(codes["second"]).search(codes["first"], k=10).ids
    share = (nearest == np.arange(BATCH)[:, None]).any(axis=1).mean()
    return f"{100 * share:.0f} % of the objects are found by the other sensor"


def main() -> None:
    several = dh.DiffHash(N_BITS, rotate=True, whiten=True).fit_batches(lambda: batches(0, SECOND))
    print("several passes:  ", found(several, SECOND))

    stream = dh.DiffHash(N_BITS, rotate=True, whiten=True)
    for views, pairs in batches(0, SECOND):
        stream.partial_fit(views, pairs)
    print("one pass:        ", found(stream, SECOND))

    turned = SECOND[::-1]
    print("sensor is turned:", found(stream, turned))
    for views, pairs in batches(1000, turned):
        stream.partial_fit(views, pairs, forget=0.2)
    print("after the stream:", found(stream, turned))


if __name__ == "__main__":
    main()
