"""What a report shows, as plain values: curves, charts, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from .results import Results
from .seed_statistics import Spread
from .verdicts import Finding

__all__ = ["Chart", "Curve", "Panel", "Summary", "Table", "curve_of"]


@dataclass(frozen=True)
class Curve:
    """One line with its range over seeds. ``series`` is the key of its style."""

    series: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    curves: tuple[Curve, ...]
    mark: tuple[float, str] | None = None


@dataclass(frozen=True)
class Chart:
    """A figure: several panels with the same axes.

    Attributes
    ----------
    name : str
        Name of its files, without ending.
    kind : {"roc", "bits", "scale", "gamma"}
        What the horizontal axis is.
    y_label, title, caption : str
    panels : tuple of Panel
    section : {"main", "within", "sweeps"}
        Part of the page.
    """

    name: str
    kind: str
    title: str
    caption: str
    y_label: str
    panels: tuple[Panel, ...]
    section: str = "main"


@dataclass(frozen=True)
class Table:
    """A table with cells as text; the first column names the row. ``section`` is "tables" or "within"."""

    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    section: str = "tables"


@dataclass(frozen=True)
class Summary:
    """Everything that a report shows."""

    results: Results
    charts: tuple[Chart, ...]
    tables: tuple[Table, ...]
    findings: tuple[Finding, ...] = field(default=())


def curve_of(series: str, x: Iterable[float], spreads: Sequence[Spread]) -> Curve:
    """Curve through the means, with the range over seeds."""

    def column(of: Callable[[Spread], float]) -> tuple[float, ...]:
        return tuple(of(spread) for spread in spreads)

    return Curve(
        series,
        tuple(float(v) for v in x),
        column(lambda s: s.mean),
        column(lambda s: s.low),
        column(lambda s: s.high),
    )
