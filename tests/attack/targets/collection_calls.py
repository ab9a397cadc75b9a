"""Calls of a collection with hostile arguments; afterwards it is still correct."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import diffhash as dh

from ..case import Use, WrongAnswerError, attempt
from ..mutate import hostile_array, hostile_json, hostile_object, hostile_text, mutate_json
from ..paths import GOLDEN
from .collection_files import bases, read_everything

__all__ = ["hostile_filter", "hostile_views", "make"]

_FILTERS = [
    {"group": "a"},
    {"n": {"ge": 1, "lt": 20}},
    {"or": [{"group": "b"}, {"not": {"n": 3}}]},
    {"and": [{"text": {"in": ["a", None, 1.5]}}, {"n": {"ne": 2}}]},
]


def hostile_filter(rng: random.Random) -> Any:
    """A ``where`` that is nearly right."""
    return mutate_json(rng, rng.choice(_FILTERS))


def make(rng: random.Random, folder: Path) -> Use:
    """A collection that gets a dozen hostile calls."""
    base, _ = rng.choice(bases())
    path = folder / "objects.dh"
    shutil.copy(base, path)
    # Files that no export may replace: a collection, a model, and a file of somebody else.
    shutil.copy(base, folder / "other.dh")
    shutil.copy(GOLDEN / "diff-v1.dhm", folder / "model.dhm")
    (folder / "letter.txt").write_text("Dear Sir or Madam")
    seed = rng.randrange(2**32)
    return lambda: _use(path, random.Random(seed))


def _use(path: Path, rng: random.Random) -> bool:
    hostile, accepted = hostile_object(rng), 0
    kept = {other: other.read_bytes() for other in path.parent.iterdir() if other != path}
    attempt(dh.Collection.open, hostile)
    attempt(
        dh.Collection.open,
        path,
        writable=hostile_json(rng),
        timeout=rng.choice([0, -1, float("nan"), None, "1"]),
    )
    with dh.Collection.open(path, writable=True) as collection:
        for _ in range(12):
            accepted += attempt(_call(rng, collection)) is not None
        report = collection.verify()
        if not report.ok:
            raise WrongAnswerError(f"hostile calls damaged the collection: {report.problems[0]}")
        before = read_everything(collection)
    for other, content in kept.items():
        if other.read_bytes() != content:
            raise WrongAnswerError(f"a call replaced a file of another kind: {other.name}")
    with dh.Collection.open(path) as collection:
        if read_everything(collection) != before:
            raise WrongAnswerError("the collection has other content after it was opened again")
    return accepted > 0


def hostile_views(rng: random.Random) -> Any:
    """Features by modality that are nearly right."""
    n = rng.choice([0, 1, 2, 5])
    views: dict[Any, Any] = {"x": np.zeros((n, 6)), "y": np.ones((n, 5))}
    for _ in range(rng.choice([0, 1, 1, 2])):
        views[rng.choice(["x", "y", "xy", hostile_text(rng)])] = rng.choice([hostile_array, hostile_object])(
            rng
        )
    return views


def _call(rng: random.Random, collection: dh.Collection) -> Callable[[], Any]:
    n = rng.choice([1, 2, 5])
    arguments: dict[str, Any] = {
        "codes": np.full((n, 1), 2, dtype=np.uint8),
        "modality": "x",
        "ids": [rng.choice([rng.randrange(100, 140), f"ö {rng.randrange(40)}'"]) for _ in range(n)],
        "payloads": [
            rng.choice([{"n": hostile_json(rng)}, {hostile_text(rng): 1}, None, {"group": "a"}])
            for _ in range(n)
        ],
        "where": hostile_filter(rng),
        "k": 5,
        "into": None,
        "radius": rng.choice([None, 0, 1, 9]),
        "max_false_matches": rng.choice([None, None, 0.1, 20.0, -1.0]),
        "expected_matches": rng.choice([None, 3.0, 1e9]),
        "rank": rng.choice(["auto", "hamming", "asymmetric"]),
    }
    for name in rng.sample(sorted(arguments), rng.choice([0, 1, 1, 2])):
        arguments[name] = rng.choice([hostile_object, hostile_array])(rng)
    stored = {name: arguments[name] for name in ("codes", "modality", "ids", "payloads")}
    search = {name: arguments[name] for name in ("where", "k", "into", "radius")}
    near = {name: arguments[name] for name in ("where", "into", "radius")}
    plain = {name: arguments[name] for name in ("where", "k", "into")}
    judged = search | {name: arguments[name] for name in ("max_false_matches", "expected_matches")}
    ranked = judged | {"rank": arguments["rank"]}
    id_ = arguments["ids"][0] if isinstance(arguments["ids"], list) and arguments["ids"] else arguments["ids"]
    return rng.choice(
        [
            lambda: collection.add_codes(**stored),
            lambda: collection.add_codes(**stored, unless_within=arguments["radius"]),
            lambda: collection.within_codes(arguments["codes"], **near),
            lambda: collection.within(hostile_array(rng), modality=arguments["modality"], **near),
            lambda: collection.duplicates(
                arguments["radius"], modality=arguments["modality"], into=arguments["into"]
            ),
            lambda: collection.duplicates(1, modality="x", max_pairs=arguments["k"]),
            lambda: dh.Collection.create(
                collection.path.with_name("new.dh"), n_bits=arguments["k"], modalities=arguments["ids"]
            ),
            lambda: collection.upsert_codes(**stored),
            lambda: collection.delete(arguments["ids"], modality=arguments["into"]),
            lambda: collection.get(arguments["ids"]),
            lambda: id_ in collection,
            lambda: collection.search_codes(arguments["codes"], modality=arguments["modality"], **judged),
            lambda: collection.search_item(id_, **judged),
            lambda: collection.search(hostile_array(rng), modality=arguments["modality"], **ranked),
            lambda: collection.search(np.ones((n, 6)), modality=arguments["modality"], **ranked),
            lambda: collection.search(hostile_views(rng), **ranked),
            lambda: collection.match_limit(
                arguments["max_false_matches"], modality=arguments["modality"], into=arguments["into"]
            ),
            lambda: collection.add(
                hostile_views(rng),
                modality=rng.choice([None, "xy", arguments["modality"]]),
                ids=rng.choice([None, arguments["ids"], {"x": arguments["ids"], "y": arguments["ids"]}]),
            ),
            lambda: collection.search_arrays(arguments["codes"], **plain),
            lambda: collection.add(hostile_array(rng), modality="x"),
            lambda: collection.index_payload(rng.choice([hostile_object(rng), hostile_text(rng), "n"])),
            lambda: list(collection.iterate(arguments["into"], rng.choice([1, 3, 0, hostile_object(rng)]))),
            lambda: collection.refit(hostile_object(rng), hostile_object(rng)),
            lambda: collection.extend(hostile_object(rng)),
            lambda: collection.export(
                _export_path(rng, collection.path), rng.choice(["npy", "parquet"]), modality="x"
            ),
        ]
    )


def _export_path(rng: random.Random, path: Path) -> Any:
    names = ["new", "other.dh", "model.dhm", "letter.txt", path.name, f"{path.name}-wal", f"{path.name}-lock"]
    return rng.choice([hostile_object(rng), *(path.with_name(name) for name in names)])
