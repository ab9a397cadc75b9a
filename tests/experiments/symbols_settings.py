"""A quick demonstration: some blocks of the symbols, few bits, and fixed settings."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from diffhash.datasets import Symbols, load_symbols

QUICK = {
    "n_bits": 24,
    "n_test": 150,
    "features": "kernel",
    "n_landmarks": 100,
    "metric": "euclidean",
    "width": 1.0,
    "ridge": 0.1,
    "penalty": 0.01,
    "negative_target": -1.0,
    "max_iter": 5,
}
BLOCKS = ("Arrows", "Greek and Coptic", "Box Drawing", "Dingbats", "Miscellaneous Symbols", "Basic Latin")


@cache
def few_symbols(views: tuple[str, ...] = ()) -> Symbols:
    symbols = load_symbols(views=("text", "image", "serif"))
    rows = np.flatnonzero(np.isin(symbols.groups, BLOCKS))
    names = [symbols.names[row] for row in rows]
    found, ids = symbols.take(rows)
    return replace(
        symbols,
        views=found,
        rows={m: np.searchsorted(rows, kept) for m, kept in ids.items()},
        names=names,
        characters=[symbols.characters[row] for row in rows],
        groups=symbols.groups[rows],
        pictures=symbols.pictures[rows],
    )
