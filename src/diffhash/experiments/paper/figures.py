"""Draw the curves with matplotlib: whole figures for files, single panels for the page."""

from __future__ import annotations

import math

import matplotlib
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ...report.figures import MARGINS, PANEL_SIZE, new_figure, saved_figure, svg_element
from ...report.style import SOFT, SeriesStyle, matplotlib_settings
from .content import Chart, Curve, Panel
from .series_styles import SERIES

__all__ = ["chart_files", "panel_svg"]

_X_LABELS = {
    "roc": "False positive rate",
    "bits": "Hash length m (bits)",
    "scale": "Scale of the centres",
    "gamma": "γ",
}


def chart_files(chart: Chart) -> dict[str, bytes]:
    """Return the contents of a PNG and an SVG file with the whole figure, by file name."""
    with matplotlib.rc_context(matplotlib_settings(text_as_paths=True)):  # type: ignore[arg-type]
        n = len(chart.panels)
        names = list(dict.fromkeys(curve.series for panel in chart.panels for curve in panel.curves))
        n_columns = 4 if n > 2 else min(len(names), 3) if len(names) < 4 else 2
        legend_height = 0.26 * math.ceil(len(names) / n_columns)
        figure = new_figure(PANEL_SIZE[0] * n, PANEL_SIZE[1] + legend_height + 0.1)
        for axes, panel in zip(figure.subplots(1, n, squeeze=False)[0], chart.panels, strict=True):
            _draw_panel(axes, chart, panel)
        handles = [_handle(SERIES[name]) for name in SERIES if name in names]
        figure.legend(
            handles=handles, loc="outside lower center", ncols=n_columns, handlelength=3.2, columnspacing=1.8
        )
        svg = saved_figure(figure, "svg", facecolor="white")
        # The layout has been computed; use the same one for both files.
        figure.set_layout_engine("none")
        png = saved_figure(figure, "png", dpi=200, facecolor="white")
        return {f"{chart.name}.png": png, f"{chart.name}.svg": svg}


def panel_svg(chart: Chart, panel: Panel) -> str:
    """Return one panel as an ``<svg>`` element for a page: text stays text, and ink colours become CSS variables."""
    with matplotlib.rc_context(matplotlib_settings(text_as_paths=False)):  # type: ignore[arg-type]
        figure = new_figure(*PANEL_SIZE)
        # All panels of a page have the same margins, so no layout is computed.
        figure.set_layout_engine("none")
        axes = figure.subplots(gridspec_kw=MARGINS)
        _draw_panel(axes, chart, panel)
        # On a phone the panels are below each other, so each one needs its label.
        axes.set_ylabel(axes.get_ylabel() or chart.y_label)
        return svg_element(figure, f"{chart.title}; {panel.title}")


def _draw_panel(axes: Axes, chart: Chart, panel: Panel) -> None:
    place = _gamma_places(panel) if chart.kind == "gamma" else None
    for name in reversed(SERIES):
        for curve in panel.curves:
            if curve.series == name:
                _draw_curve(axes, curve, SERIES[name], place, every_point=chart.kind != "roc")
    axes.set_title(panel.title)
    axes.set_xlabel(_X_LABELS[chart.kind])
    if chart.y_label and panel is chart.panels[0]:
        axes.set_ylabel(chart.y_label)
    elif chart.y_label == "":
        axes.set_ylabel("EER" if panel is chart.panels[0] else "mAP")
    _set_axes(axes, chart, panel, place)
    if panel.mark is not None:
        # Put the text where no curve is: errors fall with more bits, precision rises.
        _draw_mark(axes, *panel.mark, high=not _is_precision(chart, panel))


def _draw_curve(
    axes: Axes, curve: Curve, style: SeriesStyle, place: dict[float, float] | None, *, every_point: bool
) -> None:
    x = [place[value] for value in curve.x] if place else list(curve.x)
    dashed = style.dash and not (place and style.filled)
    axes.plot(
        x,
        curve.y,
        color=style.color,
        linewidth=style.width,
        dashes=style.dash if dashed else (None, None),
        marker=style.marker,
        markevery=1 if every_point else 24,
        markersize=4.2,
        markerfacecolor=style.color if style.filled else "none",
        markeredgewidth=1.1,
        clip_on=True,
        zorder=3,
    )
    if curve.low != curve.high:
        axes.fill_between(x, curve.low, curve.high, color=style.color, alpha=0.16, linewidth=0, zorder=2)


def _draw_mark(axes: Axes, position: float, text: str, *, high: bool) -> None:
    axes.axvline(position, color=SOFT, linewidth=0.7, zorder=1)
    axes.annotate(
        text,
        (position, 1.0 if high else 0.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, -2 if high else 3),
        textcoords="offset points",
        va="top" if high else "bottom",
        fontsize=7.5,
        color=SOFT,
    )


def _gamma_places(panel: Panel) -> dict[float, float]:
    """Return equally spaced positions for gamma, as zero and infinity do not fit on a scale."""
    values = sorted({value for curve in panel.curves for value in curve.x})
    return {value: float(place) for place, value in enumerate(values)}


def _set_axes(axes: Axes, chart: Chart, panel: Panel, place: dict[float, float] | None) -> None:
    if chart.kind == "roc":
        axes.set_xscale("log")
        axes.set_xlim(1e-4, 1)
        axes.set_ylim(0, 1.01)
        rates = [10 ** (-4 + step / 50) for step in range(201)]
        axes.plot(rates, [1 - rate for rate in rates], color=SOFT, linewidth=0.7, zorder=1)
        return
    if place is not None:
        axes.set_xticks(list(place.values()), ["∞" if math.isinf(v) else f"{v:g}" for v in place])
        axes.set_xlim(-0.3, len(place) - 0.7)
    elif chart.kind == "bits":
        ticks = sorted({value for curve in panel.curves for value in curve.x})
        axes.set_xlim(0, ticks[-1] * 1.03)
        axes.set_xticks([tick for tick in ticks if tick in (8, 32, 64, 96, 128) or len(ticks) < 5])
    else:
        axes.set_xlim(left=0)
    _set_y(axes, chart, panel)


def _set_y(axes: Axes, chart: Chart, panel: Panel) -> None:
    if _is_precision(chart, panel):
        axes.set_ylim(0, 1.03)
    else:
        own = chart.panels if chart.y_label else (panel,)
        highest = max(max(curve.high) for other in own for curve in other.curves)
        lowest = min(min(curve.low) for other in own for curve in other.curves)
        axes.set_ylim(min(0, lowest * 1.08), highest * 1.08)


def _is_precision(chart: Chart, panel: Panel) -> bool:
    return "precision" in (chart.y_label or panel.title)


def _handle(style: SeriesStyle) -> Line2D:
    return Line2D(
        [],
        [],
        color=style.color,
        linewidth=style.width,
        dashes=style.dash or (None, None),
        marker=style.marker,
        markersize=4.2,
        markerfacecolor=style.color if style.filled else "none",
        markeredgewidth=1.1,
        label=style.label,
    )
