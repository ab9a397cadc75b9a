"""How every series looks, in all figures and tables: one colour, marker and dash for each method."""

from __future__ import annotations

from ...report.style import INK, SOFT, Look

__all__ = ["SERIES"]

SERIES: dict[str, Look] = {
    "mm-kdif-balanced": Look("MM-kDIF, balanced bandwidth", "#1a73b8", marker="^"),
    "mm-kdif-median": Look("MM-kDIF, median bandwidth", "#1a73b8", dash=(5, 2), marker="^", filled=False),
    "cm-dif": Look("CM-DIF", "#d1590a", marker="o"),
    "cm-ssh": Look("CM-SSH", "#7b8794", marker="s"),
    "cm-ssh-5": Look("CM-SSH, best of 5 directions", "#7b8794", dash=(5, 2), marker="s", filled=False),
    "euclidean-x": Look("Euclidean within x", INK, dash=(1, 1.6), width=1.4),
    "euclidean-y": Look("Euclidean within y", SOFT, dash=(1, 3), width=1.4),
}
