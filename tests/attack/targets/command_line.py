"""The command line with hostile files, names and arguments: one line of error, and nothing that moves the terminal."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from diffhash.cli.app import run_app

from ..case import Use, WrongAnswerError
from ..mutate import hostile_text, mutate_bytes
from ..paths import GOLDEN
from . import index_files, model_files, readers
from .collection_calls import hostile_filter
from .collection_files import bases
from .pictures import picture_bytes

__all__ = ["make"]

#: Control characters, except for the end of a line and the tabulator.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STATUSES = {0, 1, 2, 3}


def make(rng: random.Random, folder: Path) -> Use:
    """A command with files of which some are hostile."""
    arguments = _command(rng, folder)
    if rng.random() < 0.4:
        arguments.append("--json")
    if rng.random() < 0.2:
        arguments.insert(rng.randrange(len(arguments) + 1), hostile_text(rng).replace("\0", "?"))
    return lambda: _run(arguments)


def _command(rng: random.Random, folder: Path) -> list[str]:
    out = rng.choice(["out", "out", "missing/out", "x" * 300])
    model, collection = _model(rng, folder), _collection(rng, folder)
    features = _input(rng, folder)
    rows = folder / "rows.npy"
    np.save(rows, np.random.default_rng(0).normal(size=(20, 6)))
    table = _file(rng, folder, "table.csv", readers.csv(rng))
    name = rng.choice(
        [
            "info",
            "info",
            "verify",
            "verify",
            "search",
            "search",
            "encode",
            "evaluate",
            "export",
            "fit",
            "build",
        ]
    )
    if name in ("info", "verify"):
        return [
            name,
            rng.choice(
                [model, collection, features, table, _picture(rng, folder), os.fspath(folder), "/dev/null"]
            ),
        ]
    if name == "search":
        query = rng.choice(
            [
                ["--vector", rng.choice([features, os.fspath(rows)])],
                ["--vector", f"x={rows}", "--vector", f"y={features}"],
                ["--item", rng.choice(["100", "ö 0'", hostile_text(rng).replace("\0", "?"), "9" * 400])],
                [hostile_text(rng).replace("\0", "?")],
                ["--image", _picture(rng, folder)],
            ]
        )
        where = rng.choice(
            [
                [],
                ["--where", json.dumps(hostile_filter(rng))],
                ["--where", f"n>={hostile_text(rng)}".replace("\0", "?")],
            ]
        )
        return [
            name,
            collection,
            *query,
            *where,
            "-k",
            str(rng.choice([1, 3, 2**62, 2**70])),
            "--modality",
            "x",
        ]
    if name == "encode" and rng.random() < 0.4:
        # Fused codes of two views.
        both = ["--view", f"x={rows}", "--view", f"y={rng.choice([features, rows])}"]
        ids = rng.choice([[], ["--ids", f"{table}#id"], ["--ids", f"x={table}#id", "--ids", f"y={features}"]])
        return [name, rng.choice([model, collection]), *both, *ids, "-o", f"{folder}/{out}.npy"]
    if name == "encode":
        return [
            name,
            rng.choice([model, collection]),
            rng.choice([features, os.fspath(rows)]),
            "-o",
            f"{folder}/{out}.npy",
        ]
    if name == "export":
        ending = rng.choice([".parquet", ".npy", ".faiss", ".dh"])
        return [name, collection, "-o", f"{folder}/{out}{ending}", "--modality", "x"]
    views = ["--view", f"x={rng.choice([features, rows])}", "--view", f"y={rows}"]
    related = rng.choice(
        [
            [],
            ["--labels", f"{table}#a"],
            ["--pairs", table],
            ["--pairs", f"x:y={table}"],
            ["--pairs", f"x:x={table}", "--negatives", f"y:x={features}"],
            ["--aligned"],
            ["--ids", f"{table}#id"],
            ["--ids", f"x={table}#id", "--ids", f"y={table}#a"],
        ]
    )
    if rng.random() < 0.2:
        views += ["--view", f"z={rng.choice([features, rows])}"]
    if name == "evaluate":
        return [name, model, *views, *related, *rng.choice([[], ["--within"], ["--fused"]])]
    ending = {"fit": ".dhm", "build": ".dh"}[name]
    more = ["--payload", table] if name == "build" and rng.random() < 0.5 else []
    if name == "build" and rng.random() < 0.3:
        more += ["--fused", rng.choice(["xy", "x", hostile_text(rng).replace("\0", "?")])]
    return [name, *views, *related, *more, "--method", "diff", "--bits", "2", "-o", f"{folder}/{out}{ending}"]


def _file(rng: random.Random, folder: Path, name: str, data: bytes) -> str:
    """A file whose name may be hostile too."""
    strange = rng.choice(["", "", "", "\x1b[31m", "\x9b2J", "a\nb", "é", "\udcff", "#", "x" * 300, " ", "'"])
    path = folder / f"{strange}{name}"
    with contextlib.suppress(OSError):
        path.write_bytes(data)
    return os.fspath(path)


def _model(rng: random.Random, folder: Path) -> str:
    data = model_files.content(rng) if rng.random() < 0.7 else (GOLDEN / "diff-v1.dhm").read_bytes()
    return _file(rng, folder, "model.dhm", data)


def _collection(rng: random.Random, folder: Path) -> str:
    data = rng.choice(bases())[0].read_bytes()
    if rng.random() < 0.3:
        data = mutate_bytes(rng, data)
    elif rng.random() < 0.4:
        # Payloads and field names with escapes of a terminal.
        path = folder / "hostile.dh"
        _fill_with_escapes(path)
        return os.fspath(path)
    return _file(rng, folder, "objects.dh", data)


def _fill_with_escapes(path: Path) -> None:
    import diffhash as dh

    shutil.copy(bases()[0][0], path)
    with dh.Collection.open(path, writable=True) as collection:
        payload = {"\x1b[31mname": "\x1b]0;title\x07", "\x9b2J": ["\x1b"], "a\rb": "c\rd", "[red]": "[/red]"}
        collection.upsert_codes(np.array([[2]], np.uint8), modality="x", ids=[100], payloads=[payload])


def _input(rng: random.Random, folder: Path) -> str:
    ending = rng.choice([*readers.CONTENTS, ".dhi"])
    data = index_files.content(rng) if ending == ".dhi" else readers.CONTENTS[ending](rng)
    return _file(rng, folder, f"input{ending}", data) + rng.choice(["", "", "#a", "#"])


def _picture(rng: random.Random, folder: Path) -> str:
    return _file(rng, folder, "picture.png", picture_bytes(rng, "png"))


@contextlib.contextmanager
def _captured() -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """Both streams as a process has them: UTF-8, and no character that is not valid."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=errors)
        for errors in ("strict", "backslashreplace")
    )
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


def _run(arguments: list[str]) -> bool:
    with _captured() as (out, err):
        status = run_app(arguments)
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    printed, said = texts
    if status not in _STATUSES or re.search(r"unexpected \w+(Error|Exception)", said) or "Traceback" in said:
        raise WrongAnswerError(f"{arguments[0]} ended with status {status} and said: {said[-1000:]}")
    if _CONTROL.search(printed) or _CONTROL.search(said):
        raise WrongAnswerError(f"{arguments[0]} printed control characters: {(printed + said)!r:.1000}")
    if status in (1, 2) and printed == "" and len(said.splitlines()) != 1 and "[ERROR]" not in said:
        raise WrongAnswerError(f"{arguments[0]} did not say its error in one line: {said!r:.1000}")
    if "--json" in arguments and status == 0 and printed:
        json.loads(printed)
    return status == 0
