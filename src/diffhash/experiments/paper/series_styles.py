"""Line style of each method: colour, marker and dash, the same in all figures."""

from __future__ import annotations

from ...report.style import INK, SOFT, SeriesStyle

__all__ = ["SERIES"]

SERIES: dict[str, SeriesStyle] = {
    "mm-kdif-balanced": SeriesStyle("MM-kDIF, balanced bandwidth", "#1a73b8", marker="^"),
    "mm-kdif-median": SeriesStyle(
        "MM-kDIF, median bandwidth", "#1a73b8", dash=(5, 2), marker="^", filled=False
    ),
    "cm-dif": SeriesStyle("CM-DIF", "#d1590a", marker="o"),
    "cm-ssh": SeriesStyle("CM-SSH", "#7b8794", marker="s"),
    "cm-ssh-5": SeriesStyle("CM-SSH, best of 5 directions", "#7b8794", dash=(5, 2), marker="s", filled=False),
    "euclidean-x": SeriesStyle("Euclidean within x", INK, dash=(1, 1.6), width=1.4),
    "classes": SeriesStyle("Same class or not", INK, dash=(2, 2), width=1.4),
    "euclidean-y": SeriesStyle("Euclidean within y", SOFT, dash=(1, 3), width=1.4),
}
