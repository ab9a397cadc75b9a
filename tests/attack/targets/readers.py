"""Input files of every kind: arrays, tables, and files of data sets."""

from __future__ import annotations

import io
import os
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from diffhash import datasets, files, workflows
from diffhash.files import Source

from ..case import Use, WrongAnswerError, attempt
from ..mutate import hostile_array, hostile_json, hostile_text, json_bytes, mutate_bytes
from .parquet_tables import table_bytes

__all__ = [
    "CONTENTS",
    "make_csv",
    "make_dataset",
    "make_jsonl",
    "make_npy",
    "make_npz",
    "make_parquet",
    "make_shards",
]


class _Canary:
    """Unpickling this makes a folder beside the case: proof that a file has run code."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("canary",)


def npy(rng: random.Random) -> bytes:
    """An ``.npy`` file with a hostile header or content."""
    array = rng.choice(
        [
            np.arange(12)
            .astype(rng.choice(["<f4", "<f8", ">f8", "<i8", "|u1", "<c16", "<f2", "?"]))
            .reshape(4, 3),
            np.arange(6),
            np.array(["a", "é", ""]),
            np.zeros((0, 3)),
            np.zeros((3, 0)),
            np.zeros(3, dtype=[("a", "<f8"), ("b", "S2")]),
            np.asfortranarray(np.ones((3, 4), dtype=np.float32)),
            np.array([_Canary()], dtype=object),
            np.array(["2020-01-01", "NaT"], dtype="M8[s]"),
        ]
    )
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    data = buffer.getvalue()
    if rng.random() < 0.6:
        data = _header(rng, array) + data[data.index(b"\n", 10) + 1 :]
    return mutate_bytes(rng, data) if rng.random() < 0.3 else data


def _header(rng: random.Random, array: Any) -> bytes:
    values = {"descr": repr(array.dtype.str), "fortran_order": "False", "shape": repr(array.shape)}
    for key in rng.sample(sorted(values), rng.choice([1, 1, 2])):
        values[key] = rng.choice(
            [
                repr(
                    rng.choice(
                        [
                            "<f8",
                            "|O",
                            "|u1",
                            "<U9999999",
                            "|V0",
                            "<U0",
                            "<f3",
                            "",
                            "f8,f8",
                            "<m8",
                            "|S2147483647",
                        ]
                    )
                ),
                repr(
                    rng.choice(
                        [
                            (),
                            (0,),
                            (4, 3),
                            (-1, 3),
                            (2**40, 2**40),
                            (2**62, 4),
                            (1e3, 2),
                            (True, 2),
                            (3,) * 70,
                        ]
                    )
                ),
                repr(rng.choice([10**400, None, "x", [("a", "<f8")] * 3, {}, True, 1.5])),
                "(" * 300 + ")" * 300,
                "'" + "x" * 9000 + "'",
                "__import__('os')",
                "1 if",
                "\0",
            ]
        )
    items = [f"'{key}': {value}" for key, value in values.items()]
    if rng.random() < 0.1:
        items.append(rng.choice(["'more': 1", items[0]]))
    text = ("{" + ", ".join(items) + ", }").encode("utf-8", "replace") + b"\n"
    version = rng.choice([(1, 0), (1, 0), (2, 0), (3, 0), (9, 9)])
    width = 2 if version == (1, 0) else 4
    return b"\x93NUMPY" + bytes(version) + (len(text) % 2 ** (8 * width)).to_bytes(width, "little") + text


def npz(rng: random.Random) -> bytes:
    """An archive of arrays with hostile members or directory."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(rng.choice([0, 1, 1, 2, 3])):
            name = rng.choice(
                ["a.npy", "labels.npy", f"{number}.npy", "note.txt", "../x.npy", hostile_text(rng) + ".npy"]
            )
            kind = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
            info = zipfile.ZipInfo(name.encode("utf-8", "replace").decode())
            info.compress_type = kind
            archive.writestr(info, npy(rng))
    data = bytearray(buffer.getvalue())
    if rng.random() < 0.2:
        # Say that a member is encrypted, or compressed in another way.
        for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            place = data.find(mark)
            if place >= 0:
                data[place + at + 2 * rng.randrange(2)] = rng.choice([1, 9, 12, 14, 93, 99])
    return mutate_bytes(rng, bytes(data)) if rng.random() < 0.6 else bytes(data)


