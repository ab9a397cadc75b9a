"""Hostile bytes, JSON and Python values, made from a random generator."""

from __future__ import annotations

import copy
import json
import random
import struct
from typing import Any

import numpy as np
import scipy.sparse

__all__ = ["hostile_json", "hostile_object", "hostile_text", "json_bytes", "mutate_bytes", "mutate_json"]

_NUMBERS = [0, 1, 2, 7, 8, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**53, 2**62]
_NUMBERS += [2**63 - 1, 2**63, 2**64 - 1]
_TEXTS = [
    "",
    "\0",
    "a\0b",
    "x" * 5000,
    "\ud800",
    "é\u202e",
    "\x1b[31m",
    "\x9b2J",
    "../../x",
    "0",
    "nan",
    "#",
    "'",
]
_TEXTS += [
    "x",
    "y",
    "image",
    "text",
    "\r\n",
    "1e999",
    "9" * 400,
    "DROP TABLE meta",
    "linear",
    "kernel",
    "dict",
    "array",
]
#: Texts that stand for JSON that Python's encoder does not write.
_RAW = {"@deep@": "[" * 100_000 + "]" * 100_000, "@digits@": "1" * 5000}


def hostile_text(rng: random.Random) -> str:
    """A text that is unusual, or the name of something."""
    return rng.choice(_TEXTS)


def hostile_json(rng: random.Random) -> Any:
    """A JSON value that is rarely expected."""
    return rng.choice(
        [
            None,
            True,
            False,
            rng.choice(_NUMBERS),
            -rng.choice(_NUMBERS),
            10**400,
            1.5,
            -0.0,
            5e-324,
            1e308,
            float("nan"),
            float("inf"),
            rng.choice(_TEXTS),
            rng.choice(list(_RAW)),
            [],
            {},
            [[]],
            [rng.choice(_NUMBERS)] * 3,
            {rng.choice(_TEXTS): rng.choice(_NUMBERS)},
        ]
    )


def json_bytes(value: Any) -> bytes:
    """A tree with hostile values as JSON."""
    text = json.dumps(value)
    for name, raw in _RAW.items():
        text = text.replace(f'"{name}"', raw)
    return text.encode()


def mutate_json(rng: random.Random, value: Any, count: int | None = None) -> Any:
    """A copy of a JSON tree with a few changes."""
    tree = [copy.deepcopy(value)]
    for _ in range(rng.choice([1, 1, 1, 2, 4]) if count is None else count):
        _change_one(rng, tree)
    return tree[0]


def _change_one(rng: random.Random, tree: list[Any]) -> None:
    places: list[tuple[Any, Any]] = []

    def visit(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                visit(node[key])

    visit(tree)
    parent, key = rng.choice(places)
    old = parent[key]
    action = rng.choice(["hostile", "hostile", "near", "delete", "swap", "again", "wrap", "text"])
    if action == "delete" and parent is not tree:
        del parent[key]
    elif action == "swap":
        parent[key] = copy.deepcopy(_other(rng, places))
    elif action == "again" and isinstance(parent, list) and parent is not tree:
        parent.insert(key, copy.deepcopy(old))
    elif action == "again" and isinstance(parent, dict):
        parent[hostile_text(rng)] = copy.deepcopy(old)
    elif action == "near" and isinstance(old, int | float) and not isinstance(old, bool):
        parent[key] = rng.choice(
            [old + 1, old - 1, -old, old * 2, old / 2 if abs(old) < 1e9 else 0, bool(old), str(old)]
        )
    elif action == "wrap":
        parent[key] = rng.choice([[old], {"dict": old}, {"array": old}])
    elif action == "text" and isinstance(old, str):
        parent[key] = old[: rng.randrange(len(old) + 1)] + hostile_text(rng)
    else:
        parent[key] = hostile_json(rng)


def _other(rng: random.Random, places: list[tuple[Any, Any]]) -> Any:
    parent, key = rng.choice(places)
    return parent[key]


def mutate_bytes(rng: random.Random, data: bytes, count: int | None = None) -> bytes:
    """A copy of some bytes with a few changes."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8]) if count is None else count):
        if not changed:
            break
        at = rng.randrange(len(changed))
        end = min(len(changed), at + rng.choice([1, 2, 8, 64, 512, 4096]))
        action = rng.randrange(9)
        if action <= 1:
            changed[at] ^= 1 << rng.randrange(8)
        elif action == 2:
            changed[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif action == 3:
            number = rng.choice(_NUMBERS) & (2**64 - 1)
            width = rng.choice(["<H", "<I", "<Q", ">H", ">I", ">Q"])
            packed = struct.pack(width, number & (2 ** (8 * struct.calcsize(width)) - 1))
            changed[at : at + len(packed)] = packed
        elif action == 4:
            changed[at:end] = b""
        elif action == 5:
            changed[at:end] = bytes(end - at)
        elif action == 6:
            changed[at:at] = changed[at:end] if rng.random() < 0.5 else rng.randbytes(end - at)
        elif action == 7:
            del changed[at:]
        else:
            other = rng.randrange(len(changed))
            changed[at:end] = changed[other : other + end - at].ljust(end - at, b"\0")
    return bytes(changed)


def hostile_object(rng: random.Random) -> Any:
    """A Python value that is rarely expected as an argument."""
    sparse = scipy.sparse.random_array(
        (4, 6), density=0.5, random_state=np.random.default_rng(rng.randrange(2**32))
    )
    return rng.choice(
        [
            lambda: hostile_json(rng),
            lambda: hostile_text(rng),
            lambda: rng.choice(
                [np.nan, -np.inf, 1e300, 1e-300, np.float32(1e30), np.int64(-1), np.bool_(True)]
            ),
            lambda: rng.choice([b"", b"\xff", bytearray(3), memoryview(b"abc")]),
            lambda: rng.choice(
                [object(), type, len, range(3), iter([1]), set(), {1, 2}, (), (1, "a"), 1j, Ellipsis]
            ),
            lambda: hostile_array(rng),
            lambda: sparse.tocsr() if rng.random() < 0.5 else sparse.tocoo(),
        ]
    )()


def hostile_array(rng: random.Random) -> Any:
    """An array of an unusual type, shape, order or content."""
    shape = rng.choice([(), (0,), (3,), (1, 0), (0, 2), (4, 2), (4, 6), (1, 1, 1), (2, 5000)])
    kind = rng.choice(
        ["f4", "f8", ">f8", "f2", "i8", "u8", "u1", "i1", "?", "c16", "O", "U3", "S3", "M8[s]", "V4", "g"]
    )
    array = np.zeros(shape, dtype=kind)
    if array.dtype.kind == "f" and array.size:
        array[...] = rng.choice([0.0, 1.0, -1.0, 6e4])
        array.flat[0] = (
            rng.choice([np.nan, np.inf, -np.inf, 1e30, 1e300, 1e-300, -0.0]) if kind != "f2" else np.nan
        )
    elif array.dtype.kind in "iu" and array.size:
        array.flat[0] = np.iinfo(array.dtype).max
    change = rng.randrange(5)
    if change == 0:
        return np.asfortranarray(array)
    if change == 1 and array.ndim:
        return array[::-1]
    if change == 2 and array.ndim == 2:
        return np.broadcast_to(array[:1], (5, array.shape[1])) if len(array) else array.T
    if change == 3:
        return array.tolist()
    return array
