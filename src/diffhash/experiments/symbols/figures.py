"""Draw the figures of the page."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes

from ...report.figures import MARGINS, PANEL_SIZE, new_figure, svg_element
from ...report.style import INK, SOFT, matplotlib_settings
from .result import DemoResult, Direction

__all__ = ["recall_svg", "roc_svg"]

_COLORS = ("#1a73b8", "#d1590a", "#4b7f1f", "#8a3ffc", "#b0204a", "#6b6b6b")
_DASHES = ((None, None), (5, 2), (1, 1.5))


def roc_svg(result: DemoResult) -> str:
    """Draw the ROC curve of each two modalities. It is the same in both directions, because the pairs are the same."""
    with matplotlib.rc_context(matplotlib_settings(text_as_paths=False)):  # type: ignore[arg-type]
        figure = new_figure(*PANEL_SIZE)
        figure.set_layout_engine("none")
        axes = figure.subplots(gridspec_kw=MARGINS)
        for number, direction in enumerate(_one_way(result.directions)):
            color, error = _COLORS[number % len(_COLORS)], direction.equal_error_rate
            label = f"{direction.query}, {direction.into}: EER {error:.3f}"
            axes.plot(*direction.roc, color=color, dashes=_DASHES[number % len(_DASHES)], label=label)
            axes.plot([error], [1 - error], "o", color=color, markersize=4)
        _chance(axes, [10 ** (step / 50 - 4) for step in range(201)])
        axes.set(xscale="log", xlim=(1e-4, 1), ylim=(0, 1.02), title="Matching pairs against all others")
        axes.set(xlabel="False positive rate", ylabel="True positive rate")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 0.02), fontsize=7)
        return svg_element(figure, "ROC curves of unseen pairs")


def _one_way(directions: Sequence[Direction]) -> list[Direction]:
    """One direction of each two modalities."""
    found: dict[frozenset[str], Direction] = {}
    for direction in directions:
        found.setdefault(frozenset((direction.query, direction.into)), direction)
    return list(found.values())


def recall_svg(result: DemoResult) -> str:
    """Draw the share of right answers among the first k, for all directions."""
    with matplotlib.rc_context(matplotlib_settings(text_as_paths=False)):  # type: ignore[arg-type]
        figure = new_figure(*PANEL_SIZE)
        figure.set_layout_engine("none")
        axes = figure.subplots(gridspec_kw=MARGINS)
        couples = [frozenset((d.query, d.into)) for d in _one_way(result.directions)]
        for number, direction in enumerate(result.directions):
            couple = couples.index(frozenset((direction.query, direction.into)))
            is_first = direction in _one_way(result.directions)
            places = range(1, len(direction.recall) + 1)
            axes.plot(
                places,
                direction.recall,
                color=_COLORS[couple % len(_COLORS)],
                dashes=_DASHES[0 if is_first else 1],
                label=direction.title,
                zorder=len(result.directions) - number,
            )
        longest = max(len(direction.recall) for direction in result.directions)
        chance = [(k, k / result.n_test) for k in (1, longest)]
        axes.plot(*zip(*chance, strict=True), color=SOFT, linewidth=0.8, label="chance")
        _set_places(axes, result.directions)
        axes.legend(loc="lower right", bbox_to_anchor=(1, 0.16), fontsize=7)
        return svg_element(figure, "Share of right answers among the first k")


def _set_places(axes: Axes, directions: Sequence[Direction]) -> None:
    axes.set(xscale="log", xlim=(1, max(len(d.recall) for d in directions)), ylim=(0, 1.02))
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    axes.set(
        title="Right answer among the first k",
        xlabel="k",
        ylabel="Share of queries",
    )


def _chance(axes: Axes, rates: list[float]) -> None:
    axes.plot(rates, rates, color=SOFT, linewidth=0.8)
    axes.annotate("chance", (0.25, 0.17), fontsize=8, color=INK)