def csv(rng: random.Random) -> bytes:
    """A table as text."""
    delimiter = rng.choice([",", ",", ";", "\t"])
    width = rng.randrange(1, 5)
    lines = [[rng.choice(["a", "id", "file", "text", "x", "y", "", hostile_text(rng)]) for _ in range(width)]]
    lines = lines if rng.random() < 0.7 else []
    for _ in range(rng.choice([0, 1, 3, 20])):
        cells = width if rng.random() < 0.95 else rng.randrange(6)
        lines.append([_cell(rng) for _ in range(cells)])
    text = rng.choice(["\n", "\n", "\r\n", "\r"]).join(delimiter.join(line) for line in lines)
    data = rng.choice([b"", b"", b"\xef\xbb\xbf"]) + text.encode(
        "utf-8", rng.choice(["replace", "surrogatepass"])
    )
    return mutate_bytes(rng, data) if rng.random() < 0.4 else data


def _cell(rng: random.Random) -> str:
    if rng.random() < 0.7:
        return str(rng.choice([0, 1, 2, rng.random(), -3, 1e300]))
    text = hostile_text(rng)
    return rng.choice(
        [text, f'"{text}"', '"', '"a', '"a""b"', '"\n"', "9" * 400, "x" * 140_000, "nan", "-inf", "1_0", "０"]
    )


def jsonl(rng: random.Random) -> bytes:
    """JSON lines: arrays, objects, or neither."""
    lines = []
    form = rng.randrange(4)
    for _ in range(rng.choice([1, 3, 20])):
        value: Any = [rng.random() for _ in range(3)]
        if form == 1:
            value = {"id": rng.randrange(9), "vector": value, "text": hostile_text(rng)}
        elif form == 2:
            value = {"a": rng.random(), "b": rng.randrange(5)}
        elif form == 3:
            value = hostile_json(rng)
        if rng.random() < 0.15:
            value = rng.choice(
                [hostile_json(rng), [hostile_json(rng)] * 3, {"a": hostile_json(rng), "vector": [10**400]}]
            )
        lines.append(json_bytes(value))
    data = rng.choice([b"\n", b"\n", b"\r\n", b"\n\n"]).join(lines)
    return mutate_bytes(rng, data) if rng.random() < 0.3 else data


def parquet(rng: random.Random) -> bytes:
    """A Parquet file, with types of every kind or with changed bytes."""
    data = table_bytes(rng)
    return data if rng.random() < 0.4 else mutate_bytes(rng, data)


CONTENTS: dict[str, Callable[[random.Random], bytes]] = {
    ".npy": npy,
    ".npz": npz,
    ".csv": csv,
    ".jsonl": jsonl,
    ".parquet": parquet,
}


def make_npy(rng: random.Random, folder: Path) -> Use:
    """A hostile ``.npy`` file."""
    return _make(rng, folder, ".npy")


def make_npz(rng: random.Random, folder: Path) -> Use:
    """A hostile ``.npz`` file."""
    return _make(rng, folder, ".npz")


def make_csv(rng: random.Random, folder: Path) -> Use:
    """A hostile ``.csv`` file."""
    return _make(rng, folder, ".csv")


def make_jsonl(rng: random.Random, folder: Path) -> Use:
    """A hostile ``.jsonl`` file."""
    return _make(rng, folder, ".jsonl")


def make_parquet(rng: random.Random, folder: Path) -> Use:
    """A hostile Parquet file."""
    return _make(rng, folder, ".parquet")


def _make(rng: random.Random, folder: Path, ending: str) -> Use:
    path = folder / f"input{ending}"
    path.write_bytes(CONTENTS[ending](rng))
    part = rng.choice([None, None, "a", "labels", "vector", "a,b", "x:y", "0", "0:1", "", ":"])
    name = os.fspath(path) if part is None else f"{path}#{part}"
    return lambda: _use(path, name, folder)


