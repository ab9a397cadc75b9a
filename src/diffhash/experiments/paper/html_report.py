"""The report as one self-contained HTML page, without network or scripts."""

from __future__ import annotations

from collections import Counter
from html import escape

from ...report.html import html_page, page_css
from ...report.style import GRID, INK, SOFT, SeriesStyle
from .content import Chart, Summary, Table
from .figures import panel_svg
from .results import Results
from .series_styles import SERIES
from .verdicts import Finding

__all__ = ["page_html"]

_VERDICTS = {"agrees": "agrees", "partly": "partly", "does not agree": "disagrees"}
_SECTIONS = {
    "findings": "Where the results agree with the paper and where they do not",
    "main": "The paper's figures",
    "tables": "Tables",
    "sweeps": "What the paper leaves open",
    "within": "Within each modality",
    "run": "How this was made",
}


def page_html(summary: Summary) -> str:
    """Return the whole page. All text from outside is escaped."""
    body = [
        _head(summary.results),
        _section("findings", _tally(summary.findings), *(_finding(f) for f in summary.findings)),
        *(_shown(summary, key) for key in ("main", "tables", "sweeps", "within")),
        _section("run", _run(summary.results)),
    ]
    return html_page("Multimodal diff-hash, reproduced", page_css(), body)


def _head(results: Results) -> str:
    settings = results.settings
    n = len(settings.seeds)
    seeds = f"{n} random data sets" if n > 1 else "one random data set"
    note = ""
    if settings.name != "full":
        note = (
            f'<p class="note">This is the {escape(settings.name)} run, with fewer objects and pairs than in the paper '
            "and few seeds. It shows that everything works; draw conclusions from the full run only.</p>"
        )
    links = "".join(f'<li><a href="#{key}">{escape(title)}</a></li>' for key, title in _SECTIONS.items())
    return (
        "<header><h1>Multimodal diff‑hash, reproduced</h1>"
        '<p class="lead">The experiment of section 6 of M. M. Bronstein, <cite>Multimodal diff-hash</cite> (2011), '
        f"run with diffhash {escape(results.environment.get('diffhash', '?'))} on {seeds}, "
        f"{escape(results.updated[:10])}. Lines are means; bands show the range over the seeds.</p>"
        f"{note}<nav><ul>{links}</ul></nav></header>"
    )


def _section(key: str, *parts: str) -> str:
    return f'<section id="{key}"><h2>{escape(_SECTIONS[key])}</h2>\n' + "\n".join(parts) + "\n</section>"


def _shown(summary: Summary, key: str) -> str:
    """A section with its charts and tables."""
    charts = [_chart(chart) for chart in summary.charts if chart.section == key]
    return _section(key, *charts, *(_table(table) for table in summary.tables if table.section == key))


def _tally(findings: tuple[Finding, ...]) -> str:
    counts = Counter(finding.verdict for finding in findings)
    items = "".join(
        f"<li>{_chip(verdict)} {counts[verdict]} of {len(findings)}</li>"
        for verdict in _VERDICTS
        if counts[verdict]
    )
    return (
        "<p>Each claim is judged by the rule that is stated with it, from the numbers below.</p>"
        f'<ul class="tally">{items}</ul>'
    )


def _kept_together(text: str) -> str:
    """Escape text and forbid line breaks inside "K = 25" or "0.1 / 0.7"."""
    text = escape(text)
    for sign in ("=", "/"):
        text = text.replace(f" {sign} ", f"\u00a0{sign}\u00a0")
    return text


def _chip(verdict: str) -> str:
    return f'<span class="verdict {_VERDICTS.get(verdict, "")}">{escape(verdict)}</span>'


def _finding(finding: Finding) -> str:
    evidence = "".join(f"<li>{_kept_together(line)}</li>" for line in finding.evidence)
    return (
        f'<article class="finding"><h3>{escape(finding.statement)}</h3>{_chip(finding.verdict)}'
        f"<p>{_kept_together(finding.conclusion)}</p>"
        f'<p class="rule">Agrees if: {escape(finding.rule)}</p><ul>{evidence}</ul></article>'
    )


def _chart(chart: Chart) -> str:
    names = {curve.series for panel in chart.panels for curve in panel.curves}
    legend = "".join(
        f"<li>{_swatch(style)}{escape(style.label)}</li>" for key, style in SERIES.items() if key in names
    )
    panels = "\n".join(panel_svg(chart, panel) for panel in chart.panels)
    two = " two" if len(chart.panels) == 2 else ""
    return (
        f'<figure id="{escape(chart.name)}" role="group"><figcaption><h3>{escape(chart.title)}</h3>'
        f"<p>{escape(chart.caption)}</p></figcaption>"
        f'<ul class="legend">{legend}</ul><div class="panels{two}">{panels}</div></figure>'
    )


def _swatch(style: SeriesStyle) -> str:
    variables = {INK: "var(--ink)", SOFT: "var(--soft)", GRID: "var(--grid)"}
    color = variables.get(style.color, style.color)
    dash = f' stroke-dasharray="{" ".join(f"{2 * d:g}" for d in style.dash)}"' if style.dash else ""
    fill = color if style.filled else "var(--paper)"
    shapes = {
        "o": f'<circle cx="20" cy="7" r="3.6" fill="{fill}" stroke="{color}" stroke-width="1.5"/>',
        "s": f'<rect x="16.6" y="3.6" width="6.8" height="6.8" fill="{fill}" stroke="{color}" stroke-width="1.5"/>',
        "^": f'<path d="M20 2.6 24.2 10.6H15.8Z" fill="{fill}" stroke="{color}" stroke-width="1.5"/>',
    }
    return (
        '<svg viewBox="0 0 40 14" aria-hidden="true">'
        f'<path d="M1 7H39" stroke="{color}" stroke-width="{1.25 * style.width:g}"{dash}/>'
        f"{shapes.get(style.marker, '')}</svg>"
    )


def _table(table: Table) -> str:
    header = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    rows, before = [], None
    for row in table.rows:
        # If there is a column K, draw a line above the first row of each K.
        group = row[1] if "K" in table.header else None
        first = ' class="first"' if before not in (None, group) else ""
        before = group
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row)
        rows.append(f"<tr{first}>{cells}</tr>")
    return (
        f'<h3>{escape(table.title)}</h3><p class="caption">{escape(table.caption)}</p>'
        f'<div class="scroll" tabindex="0"><table><thead><tr>{header}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _run(results: Results) -> str:
    settings = results.settings
    flags = "" if settings.name == "full" else f" --{settings.name}"
    facts = {
        "Data": f"{settings.n_train:,} training and {settings.n_test:,} test objects with 128 and 64 features; "
        f"centres of scale {settings.center_scale:g}, noise of standard deviation 3 to 6",
        "Pairs": f"{settings.n_positive:,} positive and {settings.n_negative:,} negative pairs, drawn by labels",
        "Methods": f"γ = {settings.gamma:g}, {settings.n_landmarks:,} landmarks; defaults otherwise",
        "Seeds": ", ".join(map(str, settings.seeds))
        + (
            f"; sweeps and times: {', '.join(map(str, settings.sweep_seeds))}"
            if len(settings.seeds) > 3
            else ""
        ),
        "Started, finished": f"{results.started}, {results.updated}",
        **{name.capitalize(): value for name, value in results.environment.items()},
    }
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return (
        f"<p>Run again: <code>diffhash reproduce{escape(flags)} --seeds {len(settings.seeds)}</code>. All numbers are "
        "in <code>results.json</code>. The figures are also in PNG and SVG files in the same folder.</p>"
        f"<dl>{rows}</dl>"
    )
