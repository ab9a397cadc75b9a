"""RefinedHash beside the best peer of each place."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from .markdown import table
from .methods import BITS, FROM_16
from .protocols import PROTOCOLS, TRAINING, UNSEEN, WHY_NOT
from .results import OWN_METHOD
from .summary import Summary

AHEAD, LEVEL, BEHIND = ">", "≈", "**<**"
DATABASES = {UNSEEN: "unseen", TRAINING: "training or all"}
#: Width at which the protocols are side by side.
WIDTH = 32


def rivals_section(summaries: list[Summary]) -> str:
    """A row for each dataset and database, and in how many places RefinedHash is ahead."""
    rows, counted = [], Counter[str]()
    for summary in summaries:
        for protocol, database in DATABASES.items():
            signs = [compare(summary, width, protocol) for width in FROM_16]
            counted.update(sign for sign, _ in signs)
            rows.append([titled(summary), database, *(text for _, text in signs)])
    words = (
        f"`{OWN_METHOD}` with its default settings, then the peer that is best in this very place, mean of both "
        "directions; below, the difference with its 95 % interval (paired bootstrap over queries). "
        f"{AHEAD}: the interval is above zero ({counted[AHEAD]} places); {LEVEL}: it contains zero "
        f"({counted[LEVEL]}); {BEHIND}: it is below zero ({counted[BEHIND]}). Report sets are marked with °."
    )
    return f"## {OWN_METHOD} beside the best peer\n\n{words}\n\n" + table(
        ["", "database", *(f"{b} bits" for b in FROM_16)], rows
    )


def titled(summary: Summary) -> str:
    return summary.dataset.title + ("°" if summary.dataset.role == "report" else "")


def compare(summary: Summary, width: int, protocol: str) -> tuple[str, str]:
    """The sign of one place, and its text."""
    own = summary.cells.get(OWN_METHOD, {}).get(width)
    best = summary.best(width, ours=False, protocol=protocol)
    if own is None or best is None or not own.values(summary.key, protocol=protocol):
        return "", "not run"
    name, peer = best
    ours, theirs = (cell.mean(summary.key, protocol=protocol) for cell in (own, peer))
    gap = summary.data.get("differences", {}).get(f"{width} | {protocol}")
    if gap is None or gap["peer"] != name:
        return "", f"{ours:.3f}, {theirs:.3f} {name}"
    sign = _sign(gap)
    return sign, (
        f"{ours:.3f} {sign} {theirs:.3f} {name}<br>{signed(gap['mean'])} "
        f"({signed(gap['low'])} to {signed(gap['high'])})"
    )


def signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _sign(gap: dict[str, Any]) -> str:
    if gap["low"] > 0:
        return AHEAD
    return BEHIND if gap["high"] < 0 else LEVEL


def protocols_section(summaries: list[Summary]) -> str:
    """The field's protocols as columns, for RefinedHash and for the peer that is best with unseen items."""
    rows = []
    for summary in summaries:
        best = summary.best(WIDTH, ours=False)
        for name in (OWN_METHOD, best[0] if best else ""):
            cell = summary.cells.get(name, {}).get(WIDTH)
            if cell is None or cell.dash:
                continue
            figures = [
                "–"
                if not cell.values(summary.key, protocol=database)
                else " / ".join(
                    f"{cell.mean(summary.key, way, protocol=database):.3f}" for way in summary.ways
                )
                for database in PROTOCOLS.values()
            ]
            rows.append([titled(summary), name, summary.figure, *figures])
    words = (
        f"At {WIDTH} bits, first view → second / second → first. In protocol C the database is encoded from its own "
        f"view: unseen items, or the training items (all items where there are only pairs). {WHY_NOT}"
    )
    header = ["", "method", "figure", *PROTOCOLS]
    return f"## Three protocols side by side\n\n{words}\n\n{table(header, rows)}"


def doubling_section(summaries: list[Summary]) -> str:
    """RefinedHash from 8 to 128 bits, and the largest loss when the bits double."""
    rows = []
    for summary in summaries:
        cells = summary.cells.get(OWN_METHOD, {})
        means = {w: cells[w].mean(summary.key) for w in BITS if w in cells and not cells[w].dash}
        if means:
            fall = largest_fall(list(means.values()))
            figures = [f"{means[w]:.3f}" if w in means else "not run" for w in BITS]
            rows.append([titled(summary), *figures, f"{fall:.3f}" if fall > 0 else "none"])
    words = f"`{OWN_METHOD}`, mean of both directions, unseen database, and the largest fall when the bits double."
    header = ["", *(f"{b} bits" for b in BITS), "largest fall"]
    return f"## More bits\n\n{words}\n\n{table(header, rows)}"


def largest_fall(curve: list[float]) -> float:
    """Largest loss from one value to the next, negative if all rise.

    Examples
    --------
    >>> round(largest_fall([0.5, 0.4, 0.45]), 3)
    0.1
    """
    return max((a - b for a, b in pairwise(curve)), default=0.0)
