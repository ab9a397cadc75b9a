"""Colours, line styles and matplotlib settings of all figures."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GRID", "INK", "SOFT", "SeriesStyle", "matplotlib_settings"]

#: In pages these colours are replaced by CSS variables, for light and dark mode.
INK, SOFT, GRID = "#1f2328", "#59636e", "#d8dde3"


@dataclass(frozen=True)
class SeriesStyle:
    """Line style of one series. Marker, fill and dash make it readable without colour."""

    label: str
    color: str
    dash: tuple[float, ...] = ()
    marker: str = ""
    filled: bool = True
    width: float = 1.8


def matplotlib_settings(*, text_as_paths: bool) -> dict[str, object]:
    """Return settings for ``matplotlib.rc_context``: thin axes, no frame, light grid."""
    return {
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "axes.facecolor": "none",
        "axes.edgecolor": SOFT,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlecolor": INK,
        "axes.labelsize": 9,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "xtick.minor.visible": False,
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "text.color": INK,
        "lines.solid_capstyle": "round",
        "svg.fonttype": "path" if text_as_paths else "none",
        "svg.hashsalt": "diffhash",
    }
