"""Model files: a tree of JSON and a table of arrays, changed and packed again with the right checksum."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import diffhash as dh
from diffhash import workflows
from diffhash.model.file import _checksum, is_model_file
from diffhash.model.serialization import load_model
from diffhash.search.calibration import chance_at, false_match_limit

from ..case import Use, WrongAnswerError, attempt
from ..mutate import hostile_text, json_bytes, mutate_bytes, mutate_json
from ..paths import GOLDEN

__all__ = ["content", "make", "pack", "split"]

_TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U8": "|u1", "BOOL": "|b1", "F16": "<f2", "I32": "<i4"}


class Array(NamedTuple):
    """An array of a file; its description may contradict its bytes."""

    kind: str
    shape: list[Any]
    data: bytes


def split(data: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a model file."""
    length = int.from_bytes(data[:8], "little")
    described = json.loads(data[8 : 8 + length])
    body = data[8 + length :]
    arrays = {
        name: Array(value["dtype"], value["shape"], body[slice(*value["data_offsets"])])
        for name, value in described.items()
        if name != "__metadata__"
    }
    return json.loads(described["__metadata__"]["diffhash"]), arrays


def pack(header: Any, arrays: dict[str, Array]) -> bytes:
    """A model file with the right checksum, if the arrays can have one."""
    text = json_bytes(header).decode()
    described: dict[str, Any] = {"__metadata__": {"diffhash": text, "sha256": _sum(text, arrays)}}
    start = 0
    for name, array in sorted(arrays.items()):
        end = start + len(array.data)
        described[name] = {"dtype": array.kind, "shape": array.shape, "data_offsets": [start, end]}
        start = end
    head = json.dumps(described).encode()
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head + b"".join(arrays[name].data for name in sorted(arrays))


def _sum(text: str, arrays: dict[str, Array]) -> str:
    try:
        return _checksum(text, {name: _tensor(array) for name, array in arrays.items()})
    except (ValueError, TypeError, OverflowError, KeyError, MemoryError, UnicodeEncodeError):
        return "0" * 64


def _tensor(array: Array) -> NDArray[Any]:
    return np.frombuffer(array.data, dtype=_TYPES[array.kind]).reshape(array.shape)


def content(rng: random.Random) -> bytes:
    """A changed model file."""
    data = rng.choice(sorted(GOLDEN.glob("*.dhm"))).read_bytes()
    if rng.random() < 0.2:
        return mutate_bytes(rng, data)
    header, arrays = split(data)
    if rng.random() < 0.6:
        header = mutate_json(rng, header)
    for _ in range(rng.choice([0, 1, 1, 3])):
        _change_array(rng, arrays)
    packed = pack(header, arrays)
    if rng.random() < 0.1:
        # The description of the arrays, which the checksum does not see.
        length = int.from_bytes(packed[:8], "little")
        head = json_bytes(mutate_json(rng, json.loads(packed[8 : 8 + length])))
        packed = len(head).to_bytes(8, "little") + head + packed[8 + length :]
    return packed


def _change_array(rng: random.Random, arrays: dict[str, Array]) -> None:
    name = rng.choice(sorted(arrays)) if arrays else "x"
    kind, shape, data = arrays.get(name, Array("F64", [0], b""))
    action = rng.randrange(8)
    if action == 0:
        arrays.pop(name, None)
    elif action == 1:
        arrays[
            rng.choice([hostile_text(rng), "extra/a", "map/0/landmarks", "projection/9"]).replace(
                "\ud800", "?"
            )
        ] = Array(kind, shape, data)
    elif action == 2:
        # No numbers, but a huge number of columns.
        arrays[name] = Array(kind, rng.choice([[0, 2_000_000_000], [2**40, 0], [0], [], [0] * 40]), b"")
    elif action == 3:
        count = rng.choice([1, 2, 1000])
        width = rng.choice([1, 3, 8])
        arrays[name] = Array(
            "F64", [count, width], np.random.default_rng(0).normal(size=count * width).tobytes()
        )
    elif action == 4 and kind in _TYPES:
        other = rng.choice(sorted(_TYPES))
        values = np.frombuffer(data, dtype=_TYPES[kind])
        with np.errstate(all="ignore"):
            arrays[name] = Array(other, shape, values.astype(_TYPES[other]).tobytes())
    elif action == 5 and kind in ("F64", "F32"):
        values = np.frombuffer(data, dtype=_TYPES[kind]).copy()
        if len(values):
            values[rng.randrange(len(values))] = rng.choice([np.nan, np.inf, 1e38, -1e38, 0.0, 1e-38, -1.0])
        arrays[name] = Array(kind, shape, values.tobytes())
    elif action == 6:
        arrays[name] = Array(kind, [math.prod(shape), *([1] * rng.randrange(3))], data)
    else:
        arrays[name] = Array(kind, shape[::-1], data)


def make(rng: random.Random, folder: Path) -> Use:
    """A changed model file, loaded and used in every way."""
    path = folder / "model.dhm"
    path.write_bytes(content(rng))
    if rng.random() < 0.02:
        # The tail takes no space on the disk.
        with path.open("rb+") as file:
            file.truncate(400_000_000)
    return lambda: use(path)


def use(path: Path) -> bool:
    """Do with a model file what users do; true if it can be loaded."""
    is_model_file(path)
    attempt(workflows.info, path)
    attempt(workflows.verify, path)
    attempt(load_model, path)
    hasher = attempt(dh.load, path)
    if hasher is None:
        return False
    model = hasher.model_
    repr(hasher), repr(model), hasher.get_params()
    for modality in model.modalities:
        features = np.ones((2, model.n_features[modality]))
        attempt(hasher.encode, features, modality=modality)
        attempt(hasher.project, features.astype(np.float32), modality=modality)
        for raw in (["a light bar", "\0"], [np.zeros((9, 5), dtype=np.uint8)]):
            attempt(hasher.encode_raw, raw, modality=modality)
    for couple in model.calibration.couples.values() if model.calibration is not None else ():
        chances = attempt(chance_at, couple, 100)
        if chances is not None and not ((chances >= 0) & (chances <= 1)).all():
            raise WrongAnswerError("a chance is not between 0 and 1")
        attempt(false_match_limit, couple, 100, 10.0, caller="attack")
    again = path.with_name("again.dhm")
    if attempt(hasher.save, again) is None and again.exists():
        attempt(dh.load, again)
    return True
