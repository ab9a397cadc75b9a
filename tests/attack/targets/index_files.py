"""Index files (.dhi): a JSON header and two arrays."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np

import diffhash as dh
from diffhash import workflows

from ..case import Use, attempt
from ..mutate import json_bytes, mutate_bytes, mutate_json

__all__ = ["content", "make"]


def content(rng: random.Random) -> bytes:
    """A changed index file."""
    n, n_bits = rng.choice([0, 1, 9]), rng.choice([8, 12, 64])
    width = -(-n_bits // 8)
    codes = np.full((n, width), 3, dtype=np.uint8)
    ids = rng.sample(range(-50, 50), n)
    header = {
        "__metadata__": {"diffhash_index": json.dumps({"format_version": 1, "n_bits": n_bits})},
        "ids": {"dtype": "I64", "shape": [n], "data_offsets": [0, 8 * n]},
        "codes": {"dtype": "U8", "shape": [n, width], "data_offsets": [8 * n, 8 * n + codes.size]},
    }
    if rng.random() < 0.6:
        header = mutate_json(rng, header)
    if rng.random() < 0.3 and isinstance(header, dict) and isinstance(header.get("__metadata__"), dict):
        described = mutate_json(rng, {"format_version": 1, "n_bits": n_bits})
        header["__metadata__"]["diffhash_index"] = json_bytes(described).decode()
    text = json_bytes(header)
    text += b" " * (-len(text) % 8)
    data = len(text).to_bytes(8, "little") + text + np.array(ids, dtype="<i8").tobytes() + codes.tobytes()
    return mutate_bytes(rng, data) if rng.random() < 0.4 else data


def make(rng: random.Random, folder: Path) -> Use:
    """A changed index file, loaded, searched and changed."""
    path = folder / "codes.dhi"
    path.write_bytes(content(rng))

    def use() -> bool:
        attempt(workflows.info, path)
        attempt(workflows.verify, path)
        index = attempt(dh.HammingIndex.load, path)
        if index is None:
            return False
        query = np.zeros((2, index.codes.shape[1]), dtype=np.uint8)
        attempt(index.search, query, 3)
        attempt(index.within, query, 2)
        attempt(index.get, index.ids[:2])
        attempt(index.add, query)
        attempt(index.remove, index.ids[:1])
        attempt(index.save, path)
        return True

    return use
