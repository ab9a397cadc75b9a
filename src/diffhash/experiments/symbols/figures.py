"""Draw the figures of the page."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes

from ...report.figures import MARGINS, PANEL_SIZE, new_figure, svg_element
from ...report.style import INK, SOFT, matplotlib_settings
from .result import DemoResult, Direction

__all__ = ["recall_svg", "roc_svg"]

_LINE_STYLES = (("#1a73b8", (None, None)), ("#d1590a", (5, 2)))


def roc_svg(result: DemoResult) -> str:
    """Draw the ROC curve. It is the same in both directions, because the pairs are the same."""
    with matplotlib.rc_context(matplotlib_settings(text_as_paths=False)):  # type: ignore[arg-type]
        figure = new_figure(*PANEL_SIZE)
        figure.set_layout_engine("none")
        axes = figure.subplots(gridspec_kw=MARGINS)
        direction = result.directions[0]
        axes.plot(*direction.roc, color=_LINE_STYLES[0][0])
        _chance(axes, [10 ** (step / 50 - 4) for step in range(201)])
        error = direction.equal_error_rate
        axes.plot([error], [1 - error], "o", color=_LINE_STYLES[0][0], markersize=5)
        axes.annotate(
            f"equal errors {error:.3f}",
            (error, 1 - error),
            xytext=(-5, 5),
            textcoords="offset points",
            ha="right",
            fontsize=8,
        )
        axes.set(xscale="log", xlim=(1e-4, 1), ylim=(0, 1.02), title="Matching pairs against all others")
        axes.set(xlabel="False positive rate", ylabel="True positive rate")
        return svg_element(figure, "ROC curve of unseen pairs of name and drawing")


def recall_svg(result: DemoResult) -> str:
    """Draw the share of right answers among the first k, for both directions."""
    with matplotlib.rc_context(matplotlib_settings(text_as_paths=False)):  # type: ignore[arg-type]
        figure = new_figure(*PANEL_SIZE)
        figure.set_layout_engine("none")
        axes = figure.subplots(gridspec_kw=MARGINS)
        for direction, (color, dashes) in zip(result.directions, _LINE_STYLES, strict=False):
            places = range(1, len(direction.recall) + 1)
            axes.plot(places, direction.recall, color=color, dashes=dashes, label=direction.title)
        longest = max(len(direction.recall) for direction in result.directions)
        chance = [(k, k / result.n_test) for k in (1, longest)]
        axes.plot(*zip(*chance, strict=True), color=SOFT, linewidth=0.8, label="chance")
        _set_places(axes, result.directions)
        axes.legend(loc="upper left")
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
