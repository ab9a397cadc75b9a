"""The results file. It is written after every cell, so that a run can continue where it stopped."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from ...atomic_write import write_atomically
from ...errors import DiffhashError
from ...output_files import OutputKind, text_file
from .settings import Settings

__all__ = ["FILE_NAME", "Results", "ResultsFileError", "describe_environment"]

FILE_NAME = "results.json"
_FORMAT = "diffhash reproduction"
_FORMAT_VERSION = 2
# Also a damaged file: a run that starts again replaces it.
_KIND = OutputKind("file of results (.json)", text_file(".json"))
_PACKAGES = ("diffhash", "numpy", "scipy", "scikit-learn")


class ResultsFileError(DiffhashError, ValueError):
    """A results file is damaged, or it belongs to another experiment."""


@dataclass
class Results:
    """Settings, environment, and the numbers of every finished cell.

    Attributes
    ----------
    settings : Settings
    environment : dict of str
        Versions of packages, and the processor.
    cells : dict
        SeedStatistics by the key of their cell. There may be cells of more seeds than the settings have.
    started, updated : str
        ISO dates, UTC.
    """

    settings: Settings
    environment: dict[str, str]
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)
    started: str = ""
    updated: str = ""

    @classmethod
    def new(cls, settings: Settings) -> Self:
        """Create results without any finished cell."""
        return cls(settings, describe_environment(), {}, _now(), _now())

    @classmethod
    def open(cls, path: str | os.PathLike[str], settings: Settings, *, fresh: bool = False) -> Self:
        """Return the results of the file if it has the same settings, or empty results if there is no file.

        Parameters
        ----------
        path : path
            Results file; it need not exist.
        settings : Settings
        fresh : bool
            Ignore the file.

        Raises
        ------
        ResultsFileError
            If the file is damaged, or has other settings or versions. The number of seeds may
            differ, because each seed has its own cells.
        """
        path = Path(path)
        if fresh or not path.exists():
            return cls.new(settings)
        stored = _read(path)
        current = cls.new(settings)
        asked, found = settings.to_json(), dict(stored["settings"])
        differences = [
            *_differences({**asked, "seeds": None}, {**found, "seeds": None}),
            *_differences(current.environment, stored["environment"]),
        ]
        if differences:
            raise ResultsFileError(
                f"reproduce: {path} belongs to another run ({'; '.join(differences)}). "
                "Use --fresh to replace it, or --out for another folder."
            )
        current.cells, current.started = dict(stored["cells"]), str(stored["started"])
        return current

    def add(self, key: str, numbers: dict[str, Any]) -> None:
        """Add the numbers of one cell."""
        self.cells[key] = numbers
        self.updated = _now()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file atomically."""
        content = {
            "format": _FORMAT,
            "format_version": _FORMAT_VERSION,
            "started": self.started,
            "updated": self.updated,
            "environment": self.environment,
            "settings": self.settings.to_json(),
            "cells": self.cells,
        }
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # One cell per line, so that the file can be read and compared.
        write_atomically(path, (text.replace('},"accuracy/', '},\n"accuracy/') + "\n").encode(), _KIND)


def describe_environment() -> dict[str, str]:
    """Return the versions, processor and system that results and times depend on."""
    return {
        **{package: version(package) for package in _PACKAGES},
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": str(os.cpu_count() or "unknown"),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(path: Path) -> dict[str, Any]:
    damaged = f"reproduce: {path} is damaged or is not a results file"
    advice = "Use --fresh to replace it, or --out for another folder."
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ResultsFileError(f"{damaged} ({error}). {advice}") from error
    kinds = {"settings": dict, "environment": dict, "cells": dict, "started": str}
    if not isinstance(stored, dict) or stored.get("format") != _FORMAT:
        raise ResultsFileError(f"{damaged}. {advice}")
    if stored.get("format_version") != _FORMAT_VERSION:
        raise ResultsFileError(
            f"reproduce: {path} has format version {stored.get('format_version')!r}, not {_FORMAT_VERSION}. {advice}"
        )
    for name, kind in kinds.items():
        if not isinstance(stored.get(name), kind):
            raise ResultsFileError(f"{damaged}: {name!r} is missing or has the wrong type. {advice}")
    if not all(isinstance(cell, dict) for cell in stored["cells"].values()):
        raise ResultsFileError(f"{damaged}: a cell is not a JSON object. {advice}")
    return stored


def _differences(asked: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    names = sorted({*asked, *found})
    return [
        f"{n}: {found.get(n)} in the file, {asked.get(n)} now" for n in names if asked.get(n) != found.get(n)
    ]
