"""Plots of the results: one per dataset, and accuracy against bytes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from .methods import BITS, METHODS, WIDTHS
from .summary import Summary

#: Colour and marker of a method; one on kernel features has those of the linear one.
LOOKS = {
    "RefinedHash": ("#8f1d5c", "*"),
    "DiffHash, rotated": ("#b0413e", "d"),
    "KernelDiffHash, rotated": ("#b0413e", "d"),
    "DiffHash": ("#d1263f", "o"),
    "KernelDiffHash": ("#d1263f", "o"),
    "BoostedHash, 1 direction": ("#f0a202", "o"),
    "BoostedHash, 5 directions": ("#e36414", "o"),
    "CCA signs": ("#7fb3dd", "s"),
    "CCA + ITQ": ("#1b5e9b", "s"),
    "CVH": ("#8e6bb5", "^"),
    "SCM-orth": ("#8cc08a", "D"),
    "SCM-seq": ("#1f7a3a", "D"),
    "IMH": ("#9a9a9a", "v"),
    "CMFH": ("#6b4f3a", "P"),
    "kernel ridge to class codes": ("#d069a8", "X"),
    "raw signs": ("#36b3a8", "h"),
    "randomly rotated signs": ("#0b6e69", "h"),
    "raw floats": ("#0b6e69", "h"),
    "CCA, real-valued": ("#222222", "."),
}
#: For methods of ours that have no entry yet.
SPARE = ("#8f1d5c", "#b0413e", "#c98b00")
IN_BYTES = (
    "RefinedHash",
    "DiffHash, rotated",
    "DiffHash",
    "KernelDiffHash",
    "BoostedHash, 5 directions",
    "CCA + ITQ",
    "CCA + ITQ, kernel",
    "kernel ridge to class codes",
    "raw signs",
    "randomly rotated signs",
    "raw floats",
    "CCA, real-valued",
    "CCA, real-valued, kernel",
)
STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "axes.titlesize": 11,
}


def look(name: str) -> dict[str, Any]:
    """Line properties of a method, the same in every plot."""
    base = name.removesuffix(", kernel")
    ours = METHODS[name].family == "ours"
    if base in LOOKS:
        color, marker = LOOKS[base]
    else:
        unknown = [n for n, m in METHODS.items() if m.family == "ours" and n not in LOOKS]
        color, marker = SPARE[unknown.index(name) % len(SPARE)], "o"
    return {
        "color": color,
        "marker": marker,
        "linewidth": 2.6 if ours else 1.4,
        "markersize": 6.5 if ours else 5,
        "zorder": 4 if ours else 3,
    }


def plot_dataset(summary: Summary, path: Path) -> None:
    """Figure against bits, linear methods on the left and kernel methods on the right."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(10, 5.6), sharey=True, layout="constrained")
        for axis, kernel, title in zip(
            axes, (False, True), ("linear methods", "kernel methods"), strict=True
        ):
            draw_panel(axis, summary, kernel=kernel)
            axis.set_title(title, loc="left")
            log2_axis(axis, BITS)
            axis.set_xlabel("bits")
        axes[0].set_ylabel(f"{summary.figure}, mean of both directions")
        axes[0].set_ylim(0, None)
        axes[1].tick_params(labelleft=False)
        figure.suptitle(f"{summary.dataset.title}: unseen database", x=0.01, ha="left", fontweight="bold")
        figure.savefig(path, dpi=130)
        plt.close(figure)


