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

from .methods import BITS, FROM_16, METHODS, WIDTHS
from .summary import Summary

#: Colour and marker of a method; one on kernel features has those of the linear one.
LOOKS = {
    "RefinedHash": ("#8f1d5c", "*"),
    "DiffHash, rotated": ("#d1590a", "d"),
    "KernelDiffHash, rotated": ("#1a73b8", "d"),
    "DiffHash": ("#d1263f", "o"),
    "KernelDiffHash": ("#8f1d2c", "o"),
    "BoostedHash, 5 directions": ("#e36414", "v"),
    "CCA signs": ("#7fb3dd", "s"),
    "CCA + ITQ": ("#1b5e9b", "s"),
    "PCA + ITQ": ("#4aa3a2", "s"),
    "CVH": ("#8e6bb5", "^"),
    "SCM-orth": ("#8cc08a", "D"),
    "SCM-seq": ("#1f7a3a", "D"),
    "IMH": ("#9a9a9a", "v"),
    "CMFH": ("#6b4f3a", "P"),
    "SCRATCH": ("#c98b00", "P"),
    "BATCH": ("#5a3fc0", "X"),
    "SRLCH": ("#b04ac2", "X"),
    "ridge to class codes": ("#d069a8", "X"),
    "logistic to class codes": ("#e0518b", "^"),
    "raw signs": ("#36b3a8", "h"),
    "randomly rotated signs": ("#0b6e69", "h"),
    "ITQ of embeddings": ("#0a8f5b", "h"),
    "raw floats": ("#0b6e69", "h"),
    "CCA, real-valued": ("#222222", "."),
    "class posteriors, real-valued": ("#555555", "."),
}
#: For methods of ours that have no entry yet.
SPARE = ("#8f1d5c", "#b0413e", "#c98b00")
IN_BYTES = (
    "RefinedHash",
    "KernelDiffHash, rotated",
    "DiffHash",
    "CCA + ITQ",
    "BATCH",
    "logistic to class codes",
    "ITQ of embeddings",
    "raw floats",
    "CCA, real-valued",
    "class posteriors, real-valued",
)
#: Lines of the plot of accuracy against bits: how refinement and rotation keep codes from falling.
IN_BITS = ("RefinedHash", "KernelDiffHash, rotated", "DiffHash, rotated", "DiffHash")
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
    ours = METHODS[name].family == "ours"
    if name in LOOKS:
        color, marker = LOOKS[name]
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
    """Figure against bits: our methods on the left, the peers and RefinedHash on the right."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(10, 5.6), sharey=True, layout="constrained")
        for axis, ours, title in zip(
            axes, (True, False), ("our methods", "RefinedHash and peers"), strict=True
        ):
            draw_panel(axis, summary, ours=ours)
            axis.set_title(title, loc="left")
            log2_axis(axis, BITS)
            axis.set_xlabel("bits")
        axes[0].set_ylabel(f"{summary.figure}, mean of both directions")
        axes[0].set_ylim(0, None)
        axes[1].tick_params(labelleft=False)
        figure.suptitle(f"{summary.dataset.title}: unseen database", x=0.01, ha="left", fontweight="bold")
        figure.savefig(path, dpi=130)
        plt.close(figure)


def draw_panel(axis: Any, summary: Summary, *, ours: bool) -> None:
    last = {}
    chosen = [
        n for n in summary.of(binary=True) if n == "RefinedHash" or (METHODS[n].family == "ours") == ours
    ]
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
    draw_references(axis, summary)
    note_limits(axis, summary, chosen)
    handles, labels = axis.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: -last.get(labels[i], np.inf))
    axis.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.13),
        ncols=2,
        fontsize=9,
    )


def draw_references(axis: Any, summary: Summary) -> None:
    """The best width of each reference without hashing, as a dotted line."""
    for name, widths in summary.of(binary=False).items():
        cells = [c for c in widths.values() if not c.dash]
        if cells and METHODS[name].family == "reference":
            best = max(cells, key=lambda c: c.mean(summary.key))
            axis.axhline(
                best.mean(summary.key),
                color=LOOKS[name][0],
                linestyle=":" if name.startswith("CCA") else "-.",
                linewidth=1.3,
                label=f"{name} ({best.bytes} bytes)",
            )


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
    ticks = tuple(sorted({b // 8 for b in FROM_16} | {4 * w for w in WIDTHS}))
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
        (handles[name],) = axis.plot(
            [c.bytes for c in cells], [c.mean(summary.key) for c in cells], label=name, **style
        )
    return handles


def plot_bits(summaries: list[Summary], path: Path) -> None:
    """Figure against bits of our methods, all datasets in one picture."""
    columns = min(4, len(summaries))
    rows = -(-len(summaries) // columns)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            rows, columns, figsize=(3.1 * columns, 2.7 * rows + 0.7), squeeze=False, layout="constrained"
        )
        handles: dict[str, Any] = {}
        for axis, summary in zip(axes.flat, summaries, strict=False):
            for name in IN_BITS:
                points = [(w, c) for w, c in summary.cells.get(name, {}).items() if not c.dash]
                if points:
                    means = [c.mean(summary.key) for _, c in points]
                    (handles[name],) = axis.plot([w for w, _ in points], means, label=name, **look(name))
            axis.set_title(summary.dataset.title, loc="left")
            axis.set_ylabel(summary.figure)
            axis.set_ylim(0, None)
            log2_axis(axis, BITS)
        for axis in axes.flat[len(summaries) :]:
            axis.set_axis_off()
        figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=4)
        figure.savefig(path, dpi=120)
        plt.close(figure)
