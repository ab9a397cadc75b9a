"""What is interrupted: every operation that changes a file, and how the state afterwards is read."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import diffhash as dh
from diffhash import workflows
from diffhash.cli.app import run_app

from ..paths import GOLDEN

__all__ = ["OPERATIONS", "clone", "make_template", "state_of"]

FILE, EXPORT = "objects.dh", "out.parquet"
#: Says that the call has returned, so that its effect must last.
Acknowledge = Callable[[], None]


def _features(modality: str, ids: Any) -> Any:
    """Features of objects; the same for the same id."""
    width = {"x": 6, "y": 5, "z": 4}[modality]
    rows = [np.random.default_rng([int(i) % 2**31, width]).normal(size=width) for i in ids]
    return np.array(rows).reshape(-1, width)


def make_template(folder: Path, inputs: Path) -> None:
    """A collection to start from, and beside it the inputs of the operations."""
    views = {m: _features(m, range(60)) for m in "xy"}
    more = {"x": views["x"], "z": _features("z", range(60))}
    for bits in (8, 12):
        hasher = dh.KernelDiffHash(n_bits=bits, random_state=0).fit(views, dh.Pairs.aligned(60))
        hasher.save(inputs / f"{bits}.dhm")
        hasher.extend(more, dh.Pairs.aligned(60), modality="z").save(inputs / f"{bits}-z.dhm")
    for modality, rows in views.items():
        np.save(inputs / f"{modality}.npy", rows)
    with dh.Collection.create(folder / FILE, dh.load(inputs / "8.dhm"), words="text") as collection:
        payloads = [{"n": i, "group": "abc"[i % 3], "text": f"word{i % 4} all"} for i in range(30)]
        collection.add(views["x"][:30], modality="x", ids=range(30), payloads=payloads)
        collection.add(views["y"][10:35], modality="y", ids=range(10, 35))
        collection.index_payload("n")
        collection.delete([3, 4, 12])


def _writing(folder: Path) -> dh.Collection:
    return dh.Collection.open(folder / FILE, writable=True)


def _ids(collection: dh.Collection, modality: str | None = None) -> list[int]:
    return [item.id for block in collection.iterate(modality) for item in block]


def _add(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    with _writing(folder) as collection:
        n = rng.choice([1, 7, 400])
        first = max(_ids(collection), default=0) + 1
        ids = range(first, first + n)
        collection.add(
            _features("x", ids),
            modality="x",
            ids=ids,
            payloads=[{"n": i, "text": "x" * 50 + f" {i}"} for i in ids],
        )
        acknowledge()


def _add_unknown(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    with _writing(folder) as collection:
        first = max(_ids(collection), default=0) + 1
        ids = range(first, first + rng.choice([1, 40]))
        collection.add(_features("x", ids), modality="x", ids=ids, unless_within=rng.choice([0, 1]))
        acknowledge()


def _upsert(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    with _writing(folder) as collection:
        ids = sorted(rng.sample(range(60), rng.choice([1, 20])))
        collection.upsert(
            _features("x", [i + 1000 for i in ids]), modality="x", ids=ids, payloads=[{"n": -i} for i in ids]
        )
        acknowledge()


def _delete(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    with _writing(folder) as collection:
        collection.delete(rng.sample(range(40), rng.choice([1, 25])), modality=rng.choice([None, "x"]))
        acknowledge()


def _compact(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    with _writing(folder) as collection:
        collection.compact()
        acknowledge()


def _refit(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    with _writing(folder) as collection:
        extended = "-z" if "z" in collection.modalities else ""
        hasher = dh.load(inputs / f"{rng.choice([8, 12])}{extended}.dhm")
        features = {}
        for modality in collection.modalities:
            ids = _ids(collection, modality)
            features[modality] = ids, _features(modality, ids)
        collection.refit(hasher, features)
        acknowledge()


def _extend(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    with _writing(folder) as collection:
        if "z" not in collection.modalities:
            collection.extend(dh.load(inputs / f"{collection.n_bits}-z.dhm"))
        acknowledge()


def _index_payload(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    with _writing(folder) as collection:
        collection.index_payload(rng.choice(["group", "text", "n"]))
        acknowledge()


def _index_words(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    with _writing(folder) as collection:
        collection.index_words(rng.choice(["group", ["text", "group"]]))
        acknowledge()


def _export(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    with dh.Collection.open(folder / FILE) as collection:
        collection.export(folder / EXPORT, modality=rng.choice([None, "x"]))
        acknowledge()


def _build_overwrite(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    arguments = [
        "build",
        "--model",
        inputs / f"{rng.choice([8, 12])}.dhm",
        "-o",
        folder / FILE,
        "--overwrite",
    ]
    for modality in "xy":
        arguments += ["--view", f"{modality}={inputs / modality}.npy"]
    if run_app([os.fspath(argument) for argument in arguments]) != 0:
        raise AssertionError("build --overwrite failed")
    acknowledge()


def _upgrade(folder: Path, inputs: Path, rng: random.Random, acknowledge: Acknowledge) -> None:
    """Turn a collection of the first format into one of the current format."""
    workflows.upgrade(folder / FILE)
    acknowledge()


OPERATIONS: dict[str, Callable[[Path, Path, random.Random, Acknowledge], None]] = {
    "add": _add,
    "add_unknown": _add_unknown,
    "upsert": _upsert,
    "delete": _delete,
    "compact": _compact,
    "refit": _refit,
    "extend": _extend,
    "index_payload": _index_payload,
    "index_words": _index_words,
    "export": _export,
    "build_overwrite": _build_overwrite,
}
if hasattr(workflows, "upgrade"):
    OPERATIONS["upgrade"] = _upgrade


def start(folder: Path, template: Path, operation: str) -> None:
    """Put the files into a folder that an operation begins with."""
    source = GOLDEN / "collection-numbers-v1.dh" if operation == "upgrade" else template / FILE
    shutil.copy(source, folder / FILE)


def state_of(folder: Path) -> dict[str, Any]:
    """What a user can read from the files, as plain JSON; an error if they are not correct.

    The collection is read, then opened by a writer, whose closing leaves no other file beside it.
    """
    states = []
    for writable in (False, True):
        with dh.Collection.open(folder / FILE, writable=writable) as collection:
            problems = collection.verify().problems
            if problems:
                raise AssertionError(f"verify: {problems}")
            items = [item for block in collection.iterate() for item in block]
            nearest, distances = (
                collection.search_arrays(
                    collection.model.encode(_features("x", [1, 2]), modality="x"),
                    into="x",
                    k=5,
                    where={"n": {"ge": 5}},
                )
                if collection.model.n_features["x"] == 6
                else (np.empty(0), np.empty(0))
            )
            states.append(
                {
                    "items": [[i.id, {m: c.tolist() for m, c in i.codes.items()}, i.payload] for i in items],
                    "found": [nearest.tolist(), distances.tolist()],
                    "n_bits": collection.n_bits,
                    "modalities": [*collection.modalities, *collection.model.modalities],
                    "indexed": list(collection.stats().indexed_fields),
                    "words": list(collection.word_fields),
                }
            )
    if states[0] != states[1]:
        raise AssertionError("a reader and the next writer see different content")
    exported = folder / EXPORT
    left = {path.name for path in folder.iterdir()} - {FILE, EXPORT}
    # Temporary files of an interrupted export stay, those of a build until the next build.
    left = {name for name in left if ".part" not in name}
    if left:
        raise AssertionError(f"these files stay behind for ever: {sorted(left)}")
    return {**states[0], "export": _rows(exported) if exported.exists() else None}


def _rows(path: Path) -> str:
    """Digest of an exported file, which must be complete."""
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(path, use_threads=False).to_pylist()
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def clone(folder: Path, target: Path) -> None:
    """Copy files; the note in the lock file, which names its collection by inode, follows."""
    target.mkdir()
    for path in folder.iterdir():
        shutil.copy(path, target / path.name)
    move_note(target, (folder / FILE).stat().st_ino)


def move_note(folder: Path, inode: int) -> None:
    """Let the note of a copied lock file name the copied collection."""
    note, path = folder / f"{FILE}-lock", folder / FILE
    if note.exists() and path.exists():
        number, space, identity = note.read_text().partition(" ")
        if number == str(inode):
            note.write_text(f"{path.stat().st_ino}{space}{identity}")
