"""Make the golden collections of the current format version: ``python -m tests.golden.make_collections``.

Files of earlier versions are kept and never made again: every later release must open them and
give the same answers. A file that exists is left as it is; remove it first if an unreleased format has changed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import diffhash as dh
from diffhash.stores.sqlite.schema import FORMAT_VERSION

FOLDER = Path(__file__).parent
#: Ids of the objects in each file.
IDS = {
    "numbers": list(range(100, 140)),
    "strings": [f"ö {n}'" for n in range(40)],
    "fused": list(range(100, 140)),
    "codes": list(range(100, 140)),
    "words": list(range(100, 140)),
}
#: Modality of fused codes, in the file that has some.
FUSED = "xy"
QUERIES = np.array([[0], [3]], dtype=np.uint8)
FILTERS = [None, {"group": "a"}, {"n": {"ge": 10, "lt": 20.5}}, {"not": {"group": {"in": ["a", None]}}}]


def views():
    """Whole numbers, so that features are the same on every machine."""
    rng = np.random.default_rng(7)
    return {
        "x": rng.integers(-9, 10, (60, 6)).astype(float),
        "y": rng.integers(-9, 10, (60, 5)).astype(float),
    }


def fill(collection, names):
    """Write everything that a file can contain: both modalities, deleted items, small and merged segments, an index."""
    rng = np.random.default_rng(3)
    payloads = [{"n": n, "group": "abc"[n % 3], "text": 'é "quoted"\0\n'} for n in range(30)]
    payloads[4] = None
    collection.add_codes(
        rng.integers(0, 4, (30, 1), dtype=np.uint8), modality="x", ids=names[:30], payloads=payloads
    )
    collection.index_payload("group")
    for name in names[20:40]:
        collection.add_codes(rng.integers(0, 4, (1, 1), dtype=np.uint8), modality="y", ids=[name])
    collection.upsert_codes(np.array([[1]], np.uint8), modality="x", ids=names[7:8], payloads=[{"n": 0.1}])
    collection.delete(names[2:5])
    collection.delete(names[25:26], modality="x")


def fill_words(collection, names):
    """The same, and captions whose words are indexed: some replaced, some removed, one in two fields."""
    fill(collection, names)
    texts = ["A red apple", "Äpfel & Birnen", "two red_cars", "猫 and a dog", "…"]
    payloads = [{"caption": texts[n % 5], "more": ["twice", "two red_cars"]} for n in range(12)]
    collection.upsert_codes(np.ones((12, 1), np.uint8), modality="x", ids=names[10:22], payloads=payloads)
    collection.upsert_codes(np.ones((1, 1), np.uint8), modality="x", ids=names[11:12], payloads=[{"more": 3}])
    collection.delete(names[13:15])


def word_searches(collection):
    """Hits of words, as plain JSON; nothing if the collection has no word index."""
    if not collection.word_fields:
        return {}
    texts = ["red", "apples", "apfel", "猫 dog", "cra", "zebra", "red car"]
    found = collection.search_words(texts, k=8, into="x")
    return {"words": [[hit.id for hit in hits] for hits in found]}


def fill_fused(collection, names):
    """The same, and fused codes of some of the objects."""
    fill(collection, names)
    codes = np.random.default_rng(4).integers(0, 4, (25, 1), dtype=np.uint8)
    collection.add_codes(codes, modality=FUSED, ids=names[10:35])
    collection.delete(names[12:13], modality=FUSED)


def contents(collection):
    """Everything that a user can read from a collection, as plain JSON."""
    items = [item for block in collection.iterate() for item in block]
    return {
        "items": [[item.id, {m: c.tolist() for m, c in item.codes.items()}, item.payload] for item in items],
        "searches": [
            [[[hit.id, hit.distance, hit.modality] for hit in hits] for hits in found]
            for found in (collection.search_codes(QUERIES, k=8, where=where) for where in FILTERS)
        ],
        "indexed": list(collection.stats().indexed_fields),
        **word_searches(collection),
    }


def main():
    hasher = dh.DiffHash(n_bits=2).fit(views(), dh.Pairs.aligned(60))
    calibrated = dh.DiffHash(n_bits=2).fit(views(), dh.Pairs.aligned(60), calibrate=True)
    for kind, names in IDS.items():
        path = FOLDER / f"collection-{kind}-v{FORMAT_VERSION}.dh"
        if path.exists():
            continue
        if kind == "fused":
            with dh.Collection.create(path, calibrated, fused=FUSED) as collection:
                fill_fused(collection, names)
        elif kind == "words":
            with dh.Collection.create(path, hasher, words=["caption", "more"]) as collection:
                fill_words(collection, names)
        elif kind == "codes":
            with dh.Collection.create(path, n_bits=2, modalities=("x", "y")) as collection:
                fill(collection, names)
        else:
            with dh.Collection.create(path, hasher) as collection:
                fill(collection, names)
        with dh.Collection.open(path) as collection:
            expected = contents(collection)
        path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
