"""How every series looks, everywhere: one colour, marker and dash per method."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GRID", "INK", "SERIES", "SOFT", "Look", "matplotlib_settings"]

#: Replaced by CSS variables where a figure stands in a page that can be light or dark.
INK, SOFT, GRID = "#1f2328", "#59636e", "#d8dde3"


@dataclass(frozen=True)
class Look:
    """Look of one series; readable without colour by marker, fill and dash."""

    label: str
    color: str
    dash: tuple[float, ...] = ()
    marker: str = ""
    filled: bool = True
    width: float = 1.8


SERIES: dict[str, Look] = {
    "mm-kdif-balanced": Look("MM-kDIF, balanced bandwidth", "#1a73b8", marker="^"),
    "mm-kdif-median": Look("MM-kDIF, median bandwidth", "#1a73b8", dash=(5, 2), marker="^", filled=False),
    "cm-dif": Look("CM-DIF", "#d1590a", marker="o"),
    "cm-ssh": Look("CM-SSH", "#7b8794", marker="s"),
    "cm-ssh-5": Look("CM-SSH, best of 5 directions", "#7b8794", dash=(5, 2), marker="s", filled=False),
    "euclidean-x": Look("Euclidean within x", INK, dash=(1, 1.6), width=1.4),
    "euclidean-y": Look("Euclidean within y", SOFT, dash=(1, 3), width=1.4),
}


def matplotlib_settings(*, text_as_paths: bool) -> dict[str, object]:
    """Settings for ``matplotlib.rc_context``: thin axes, no frame, quiet grid."""
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
