"""Files of settings of featurizers, and columns of raw objects, with changed bytes and odd values."""

from __future__ import annotations

import json
import random
from pathlib import Path

from diffhash.featurizers import load_featurizer
from diffhash.files import Source
from diffhash.files.raw_features import RawFeatures, has_raw_objects

from ..case import Use, attempt
from ..mutate import mutate_bytes

__all__ = ["make"]

_NAMES = ("picture", "hog", "onnx-texts", "onnx-pictures", "os:system")
_VALUES = (1, -1, 0, 1e300, "x", "../x", "", None, [], [1, 2, 3], {"a": 1}, True, "\0")
_CELLS = ("a star", "", "../../etc/passwd", "/etc/passwd", '"', "1", "a\nb", "é", "x" * 5000)


def make(rng: random.Random, folder: Path) -> Use:
    """A file of settings, and a table whose column goes to a featurizer."""
    settings = {"featurizer": rng.choice([*_NAMES, 3, None])}
    for name in rng.sample(
        ["model", "size", "weight", "cells", "tokenizer", "scale", "mean"], rng.randrange(4)
    ):
        settings[name] = rng.choice(_VALUES)
    data = json.dumps(settings).encode()
    path, table = folder / "s.json", folder / "t.csv"
    path.write_bytes(mutate_bytes(rng, data) if rng.random() < 0.5 else data)
    rows = "\n".join(rng.choice(_CELLS) for _ in range(rng.randrange(6)))
    content = f"caption\n{rows}\n".encode()
    table.write_bytes(mutate_bytes(rng, content) if rng.random() < 0.3 else content)

    def use() -> bool:
        made = attempt(load_featurizer, path)
        if made is None:
            made = load_featurizer(rng.choice(("picture", "tests.own_raw_featurizers:LetterCounts")))
        source = attempt(Source.parse, f"{table}#caption")
        if source is None or not attempt(has_raw_objects, source):
            return False
        raw = attempt(RawFeatures, source, made)
        return raw is not None and attempt(raw.array) is not None

    return use
