"""Collections, changed as bytes and as pages, with damaged and foreign files beside them."""

from __future__ import annotations

import functools
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import diffhash as dh
from diffhash import workflows
from diffhash.errors import DiffhashError
from diffhash.stores.sqlite.schema import FORMAT_VERSION
from tests.golden.make_collections import FUSED, IDS, contents, fill, fill_fused, fill_words, views

from ..case import Use, WrongAnswerError, attempt
from ..mutate import mutate_bytes
from ..paths import GOLDEN, new_folder

__all__ = ["bases", "hostile_writes", "make", "read_everything", "use"]

PAGE = 4096


@functools.cache
def bases() -> list[tuple[Path, Any]]:
    """Collections to start from and what is in them; None for formats that do not bind everything."""
    folder = new_folder()
    files: list[tuple[Path, Any]] = []
    for kind, names in IDS.items():
        fused = FUSED if kind == "fused" else None
        path = folder / f"{kind}.dh"
        with _empty(path, kind, fused) as collection:
            {"fused": fill_fused, "words": fill_words}.get(kind, fill)(collection, names)
            expected = read_everything(collection)
        files.append((path, expected))
    calibrated = dh.DiffHash(n_bits=2).fit(views(), dh.Pairs.aligned(60), calibrate=True)
    with dh.Collection.create(folder / "calibrated.dh", calibrated) as collection:
        fill(collection, IDS["numbers"])
        files.append((folder / "calibrated.dh", read_everything(collection)))
    old = [path for path in sorted(GOLDEN.glob("*.dh")) if not path.stem.endswith(f"-v{FORMAT_VERSION}")]
    return files + [(path, None) for path in old]


def _empty(path: Path, kind: str, fused: str | None) -> dh.Collection:
    """A new collection with the model of a golden one, or without a model."""
    if kind == "codes":
        return dh.Collection.create(path, n_bits=2, modalities=("x", "y"))
    version = 1 if kind in ("numbers", "strings") else 2
    words = ["caption", "more"] if kind == "words" else None
    with dh.Collection.open(GOLDEN / f"collection-{kind}-v{version}.dh") as golden:
        return dh.Collection.create(path, golden.model, fused=fused, words=words)


def read_everything(collection: dh.Collection) -> Any:
    """Everything that a user can read, as plain JSON."""
    return json.loads(
        json.dumps([contents(collection), len(collection), collection.n_bits, collection.modalities])
    )