def _use(path: Path, name: str, folder: Path) -> bool:
    attempt(workflows.info, name)
    attempt(workflows.verify, name)
    features = attempt(files.open_features, name)
    if features is not None:
        attempt(lambda: [block.sum() for block in features.blocks(2)])
        attempt(lambda: features.array().shape)
        attempt(features.count)
    if path.suffix in files.TABLE_KINDS:
        table = attempt(files.open_table, name)
        if table is not None:
            attempt(lambda: list(table.rows()))
            attempt(table.column)
    else:
        attempt(files.read_codes, name)
        files.is_codes_file(path)
        attempt(lambda: files.load_array(Source.parse(name)))
    attempt(files.read_pairs, name, ["x", "y"])
    attempt(files.read_pairs, name, ["x", "y"], {"x": [0, 1, 2], "y": ["a", "b"]})
    attempt(files.read_ids, name)
    labels = attempt(files.read_labels, {"x": name})
    if (folder / "canary").exists():
        raise WrongAnswerError("a pickle in the file was run")
    return features is not None or labels is not None


def dataset(rng: random.Random) -> bytes:
    """Views and labels of a data set in an archive, some of them unusual."""
    rows = np.random.default_rng(rng.randrange(2**32))
    arrays: dict[str, Any] = {}
    for part, n in (("train", 6), ("test", 3)):
        arrays |= {f"image_{part}": rows.normal(size=(n, 4)), f"text_{part}": rows.normal(size=(n, 3))}
        arrays[f"labels_{part}"] = rng.choice([rows.integers(0, 3, n), rows.integers(0, 2, (n, 2)) > 0])
    for name in rng.sample(sorted(arrays), rng.choice([0, 1, 1, 2])):
        arrays[name] = hostile_array(rng)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return mutate_bytes(rng, buffer.getvalue()) if rng.random() < 0.3 else buffer.getvalue()


def make_dataset(rng: random.Random, folder: Path) -> Use:
    """A file of a data set. MATLAB files are left out: SciPy crashes on damaged ones, and SECURITY.md says so."""
    path = folder / f"data{rng.choice(['.npz', '.npz', '.npy'])}"
    content = dataset if path.suffix == ".npz" and rng.random() < 0.7 else CONTENTS[path.suffix]
    path.write_bytes(content(rng))

    def use() -> bool:
        split = attempt(datasets.files.load_split, path)
        attempt(datasets.files.load_mirflickr, path)
        attempt(datasets.files.load_embeddings, path, path)
        if (folder / "canary").exists():
            raise WrongAnswerError("a pickle in the file was run")
        return split is not None

    return use


def make_shards(rng: random.Random, folder: Path) -> Use:
    """A folder of shards of which some are hostile, read as the tasks of a cluster read them."""
    from diffhash.cluster.shards import ShardBlocks, open_shards

    shards = folder / "shards"
    shards.mkdir()
    for number in range(rng.choice([0, 1, 2, 3])):
        kind = rng.choice(["npy", "npy", "parquet"])
        name = rng.choice([f"part-{number}", f"part-{number * 7}", f"{number}", "é", "part"])
        buffer = io.BytesIO()
        np.save(buffer, np.arange(rng.choice([0, 3, 12])).reshape(-1, 3) / 7)
        plain = buffer.getvalue()
        data = table_bytes(rng) if kind == "parquet" else rng.choice([plain, plain, npy(rng)])
        (shards / f"{name}.{kind}").write_bytes(data)
    if rng.random() < 0.1:
        (shards / rng.choice(["x.npy", "x.parquet"])).mkdir(exist_ok=True)

    def use() -> bool:
        given = open_shards(f"{shards}{rng.choice(['', '', '#a', '#embedding'])}", what="attack")
        blocks = ShardBlocks(given, step=2)
        read = [blocks.block(number).read() for number in range(len(blocks.sizes))]
        if sum(len(part) for part in read) != blocks.shape[0]:
            raise WrongAnswerError("blocks have other numbers of rows than their shards")
        blocks.take(np.arange(blocks.shape[0])).read()
        return True

    return use
