"""The plot of a comparison: accuracy against all bytes of an item, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..comparison import ComparedMethod, Comparison
from .figures import new_figure, saved_figure
from .style import INK, matplotlib_settings

__all__ = ["comparison_plot"]

#: Colour, marker and dash of each method. Those of ours have wide lines.
_LOOKS: dict[str, tuple[str, str, str]] = {
    "RefinedHash": ("#8f1d5c", "o", "-"),
    "RefinedHash, real queries": ("#d069a8", "^", "--"),
    "DiffHash, rotated": ("#d1590a", "s", "-"),
    "CCA": ("#1f2328", ".", ":"),
    "CCA + ITQ": ("#1a73b8", "D", "-"),
    "CCA + ITQ, real queries": ("#1a73b8", "^", "--"),
    "CCA + PQ": ("#2f7d4f", "v", "-"),
    "CCA + RaBitQ": ("#6b4fb8", "P", "-"),
    "cosine of features": ("#59636e", "*", ":"),
    "signs, centred": ("#8a6d00", "X", "-"),
    "ITQ": ("#7fb3dd", "d", "--"),
    "ITQ, real queries": ("#7fb3dd", "^", ":"),
    "PQ": ("#8cc08a", "<", "--"),
    "RaBitQ": ("#b3a2e0", "h", "--"),
}
_SPARE = (INK, "o", "-")


def comparison_plot(comparisons: Sequence[Comparison], kind: str = "png") -> bytes:
    """Draw comparisons beside each other; gives the content of a file.

    Parameters
    ----------
    comparisons : list of Comparison
    kind : {"png", "svg", "pdf"}
    """
    settings: Any = {**matplotlib_settings(text_as_paths=False), "savefig.facecolor": "white"}
    with mpl.rc_context(settings):
        figure = new_figure(5.4 * len(comparisons) + 1.9, 4.4)
        axes = np.atleast_1d(figure.subplots(1, len(comparisons)))
        names: dict[str, Any] = {}
        for axis, comparison in zip(axes, comparisons, strict=True):
            names |= _draw(axis, comparison)
        order = [name for name in _LOOKS if name in names] + [n for n in names if n not in _LOOKS]
        figure.legend([names[name] for name in order], order, loc="outside right center")
        return saved_figure(figure, kind, dpi=130)


def _draw(axis: Axes, comparison: Comparison) -> dict[str, Any]:
    by_name: dict[str, list[ComparedMethod]] = {}
    for method in comparison.methods:
        by_name.setdefault(method.name, []).append(method)
    handles: dict[str, Any] = {}
    for place, (name, methods) in enumerate(by_name.items()):
        color, marker, dash = _LOOKS.get(name, _SPARE)
        # Intervals would hide one another: each method a little beside its size.
        bytes_ = np.array([method.item_bytes for method in methods]) * 1.03 ** (place - len(by_name) / 2)
        values = np.array([method.value for method in methods])
        errors = [[m.value - m.low for m in methods], [m.high - m.value for m in methods]]
        ours = methods[0].ours
        handles[name] = axis.errorbar(
            bytes_,
            values,
            yerr=np.maximum(errors, 0),
            color=color,
            marker=marker,
            linestyle=dash,
            linewidth=2.2 if ours else 1.2,
            markersize=6 if ours else 5,
            elinewidth=0.8,
            zorder=4 if ours else 3,
            label=name,
        )
    axis.set_xscale("log", base=2)
    ticks = sorted({2 ** round(np.log2(m.item_bytes)) for m in comparison.methods})
    axis.xaxis.set_major_locator(FixedLocator(ticks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.set_ylim(bottom=0)
    axis.set_xlabel("all bytes stored for an item")
    axis.set_ylabel(f"{comparison.measure}, mean of both directions")
    a, b = comparison.modalities
    axis.set_title(f"{a} ↔ {b}: {comparison.asked[0]:,} unseen queries each way")
    return handles
