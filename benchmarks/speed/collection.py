"""Rows of the table about a collection of a million objects."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import diffhash as dh
from benchmarks.collection import fill, make_hasher, make_payloads

from .measuring import Line, line_of_time, measure

N = 1_000_000


def maintenance() -> list[Line]:
    """What a user waits for after a collection was filled."""
    codes = np.random.default_rng(0).integers(0, 256, (N, 8), dtype=np.uint8)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "c.dh"
        fill(path, make_hasher(), codes, payloads=make_payloads(N))
        with dh.Collection.open(path, writable=True) as collection:
            calls = {
                "verify": (collection.verify, 2.0),
                "index_payload": (lambda: collection.index_payload("group"), 2.0),
                "compact": (collection.compact, None),
            }
            return [
                line_of_time(f"collection of 10⁶ objects: {what}", measure(call), limit=limit)
                for what, (call, limit) in calls.items()
            ]