def draw_panel(axis: Any, summary: Summary, *, kernel: bool) -> None:
    last = {}
    chosen = [n for n in summary.of(binary=True) if METHODS[n].kernel == kernel]
    for place, name in enumerate(chosen):
        points = [(w, c) for w, c in summary.cells[name].items() if not c.dash]
        if not points:
            continue
        # Intervals would hide one another: each method a little beside the width.
        bits = np.array([w for w, _ in points]) * 2 ** (0.012 * (place - len(chosen) / 2))
        means, low, high = (
            np.array([c.mean(summary.key, part=part) for _, c in points]) for part in ("mean", "low", "high")
        )
        style = look(name)
        axis.errorbar(bits, means, yerr=[means - low, high - means], label=name, elinewidth=0.9, **style)
        last[name] = means[-1]
    draw_reference(axis, summary, kernel=kernel)
    note_limits(axis, summary, chosen)
    handles, labels = axis.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: -last.get(labels[i], np.inf))
    axis.legend(
        [handles[i] for i in order],
        [labels[i].removesuffix(", kernel") for i in order],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.13),
        ncols=2,
        fontsize=9,
    )


def draw_reference(axis: Any, summary: Summary, *, kernel: bool) -> None:
    """The best real-valued canonical correlation analysis, as a dotted line."""
    name = "CCA, real-valued, kernel" if kernel else "CCA, real-valued"
    cells = [c for c in summary.cells.get(name, {}).values() if not c.dash]
    if cells:
        best = max(cells, key=lambda c: c.mean(summary.key))
        label = f"CCA, real-valued ({best.bytes} bytes)"
        axis.axhline(best.mean(summary.key), color="#222222", linestyle=":", linewidth=1.3, label=label)


def note_limits(axis: Any, summary: Summary, chosen: list[str]) -> None:
    """Name the methods that have no point at all, so that nobody looks for their lines."""
    lines = []
    for limit, names in summary.limits().items():
        absent = [n for n in names if n in chosen and all(c.dash for c in summary.cells[n].values())]
        lines += (
            [f"at most {limit} bits:", *textwrap.wrap(", ".join(absent), 44, break_on_hyphens=False)]
            if absent
            else []
        )
    axis.text(0.02, 0.03, "\n".join(lines), transform=axis.transAxes, fontsize=9, color="#666666")


def log2_axis(axis: Any, ticks: tuple[int, ...]) -> None:
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(FixedLocator(list(ticks)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def plot_bytes(summaries: list[Summary], path: Path) -> None:
    """Figure against bytes per item: binary codes and real values."""
    columns = min(3, len(summaries))
    rows = -(-len(summaries) // columns)
    ticks = tuple(sorted({b // 8 for b in BITS} | {4 * w for w in WIDTHS}))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            rows, columns, figsize=(3.9 * columns, 3.1 * rows + 0.9), squeeze=False, layout="constrained"
        )
        handles: dict[str, Any] = {}
        for axis, summary in zip(axes.flat, summaries, strict=False):
            handles |= draw_bytes(axis, summary)
            axis.set_title(summary.dataset.title, loc="left")
            axis.set_ylabel(summary.figure)
            axis.set_xlabel("bytes per item")
            axis.set_ylim(0, None)
            log2_axis(axis, ticks)
            axis.set_xlim(ticks[0] / 1.3, ticks[-1] * 1.3)
        for axis in axes.flat[len(summaries) :]:
            axis.set_axis_off()
        shown = [name for name in IN_BYTES if name in handles]
        figure.legend(
            [handles[n] for n in shown],
            shown,
            loc="outside lower center",
            ncols=min(4, columns + 1),
            fontsize=9,
        )
        figure.savefig(path, dpi=120)
        plt.close(figure)


def draw_bytes(axis: Any, summary: Summary) -> dict[str, Any]:
    handles = {}
    for name in IN_BYTES:
        cells = [c for c in summary.cells.get(name, {}).values() if not c.dash]
        if not cells:
            continue
        style = look(name)
        if not METHODS[name].binary:
            style |= {"linestyle": "--", "marker": "."}
        if METHODS[name].kernel and METHODS[name].family != "ours":
            style |= {"markerfacecolor": "white"}
        if name == "KernelDiffHash":
            style |= {"color": "#8f1d2c"}
        (handles[name],) = axis.plot(
            [c.bytes for c in cells], [c.mean(summary.key) for c in cells], label=name, **style
        )
    return handles