def make(rng: random.Random, folder: Path) -> Use:
    """A collection with changed bytes."""
    base, expected = rng.choice(bases())
    path = folder / "objects.dh"
    data = base.read_bytes()
    action = rng.randrange(6)
    if action <= 2:
        data = mutate_bytes(rng, data)
    elif action == 3:
        data = _mutate_pages(rng, data)
    elif action == 4:
        # The header of the file and of its pages, where numbers rule over everything else.
        at = rng.choice([rng.randrange(100), PAGE * rng.randrange(len(data) // PAGE) + rng.randrange(12)])
        data = data[:at] + bytes([rng.choice([0, 1, 2, 0x7F, 0xFF, data[at] ^ 1])]) + data[at + 1 :]
    path.write_bytes(data)
    if action == 5:
        shutil.copy(base, path)
        _put_beside(rng, path)
        expected = None
    seed = rng.randrange(2**32)
    return lambda: use(path, expected, random.Random(seed))


def _mutate_pages(rng: random.Random, data: bytes) -> bytes:
    pages = [data[i : i + PAGE] for i in range(0, len(data), PAGE)]
    first, second = rng.randrange(len(pages)), rng.randrange(len(pages))
    action = rng.randrange(5)
    if action == 0:
        pages[first], pages[second] = pages[second], pages[first]
    elif action == 1:
        pages[first] = pages[second]
    elif action == 2:
        pages[first] = bytes(PAGE)
    elif action == 3:
        pages = pages[:first]
    else:
        pages[first] = pages[first][: PAGE // 2] + pages[second][PAGE // 2 :]
    return b"".join(pages)


def _put_beside(rng: random.Random, path: Path) -> None:
    """Files that SQLite and our lock use, with content of somebody else."""
    writer = dh.Collection.open(path, writable=True)
    writer.add_codes(np.array([[1]], np.uint8), modality="x", ids=_new_ids(writer, 1))
    beside = {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in ("-wal", "-lock")}
    content = path.read_bytes()
    writer.close()
    path.write_bytes(content)
    for suffix, data in beside.items():
        changed = rng.choice(
            [data, b"", rng.randbytes(100), mutate_bytes(rng, data), mutate_bytes(rng, data)]
        )
        if rng.random() < 0.8:
            Path(f"{path}{suffix}").write_bytes(changed)
    if rng.random() < 0.3:
        Path(f"{path}-{rng.choice(['shm', 'journal'])}").write_bytes(
            rng.randbytes(rng.choice([0, 10, 32768]))
        )


def _new_ids(collection: dh.Collection, n: int) -> list[Any]:
    strings = collection.stats().id_kind == "str"
    return [f"new {i}" if strings else 10_000 + i for i in range(n)]


def use(path: Path, expected: Any, rng: random.Random) -> bool:
    """Read a collection in every way, then write to it.

    If ``verify`` calls it correct, everything can be read, and it is what was written. True if it does.
    """
    attempt(workflows.info, path)
    accepted = attempt(_read, path, expected, rng)
    if rng.random() < 0.5:
        attempt(hostile_writes, path, rng)
    return bool(accepted)


def _read(path: Path, expected: Any, rng: random.Random) -> bool:
    with dh.Collection.open(path) as collection:
        attempt(len, collection)
        repr(collection)
        attempt(collection.stats)
        ids = [100, 107, 126, 5] if rng.random() < 0.5 else ["ö 0'", "ö 7'", "nobody"]
        for one in ids:
            attempt(collection.get, [one])
            attempt(collection.search_item, one, modality="x", k=3)
        width = -(-collection.n_bits // 8)
        for where in (None, {"n": {"lt": 12}}, {"group": "a"}, {"not": {"text": None}}):
            attempt(collection.search_codes, np.zeros((1, width), np.uint8), k=5, where=where)
        for modality in collection.modalities:
            attempt(collection.search, np.zeros((1, 6)), modality=modality)
        attempt(collection.search, {"x": np.zeros((1, 6)), "y": np.zeros((1, 5))})
        for text in ("red", "apples", "aple", "x" * 70, 'NEAR("red")', "\ud800"):
            attempt(collection.match_words, text)
            attempt(collection.search_words, [text], where=rng.choice([None, {"n": {"lt": 12}}]))
        report = attempt(collection.verify)
        try:
            found = read_everything(collection)
        except DiffhashError as error:
            if report is not None and report.ok:
                raise WrongAnswerError(f"verify calls a file correct that cannot be read: {error}") from error
            return False
        if report is not None and report.ok and expected is not None and found != expected:
            raise WrongAnswerError(f"verify calls a changed file correct: {_difference(expected, found)}")
        return report is not None and report.ok


def _difference(expected: Any, found: Any) -> str:
    return next(
        (
            f"{a!r:.100} became {b!r:.100}"
            for a, b in zip(_leaves(expected), _leaves(found), strict=False)
            if a != b
        ),
        "other sizes",
    )


def _leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, list) else [value]


def hostile_writes(path: Path, rng: random.Random) -> None:
    """Write to a collection that may be damaged."""
    with dh.Collection.open(path, writable=True) as collection:
        ids = attempt(_new_ids, collection, 3) or [1, 2, 3]
        width = -(-collection.n_bits // 8)
        codes = np.zeros((3, width), dtype=np.uint8)
        payloads = [{"n": 1, "group": "z", "caption": "a new car"}, None, {}]
        calls: list[Callable[[], Any]] = [
            lambda: collection.add_codes(codes, modality="x", ids=ids, payloads=payloads),
            lambda: collection.add_codes(codes, modality="y"),
            lambda: collection.add({"x": np.zeros((2, 6)), "y": np.zeros((2, 5))}, ids=ids[:2]),
            lambda: collection.upsert_codes(codes[:1], modality="x", ids=ids[:1], payloads=[{"n": 3}]),
            lambda: collection.delete([101, 102] if isinstance(ids[0], int) else ["ö 1'"]),
            lambda: collection.index_payload("n"),
            lambda: collection.index_words(rng.choice(["caption", "group"])),
            lambda: collection.compact(),
            lambda: collection.export(path.with_name("out.parquet")),
        ]
        rng.shuffle(calls)
        for call in calls:
            attempt(call)
        attempt(collection.verify)
