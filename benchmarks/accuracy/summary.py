"""Cells of a dataset's results, gathered over seeds."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import DATASETS, Dataset
from .methods import METHODS
from .protocols import UNSEEN
from .results import FORMAT


@dataclass(frozen=True)
class Cell:
    """One method with one width, over all of its seeds."""

    runs: list[dict[str, Any]]

    @property
    def dash(self) -> str:
        return str(self.runs[0].get("dash", ""))

    @property
    def beyond_rank(self) -> bool:
        return any(run.get("beyond_rank") for run in self.runs)

    def values(self, key: str, way: str = "both", part: str = "mean", protocol: str = UNSEEN) -> list[float]:
        return [run[protocol][way][key][part] for run in self.runs if protocol in run]

    def mean(self, key: str, way: str = "both", part: str = "mean", protocol: str = UNSEEN) -> float:
        return float(np.mean(self.values(key, way, part, protocol)))

    @property
    def equal_error_rate(self) -> float:
        return float(np.mean([run[UNSEEN]["both"]["eer"] for run in self.runs]))

    @property
    def bytes(self) -> int:
        return int(self.runs[0]["bytes"])

    def cost(self, key: str) -> float:
        return float(np.mean([run[key] for run in self.runs]))


@dataclass(frozen=True)
class Summary:
    """All cells of a dataset by method and width."""

    dataset: Dataset
    data: dict[str, Any]
    cells: dict[str, dict[int, Cell]]

    @property
    def key(self) -> str:
        """Figure that leads: recall among the first ten where there are no labels."""
        return "map" if self.dataset.labelled else "recall"

    @property
    def figure(self) -> str:
        return "mAP" if self.dataset.labelled else "recall@10"

    @property
    def ways(self) -> list[str]:
        first, second = self.data["sizes"]["features"]
        return [f"{first} → {second}", f"{second} → {first}"]

    @property
    def seeds(self) -> int:
        return 1 + max(
            run["seed"] for widths in self.cells.values() for c in widths.values() for run in c.runs
        )

    def of(self, *, binary: bool) -> dict[str, dict[int, Cell]]:
        return {name: widths for name, widths in self.cells.items() if METHODS[name].binary == binary}

    def limits(self) -> dict[int, list[str]]:
        """Methods that cannot give some width, by the most bits that they can give."""
        found: dict[int, list[str]] = {}
        for name, widths in self.cells.items():
            for cell in widths.values():
                limit = re.search(r"at most (\d+)", cell.dash)
                if limit:
                    found.setdefault(int(limit[1]), []).append(name)
                    break
        return found

    def best(self, width: int, *, ours: bool, protocol: str = UNSEEN) -> tuple[str, Cell] | None:
        """Method with the highest figure, and its cell."""
        found = [
            (name, widths[width])
            for name, widths in self.of(binary=True).items()
            if width in widths and not widths[width].dash and (METHODS[name].family == "ours") == ours
            if widths[width].values(self.key, protocol=protocol)
        ]
        return max(found, key=lambda one: one[1].mean(self.key, protocol=protocol), default=None)


def read_summaries(folder: Path) -> list[Summary]:
    """What has been measured, in the order of the datasets."""
    paths = {key: folder / f"accuracy-{key}.json" for key in DATASETS}
    kept = {
        key: json.loads(path.read_text(encoding="utf-8")) for key, path in paths.items() if path.is_file()
    }
    found = [summarise(DATASETS[key], data) for key, data in kept.items() if data.get("format") == FORMAT]
    return [summary for summary in found if summary.cells]


def summarise(dataset: Dataset, data: dict[str, Any]) -> Summary:
    by_place: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for run in sorted(data["cells"].values(), key=lambda run: run["seed"]):
        by_place.setdefault((run["method"], run["width"]), []).append(run)
    cells: dict[str, dict[int, Cell]] = {}
    for name in METHODS:
        widths = {w: Cell(runs) for (method, w), runs in by_place.items() if method == name}
        if widths:
            cells[name] = dict(sorted(widths.items()))
    return Summary(dataset, data, cells)
