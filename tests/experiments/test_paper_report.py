"""The report is complete and self-contained, and shows hostile text without running it."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from diffhash.experiments.paper import METHODS, Finding, Table, run, summarise
from diffhash.experiments.paper.figures import chart_files, panel_svg
from diffhash.experiments.paper.series_styles import SERIES
from diffhash.experiments.paper.write_report import write_report
from tests.experiments.paper_settings import tiny_settings

HOSTILE = '<script>alert("1")</script><img src=x onerror=alert(2)>&"\''


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    return summarise(run(tiny_settings(), tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="module")
def paths(summary, tmp_path_factory):
    return write_report(summary, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def page(paths):
    return paths[0].read_text(encoding="utf-8")


class _Tags(HTMLParser):
    """Collect tags and attributes; raise an error for tags that are not closed in order."""

    VOID = frozenset({"meta", "link", "img", "br", "hr", "input"})

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def _parsed(page: str) -> _Tags:
    parser = _Tags()
    parser.feed(page)
    assert parser.open == []
    return parser


def test_every_figure_is_written_as_png_and_svg(summary, paths):
    folder = paths[0].parent

    assert paths[0].name == "report.html"
    for chart in summary.charts:
        assert (folder / f"{chart.name}.png").read_bytes().startswith(b"\x89PNG")
        ElementTree.fromstring((folder / f"{chart.name}.svg").read_text(encoding="utf-8"))
    assert sorted(folder.iterdir()) == sorted(paths)


def test_page_has_figures_tables_and_findings(summary, page):
    tags = _parsed(page)
    text = " ".join("".join(tags.text).split())

    assert [tag for tag, _ in tags.seen].count("table") == len(summary.tables)
    panels = sum(len(chart.panels) for chart in summary.charts)
    assert sum(tag == "svg" and "role" in attrs for tag, attrs in tags.seen) == panels
    for finding in summary.findings:
        assert finding.statement in text
        assert all(line in text for line in finding.evidence)
    assert "Where the results agree with the paper and where they do not" in text
    assert "162" in text


def test_findings_are_written_as_markdown(summary, paths):
    text = (paths[0].parent / "findings.md").read_text(encoding="utf-8")

    for finding in summary.findings:
        assert f"{finding.verdict}.**" in text
    assert text.count("\n| --- |") == len(summary.tables)


def test_page_is_self_contained(page):
    """There is no script and nothing that a browser would load."""
    tags = _parsed(page)

    assert not {"script", "link", "iframe", "object", "img"} & {tag for tag, _ in tags.seen}
    for _, attrs in tags.seen:
        for name in ("href", "src", "xlink:href", "srcset"):
            assert (attrs.get(name) or "#").startswith("#")
    assert not re.search(r"url\(\s*[\"']?(?!#)", page)
    assert "@import" not in page


def test_page_supports_phones_dark_mode_and_print(page):
    assert 'name="viewport"' in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_ids_of_sections_and_figures_are_unique(page):
    """Panels may repeat the ids of glyphs and clips, which have the same shapes. Sections must not."""
    ids = [attrs["id"] for tag, attrs in _parsed(page).seen if "id" in attrs and tag in ("section", "figure")]

    assert len(ids) == len(set(ids))
    assert 'id="axes_1"' not in page


def test_hostile_text_is_shown_and_never_run(summary, tmp_path):
    results = dataclasses.replace(
        summary.results,
        environment={"diffhash": HOSTILE, HOSTILE: HOSTILE},
        settings=dataclasses.replace(summary.results.settings, name=HOSTILE),
        started=HOSTILE,
        updated=HOSTILE,
    )
    chart = summary.charts[0]
    panels = tuple(dataclasses.replace(panel, title=HOSTILE) for panel in chart.panels)
    hostile = dataclasses.replace(
        summary,
        results=results,
        charts=(dataclasses.replace(chart, title=HOSTILE, caption=HOSTILE, y_label=HOSTILE, panels=panels),),
        tables=(Table(HOSTILE, HOSTILE, (HOSTILE, "K"), ((HOSTILE, HOSTILE),)),),
        findings=(Finding(HOSTILE, HOSTILE, HOSTILE, HOSTILE, (HOSTILE,)),),
    )

    page = write_report(hostile, tmp_path)[0].read_text(encoding="utf-8")

    tags = _parsed(page)
    assert not {"script", "img"} & {tag for tag, _ in tags.seen}
    assert not any(name.startswith("on") for _, attrs in tags.seen for name in attrs)
    assert HOSTILE in "".join(tags.text)
    markdown = (tmp_path / "findings.md").read_text(encoding="utf-8")
    assert "<" not in markdown


def test_same_numbers_give_the_same_bytes(summary, paths):
    chart = summary.charts[-1]

    for name, content in chart_files(chart).items():
        assert content == (paths[0].parent / name).read_bytes(), name
    assert panel_svg(chart, chart.panels[0]) in paths[0].read_text(encoding="utf-8")


def test_every_method_has_its_own_line_style():
    """Figures are readable in grey: no two series have the same dash, marker, fill and colour."""
    assert set(METHODS) <= set(SERIES)
    assert all(SERIES[key].label == method.label for key, method in METHODS.items())
    shapes = [(look.dash, look.marker, look.filled) for look in SERIES.values()]
    assert len(set(shapes)) == len(shapes)
