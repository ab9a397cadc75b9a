"""Figures for files and pages, by matplotlib: what all of them share."""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .style import GRID, INK, SOFT

__all__ = ["MARGINS", "PANEL_SIZE", "new_figure", "saved_figure", "svg_element"]

PANEL_SIZE = (3.45, 2.9)
MARGINS = {"left": 0.17, "right": 0.95, "bottom": 0.155, "top": 0.915}


def svg_element(figure: Figure, label: str) -> str:
    """A figure as an ``<svg>`` element; ``label`` is what a screen reader says."""
    text = saved_figure(figure, "svg").decode()
    # Names of groups repeat from panel to panel, and nothing refers to them.
    text = re.sub(r' id="[A-Za-z0-9.]+_[0-9]+"', "", text[text.index("<svg") :])
    text = text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
    for color, variable in ((INK, "--ink"), (SOFT, "--soft"), (GRID, "--grid")):
        text = text.replace(color, f"var({variable})")
    return text.strip()


def new_figure(width: float, height: float) -> Figure:
    """A figure that belongs to no window."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def saved_figure(figure: Figure, kind: str, **options: Any) -> bytes:
    """The content of a figure file of one kind, such as "svg"."""
    buffer = io.BytesIO()
    # No date and no version inside: the same numbers give the same bytes.
    metadata: dict[str, Any] = (
        dict.fromkeys(("Date", "Creator", "Format", "Type")) if kind == "svg" else {"Software": None}
    )
    figure.savefig(buffer, format=kind, metadata=metadata, **options)
    return buffer.getvalue()
