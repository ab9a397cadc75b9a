"""Create matplotlib figures and turn them into SVG elements or file contents."""

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
    """Return a figure as an ``<svg>`` element; screen readers read ``label`` aloud."""
    text = saved_figure(figure, "svg").decode()
    # The ids of groups are the same in every panel, and nothing refers to them.
    text = re.sub(r' id="[A-Za-z0-9.]+_[0-9]+"', "", text[text.index("<svg") :])
    text = text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
    for color, variable in ((INK, "--ink"), (SOFT, "--soft"), (GRID, "--grid")):
        text = text.replace(color, f"var({variable})")
    return text.strip()


def new_figure(width: float, height: float) -> Figure:
    """Create a figure without a window."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def saved_figure(figure: Figure, kind: str, **options: Any) -> bytes:
    """Return the content of a figure file; ``kind`` is "svg" or "png"."""
    buffer = io.BytesIO()
    # Without date and version in the file, the same numbers give the same bytes.
    metadata: dict[str, Any] = (
        dict.fromkeys(("Date", "Creator", "Format", "Type")) if kind == "svg" else {"Software": None}
    )
    figure.savefig(buffer, format=kind, metadata=metadata, **options)
    return buffer.getvalue()
