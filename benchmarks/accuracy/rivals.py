"""RefinedHash beside the best peer of each place."""

from __future__ import annotations

from collections import Counter

from .markdown import table
from .methods import BITS
from .run import TRAINING, UNSEEN
from .summary import Summary

METHOD = "RefinedHash"
AHEAD, EQUAL, INSIDE, BEHIND = ">", "=", "≈", "**<**"
PROTOCOLS = {UNSEEN: "unseen", TRAINING: "training or all"}


def rivals_section(summaries: list[Summary]) -> str:
    """A row for each dataset and protocol, and how many places are won."""
    rows, counted = [], Counter[str]()
    for summary in summaries:
        for protocol, database in PROTOCOLS.items():
            signs = {width: compare(summary, width, protocol) for width in BITS}
            counted.update(sign for sign, _ in signs.values())
            rows.append([summary.dataset.title, database, *(text for _, text in signs.values())])
    words = (
        f"`{METHOD}` as it comes, then the peer that is best in this very place, mean of both directions: "
        f"{AHEAD} ahead of it ({counted[AHEAD]} places), {EQUAL} equal to three digits ({counted[EQUAL]}), "
        f"{INSIDE} behind it but inside its 95 % interval ({counted[INSIDE]}), "
        f"{BEHIND} behind the interval ({counted[BEHIND]})."
    )
    return f"## {METHOD} beside the best peer\n\n{words}\n\n" + table(
        ["", "database", *(f"{b} bits" for b in BITS)], rows
    )


def compare(summary: Summary, width: int, protocol: str) -> tuple[str, str]:
    """The sign of one place, and its text."""
    own = summary.cells.get(METHOD, {}).get(width)
    best = summary.best(width, ours=False, protocol=protocol)
    if own is None or best is None or not own.values(summary.key, protocol=protocol):
        return "", "not run"
    name, peer = best
    ours, theirs, low = (
        own.mean(summary.key, protocol=protocol),
        peer.mean(summary.key, protocol=protocol),
        peer.mean(summary.key, part="low", protocol=protocol),
    )
    sign = _sign(ours, theirs, low)
    return sign, f"{ours:.3f} {sign} {theirs:.3f} {name}"


def _sign(ours: float, theirs: float, low: float) -> str:
    if f"{ours:.3f}" == f"{theirs:.3f}":
        return EQUAL
    if ours > theirs:
        return AHEAD
    return INSIDE if ours >= low else BEHIND
