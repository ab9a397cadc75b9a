"""What was measured of a dataset, in one JSON file, and the figures of every query beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from diffhash.types import FloatArray

from ..datasets import Dataset
from .machine import machine
from .methods import Method

#: Raised when figures mean something else than before: files of another format are measured anew.
FORMAT = 2
#: The method that is compared with the best peers.
OWN_METHOD = "RefinedHash"


class Results:
    """One JSON file per dataset. A method whose grid has changed is measured again.

    The figures of every query, from which paired intervals are made, are in an ``.npz`` file of the same
    name. It is not part of the repository: the intervals are.
    """

    def __init__(self, path: Path, dataset: Dataset) -> None:
        self.path = path
        self.data: dict[str, Any] = {
            "dataset": dataset.key,
            "format": FORMAT,
            "representations": {},
            "tuning": {},
            "cells": {},
            "differences": {},
        }
        self.queries: dict[str, FloatArray] = {}
        if path.is_file():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept.get("format") == FORMAT:
                self.data |= kept
                self._read_queries()

    def _read_queries(self) -> None:
        path = self.path.with_suffix(".npz")
        if path.is_file():
            with np.load(path) as file:
                self.queries = {key: file[key] for key in file.files}

    def forget(self, method: Method, widths: tuple[int, ...] = (), seeds: int | None = None) -> None:
        """Drop the cells of a method, or only those of some widths and of the first seeds.

        What was computed from these cells goes too. The setting of the method is dropped if no cell of it is
        left, so that all cells of a method have the same setting.
        """
        own = {key: cell for key, cell in self.data["cells"].items() if cell["method"] == method.name}
        dropped = {
            key: cell["width"]
            for key, cell in own.items()
            if (not widths or cell["width"] in widths or not method.binary)
            and (seeds is None or cell["seed"] < seeds)
        }
        self.data["cells"] = {key: c for key, c in self.data["cells"].items() if key not in dropped}
        self.queries = {
            key: values for key, values in self.queries.items() if key.rpartition(" | ")[0] not in dropped
        }
        self.data["differences"] = {
            key: gap
            for key, gap in self.data["differences"].items()
            if method.name not in (OWN_METHOD, gap["peer"])
            or int(key.partition(" ")[0]) not in dropped.values()
        }
        if len(dropped) == len(own):
            self.data["tuning"].pop(method.name, None)

    def drop_stale(self, method: Method) -> None:
        tuned = self.data["tuning"].get(method.name)
        if tuned is not None and tuned["grid"] != json.loads(json.dumps(method.factory.grid)):
            self.forget(method)

    def save(self) -> None:
        self.data["machine"] = machine()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_name(self.path.stem + ".part.npz")
        np.savez_compressed(draft, **self.queries)
        draft.replace(self.path.with_suffix(".npz"))
        draft = self.path.with_suffix(".part")
        draft.write_text(one_per_line(self.data), encoding="utf-8")
        draft.replace(self.path)


def cell_key(method: str, width: int, seed: int) -> str:
    return f"{method} | {width} | {seed}"


def queries_key(method: str, width: int, seed: int, protocol: str) -> str:
    return f"{cell_key(method, width, seed)} | {protocol}"


def one_per_line(data: dict[str, Any]) -> str:
    """JSON with a line for every cell: small, and readable as a difference."""
    parts = []
    for key, value in sorted(data.items()):
        if isinstance(value, dict):
            lines = (f"  {json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in sorted(value.items()))
            parts.append(f" {json.dumps(key)}: {{\n" + ",\n".join(lines) + "\n }")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
