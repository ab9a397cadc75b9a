"""Tables of the results as one Markdown file, which docs/measurements/accuracy.md includes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .markdown import table
from .methods import FROM_16, METHODS, PER_CLASS, WIDTHS
from .plots import plot_bits, plot_bytes, plot_dataset
from .protocols import TRAINING
from .rivals import doubling_section, protocols_section, rivals_section, titled
from .summary import Cell, Summary, read_summaries

#: Width of the table of costs.
COST_BITS = 32


def write_report(results: Path, plots: Path) -> str:
    """Write accuracy.md beside the results and all plots; return where."""
    summaries = read_summaries(results)
    if not summaries:
        raise SystemExit(f"no results in {results}: measure first, without --report")
    plots.mkdir(parents=True, exist_ok=True)
    link = Path(os.path.relpath(plots, results)).as_posix()
    parts = [
        head(summaries),
        best_table(summaries),
        rivals_section(summaries),
        protocols_section(summaries),
        doubling_section(summaries),
    ]
    for summary in summaries:
        plot_dataset(summary, plots / f"{summary.dataset.key}.png")
        parts.append(section(summary, link))
    plot_bytes(summaries, plots / "bytes.png")
    plot_bits(summaries, plots / "bits.png")
    parts += [bytes_section(link), representations_section(summaries), grids_section()]
    path = results / "accuracy.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return f"wrote {path.name} and {len(summaries) + 2} plots"


def head(summaries: list[Summary]) -> str:
    machine = summaries[0].data["machine"]
    dates = sorted({summary.data["machine"]["date"] for summary in summaries})
    return (
        f"*Measured on {' and '.join(dates)}: {machine['cpu']}, one thread; Python {machine['python']}, "
        f"NumPy {machine['numpy']}, SciPy {machine['scipy']}, scikit-learn {machine['scikit-learn']}, "
        f"diffhash {machine['diffhash']}.*"
    )


def best_table(summaries: list[Summary]) -> str:
    """Our best method beside the best peer, at two widths."""
    rows = []
    for summary in summaries:
        row = [titled(summary), summary.figure]
        for width in (COST_BITS, FROM_16[-1]):
            sides = [summary.best(width, ours=ours) for ours in (True, False)]
            figures = [side[1].mean(summary.key) if side else 0.0 for side in sides]
            for side, figure in zip(sides, figures, strict=True):
                text = f"{figure:.3f} {side[0]}" if side else "–"
                row.append(f"**{text}**" if side and figure == max(figures) else text)
        rows.append(row)
    header = [
        "",
        "figure",
        *(f"{who}, {w} bits" for w in (COST_BITS, FROM_16[-1]) for who in ("our best", "best peer")),
    ]
    words = (
        "Mean of both directions, unseen database. The best of each side is chosen by this very figure. Report "
        "sets are marked with °."
    )
    return f"## At a glance\n\n{words}\n\n{table(header, rows)}"


def section(summary: Summary, link: str) -> str:
    title = summary.dataset.title
    parts = [
        f"## {title}",
        f"*{summary.dataset.role.capitalize()} set.* {summary.dataset.about}"
        + (f" {summary.seeds} seeds." if summary.seeds > 1 else " One seed."),
        f"![{summary.figure} against bits: {title}]({link}/{summary.dataset.key}.png)",
        f"**{summary.figure}, unseen database**, {' / '.join(summary.ways)}. The best mean of both directions is bold.",
        accuracy_table(summary),
        "\n".join(notes(summary)),
        reference_table(summary),
        cost_words(summary),
        cost_table(summary),
    ]
    return "\n\n".join(part for part in parts if part)


def both_ways(summary: Summary, cell: Cell, protocol: str = "unseen") -> str:
    return " / ".join(f"{cell.mean(summary.key, way, protocol=protocol):.3f}" for way in summary.ways)


def figure_text(summary: Summary, cell: Cell | None) -> str:
    if cell is None:
        return "not run"
    return "–" if cell.dash else both_ways(summary, cell)


def accuracy_table(summary: Summary) -> str:
    methods = summary.of(binary=True)
    best = {}
    for width in FROM_16:
        cells = {name: w[width] for name, w in methods.items() if width in w and not w[width].dash}
        best[width] = max(cells, key=lambda name: cells[name].mean(summary.key), default=None)
    rows = []
    for name, widths in methods.items():
        row = [display(name), METHODS[name].learns_from(summary.dataset)]
        for width in FROM_16:
            cell = widths.get(width)
            text = figure_text(summary, cell)
            text = f"**{text}**" if best[width] == name else text
            row.append(text + ("†" if cell and cell.beyond_rank else ""))
        rows.append(row)
    return table(["method", "learns from", *(f"{b} bits" for b in FROM_16)], rows)


def display(name: str) -> str:
    return f"`{name.partition(',')[0]}`{''.join(name.partition(',')[1:])}" if is_ours(name) else name


def is_ours(name: str) -> bool:
    return METHODS[name].family == "ours"


def notes(summary: Summary) -> Iterator[str]:
    for limit, names in sorted(summary.limits().items()):
        shown = [display(n) for n in names if METHODS[n].binary]
        if shown:
            yield f"- –: more bits than the method can give here, at most {limit}: {'; '.join(shown)}."
    if any(cell.beyond_rank for widths in summary.cells.values() for cell in widths.values()):
        yield "- †: `fit` warned that the pairs determine fewer bits; the others are arbitrary (`RankWarning`)."
    absent = {name: method.missing(summary.dataset) for name, method in METHODS.items()}
    for reason in dict.fromkeys(
        reason for name, reason in absent.items() if METHODS[name].family != "aligned"
    ):
        names = [display(name) for name in absent if reason and absent[name] == reason]
        if names:
            yield f"- Not shown: {'; '.join(names)} ({reason})."
    partial = [display(n) for n in METHODS if not absent[n] and not complete(summary, n)]
    if partial:
        yield f"- Not measured yet, at some or all widths: {'; '.join(partial)}."


def complete(summary: Summary, name: str) -> bool:
    return set(summary.cells.get(name, {})) == set(METHODS[name].widths)


def reference_table(summary: Summary) -> str:
    rows, per_class = [], []
    for name, widths in summary.of(binary=False).items():
        if PER_CLASS in widths:
            cell = widths[PER_CLASS]
            per_class.append(
                f"{name[0].upper()}{name[1:]}, {cell.bytes // 4} values ({cell.bytes} B), compared by inner product: "
                f"{figure_text(summary, cell)}."
            )
        else:
            rows.append([name, *(figure_text(summary, widths.get(w)) for w in WIDTHS)])
    words = "**Without hashing**, real values per item (bytes), compared by their cosine:"
    header = ["", *(f"{w} ({4 * w} B)" for w in WIDTHS)]
    parts = [f"{words}\n\n{table(header, rows)}"] if rows else []
    return "\n\n".join(parts + per_class)


def cost_words(summary: Summary) -> str:
    other = (
        "the training items as database"
        if summary.dataset.labelled
        else "all items as database, training ones among them"
    )
    return (
        f"**At {COST_BITS} bits** ({COST_BITS // 8} bytes an item): mean of both directions with its 95 % interval "
        f"over queries and the range over seeds; equal error rate; {summary.figure} with {other}; CPU time."
    )


def cost_table(summary: Summary) -> str:
    rows = []
    for name, widths in summary.of(binary=True).items():
        cell = widths.get(COST_BITS)
        if cell is None or cell.dash:
            continue
        values = cell.values(summary.key)
        low, high = (cell.mean(summary.key, part=part) for part in ("low", "high"))
        rows.append(
            [
                display(name),
                f"{cell.mean(summary.key):.3f} ({low:.3f}–{high:.3f})",
                f"{min(values):.3f}–{max(values):.3f}" if len(values) > 1 else "",
                f"{cell.equal_error_rate:.3f}",
                both_ways(summary, cell, TRAINING),
                f"{cell.cost('train_seconds'):.2f}",
                f"{cell.cost('encode_microseconds'):.1f}",
            ]
        )
    database = "training database" if summary.dataset.labelled else "all items as database"
    return table(
        ["method", "mean (95 %)", "seeds", "EER", database, "train, s", "encode, µs/item"],
        rows,
    )


def bytes_section(link: str) -> str:
    return (
        "## Accuracy against bytes\n\n"
        "Solid: binary codes of 16 to 128 bits. Dashed: real values of 4 bytes. Mean of both directions, unseen "
        f"database.\n\n![Accuracy against bytes per item, float and binary]({link}/bytes.png)"
    )


def representations_section(summaries: list[Summary]) -> str:
    """The representation of each view that the peers got."""
    rows = []
    for summary in summaries:
        kept = summary.data.get("representations", {})
        for name, settings in kept.items():
            if name in ("best", "kernel"):
                words = [
                    f"{modality}: {scaling}, {'linear' if width is None else f'kernel, width {width:g}'}"
                    for modality, (scaling, width) in settings.items()
                ]
                rows.append([titled(summary), name, *words, f"{kept['seconds']:.0f}"])
    words = (
        "Chosen on the training rows of the first seed, by leave-one-out log loss of ridge regression to the "
        "classes, or by held-out recall of ridge-CCA where there are only pairs; the same for all peers. Where the "
        "best one of a view is linear, peers are also tuned on the best kernels."
    )
    header = ["", "features", "first view", "second view", "choice, s"]
    return f"## The representations of the peers\n\n{words}\n\n{table(header, rows)}"


def grids_section() -> str:
    """Every method's settings, all of which are tried on the validation rows."""
    rows = [
        [display(name), "; ".join(f"{key} {', '.join(map(str, values))}" for key, values in grid.items())]
        for name, grid in ((name, method.factory.grid) for name, method in METHODS.items())
        if grid
    ]
    return f"## The settings that were tried\n\n{table(['method', 'settings'], rows)}"
