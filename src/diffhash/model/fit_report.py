"""What a fit tried and chose, and how accurate it expects its codes to be."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..errors import ModelFileError
from ..types import CodeArray

__all__ = ["FitReport", "Tried"]

#: Parameters that settings may have.
_SETTINGS = ("features", "metric", "width", "ridge")


@dataclass(frozen=True)
class Tried:
    """A candidate and its score on objects that it was not fitted to."""

    description: str
    score: float


@dataclass(frozen=True)
class FitReport:
    """What a fit tried and chose.

    Attributes
    ----------
    chosen : str
        Representation of each view, and how bits are made from it.
    measure : str
        Name of the score.
    expected : float or None
        Score of the codes of training objects that were held out: what to expect of new objects in a
        database of that size. None if there were too few objects to hold some out.
    chance : float or None
        Score of codes that say nothing.
    tried : tuple of Tried
        All candidates. Representations have other scores than codes, and are only compared with each other.
    notes : tuple of str
        What else a user should know, such as fewer landmarks than were asked for.
    settings : dict of dicts by modality
        What was chosen for each view, as parameters of RefinedHash: "features", "metric", "width" and "ridge".
        ``RefinedHash(n_bits, **report.settings)`` does not search for them again. Empty if an older release
        wrote the model.

    Examples
    --------
    >>> report = FitReport("cosine; rotation", "mean average precision", 0.61, 0.1, (Tried("rotation", 0.61),), ())
    >>> print(report)
    expected mean average precision 0.610 (by chance 0.100): cosine; rotation
    """

    chosen: str
    measure: str
    expected: float | None
    chance: float | None
    tried: tuple[Tried, ...]
    notes: tuple[str, ...]
    settings: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.expected is None or self.chance is None:
            return f"too few objects to hold some out: {self.chosen}"
        return f"expected {self.measure} {self.expected:.3f} (by chance {self.chance:.3f}): {self.chosen}"

    def to_array(self) -> CodeArray:
        """The report as bytes, for a model file."""
        return np.frombuffer(json.dumps(asdict(self)).encode(), dtype=np.uint8)

    @classmethod
    def from_array(cls, array: Any) -> FitReport:
        """Inverse of :meth:`to_array`."""
        try:
            if array.dtype != np.uint8:
                raise TypeError(f"a report is kept as uint8, got {array.dtype}")
            fields = json.loads(bytes(array))
            tried = tuple(Tried(str(t["description"]), float(t["score"])) for t in fields["tried"])
            notes = tuple(map(str, fields["notes"]))
            expected, chance = (
                None if fields[name] is None else float(fields[name]) for name in ("expected", "chance")
            )
            settings = _checked_settings(fields.get("settings", {}))
            return cls(
                str(fields["chosen"]), str(fields["measure"]), expected, chance, tried, notes, settings
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise ModelFileError("load: the report in the model is damaged. Save the model again.") from error

    def to_html(self) -> str:
        """The summary, and a table of the candidates in the order in which they were tried."""
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(each.description)}</td><td>{each.score:.3f}</td></tr>" for each in self.tried
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<details><summary>{escape(str(self))}</summary>{notes}"
            f"<table><tr><th>tried</th><th>score on held-out objects</th></tr>{rows}</table></details>"
        )


def _checked_settings(settings: Any) -> dict[str, dict[str, str | float]]:
    """Settings from a file, which may hold anything."""
    for name, by_modality in settings.items():
        values = list(by_modality.values())
        numbers = [value for value in values if type(value) in (int, float)]
        texts = [value for value in values if type(value) is str]
        if (
            name not in _SETTINGS
            or len(numbers) + len(texts) != len(values)
            or not all(map(math.isfinite, numbers))
        ):
            raise ValueError(f"{name!r} is not a setting")
    return {name: dict(by_modality) for name, by_modality in settings.items()}
