"""Facets, the largest distance, folding, and files."""

from __future__ import annotations

import csv
import json
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def asked(page):
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


@pytest.fixture
def arrows(page, symbol_server):
    page.goto(f"{symbol_server.url}/?q=arrow&modality=text&into=image")
    expect(page.locator(".hit")).not_to_have_count(0)
    page.get_by_text("Filter, fold and save").click()
    return page


def test_a_facet_filters_and_is_in_the_address(arrows):
    arrows.get_by_label("unseen").select_option("true")
    arrows.wait_for_url(lambda url: "where" in url)
    expect(arrows.locator("body.busy")).to_have_count(0)
    arrows.locator(".hit summary").first.click()
    expect(arrows.locator(".hit dl").first).to_contain_text("true")
    assert json.loads(asked(arrows)["where"]) == {"unseen": True}

    arrows.reload()
    arrows.get_by_text("Filter, fold and save").click()
    expect(arrows.get_by_label("unseen")).to_have_value("true")


def test_the_largest_distance(arrows):
    arrows.get_by_label("At most so many bits").fill("0")
    arrows.wait_for_url(lambda url: "radius=0" in url)
    expect(arrows.locator("#radius-now")).to_have_text("0 of 64")


def test_results_with_the_same_code_are_folded(page, picture_server):
    page.goto(f"{picture_server.url}/?q=square&into=image")
    expect(page.locator(".hit")).not_to_have_count(0)
    before = page.locator(".hit").count()
    page.get_by_text("Filter, fold and save").click()
    page.get_by_label("Fold results").check()
    page.wait_for_url(lambda url: "fold=1" in url)
    expect(page.locator(".alike").first).to_contain_text("and ")
    assert page.locator(".hit").count() < before


def test_results_are_saved_as_json_and_csv(arrows, tmp_path):
    names = arrows.locator(".hit .caption").all_inner_texts()
    for kind in ("JSON", "CSV"):
        with arrows.expect_download() as waiting:
            arrows.get_by_role("button", name=f"Save as {kind}").click()
        waiting.value.save_as(tmp_path / kind)

    saved = json.loads((tmp_path / "JSON").read_text(encoding="utf-8"))
    assert [hit["payload"]["name"] for hit in saved][: len(names)] == names
    with (tmp_path / "CSV").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows][: len(names)] == names
    assert "thumbnail" not in rows[0]


def test_a_formula_in_a_csv_file_is_text(page, symbol_server):
    page.goto(symbol_server.url)
    line = page.evaluate(
        """async () => (await import("/page/saving.js")).csvOf(
            [{id: "=1+1", modality: "x", distance: -1, chance: null, found_by: "codes", payload: {a: 'x"y'}}])"""
    )
    assert line.splitlines()[1] == '\'=1+1,x,-1,,codes,"x""y"'
