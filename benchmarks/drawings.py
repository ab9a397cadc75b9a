"""How often a drawing finds its symbol, as the page of the service searches: ``python -m benchmarks.drawings``.

Needs the collection of ``diffhash demo``. Draws 200 symbols that were learned from, and 200 that were not, with
the unsteady hand of :mod:`.traced_glyphs`. All symbols of the collection are searched.
"""

from __future__ import annotations

import argparse

import numpy as np

import diffhash as dh
from diffhash.datasets.glyphs import font_path
from diffhash.service.drawings import ask_drawing
from diffhash.service.requests import SearchRequest

from .traced_glyphs import Hand, trace

PLACES = (1, 10, 50)
TARGETS = {"learned from": 0.60, "not learned from": 0.40}


def ranks(collection, symbols, rows, into, seed):
    """Place of the right symbol in the answers to drawings, from 0."""
    rng = np.random.default_rng(seed)
    path = font_path("DejaVuSans")
    found = []
    for row in rows:
        strokes = trace(symbols.characters[row], path, rng)
        options = SearchRequest(modality="drawing", into=into, k=PLACES[-1])
        answer, _, _ = ask_drawing(collection, options, strokes, PLACES[-1])
        ids = [hit.id for hit in answer.hits]
        own = f"U+{ord(symbols.characters[row]):04X}"
        found.append(ids.index(own) if own in ids else PLACES[-1])
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", default="demo/symbols.dh")
    parser.add_argument("--drawings", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    symbols = dh.datasets.load_symbols()
    train, test = symbols.split(n_test=600, random_state=0)
    rng = np.random.default_rng(arguments.seed)
    print(f"hand: {Hand()}\nseed {arguments.seed}, {arguments.drawings} drawings, {len(symbols):,} symbols")
    with dh.Collection.open(arguments.collection) as collection:
        for name, rows in (("learned from", train), ("not learned from", test)):
            chosen = rng.choice(rows, arguments.drawings, replace=False)
            for into in ("drawing", "text"):
                place = ranks(collection, symbols, chosen, into, arguments.seed)
                shares = ", ".join(f"first {k}: {np.mean(place < k):.1%}" for k in PLACES)
                target = f" (target for the first 10: {TARGETS[name]:.0%})" if into == "drawing" else ""
                print(f"symbols that were {name}, into {into}: {shares}{target}")


if __name__ == "__main__":
    main()
