"""A table of mean average precision in the form of the field's papers, and what differs above it."""

from __future__ import annotations

from .measure import PROTOCOLS, Figure

_ARROW = "{} → {}"


def notes(splits: dict[str, str], sizes: dict[str, str], protocols: list[str], top: int | None) -> list[str]:
    """What a reader must know before comparing with figures of papers."""
    found = [
        "Figures: mean average precision over the whole ranking by Hamming distance. Items at the same distance are "
        "tied; each figure is the mean over all their orders. Most papers sort with one arbitrary order, which can be "
        "higher or lower.",
        "Relevant: an item that shares at least one label with the query.",
        "Learned from: the training objects and their labels. Settings are chosen inside the training objects; no "
        "label of a query is looked at.",
        *(f"Protocol {name}: database codes from {PROTOCOLS[name]}." for name in protocols),
    ]
    if "A" in protocols:
        found.append(
            "Protocol A uses the labels of every object that is searched, as methods do whose database codes come "
            "out of training. It tells nothing about objects without labels."
        )
    if "C, unseen" in protocols:
        found.append(
            "C, unseen is not a protocol of papers: queries search other test objects, as a user's new objects do. "
            "In the other rows training objects are part of the database, which rewards codes that were memorised."
        )
    for title, split in splits.items():
        drawn = " Papers seldom say which objects they drew." if "drawn" in split else ""
        found.append(f"{title}: {sizes[title]}; {split}.{drawn}")
    if top is not None:
        found.append(f"After the stroke: the same of the first {top} ranks only (mAP@{top}).")
    return found


def table(figures: list[Figure]) -> str:
    """Rows by direction, method and protocol; columns by data set and number of bits."""
    columns = list(dict.fromkeys((each.data, each.n_bits) for each in figures))
    titles = list(dict.fromkeys(data for data, _ in columns))
    values = {(_direction(f), f.method, f.protocol, f.data, f.n_bits): _shown(f) for f in figures}
    rows = list(dict.fromkeys((row[0], row[1], row[2]) for row in values))
    order = {name: place for place, name in enumerate(PROTOCOLS)}
    first_seen = list(dict.fromkeys(row[0] for row in rows))
    rows.sort(key=lambda row: (first_seen.index(row[0]), order[row[2]]))
    head = ["task", "method", "protocol", *(_column(title, bits, titles) for title, bits in columns)]
    lines = [head, ["---"] * len(head)]
    lines += [[*row, *(values.get((*row, *column), "–") for column in columns)] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _direction(figure: Figure) -> str:
    return _ARROW.format(*figure.task)


def _column(title: str, bits: int, titles: list[str]) -> str:
    return f"{bits} bits" if len(titles) == 1 else f"{title}, {bits} bits"


def _shown(figure: Figure) -> str:
    return f"{figure.value:.3f}" + ("" if figure.at is None else f" / {figure.at:.3f}")
