"""axe-core finds nothing serious, in light and dark, on a desk and on a phone; and the page is small."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

import diffhash.service

pytestmark = pytest.mark.browser
PLACES = {"start": "/", "words": "/?q=black+star&into=image", "nothing": "/?q=zzzzqqqq&into=image"}


def findings(page):
    import axe_playwright_python

    # Through the browser's debugger: the policy of the page allows no script from elsewhere.
    page.evaluate(Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document)")["violations"]
    return [
        (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", list(PLACES))
def test_nothing_serious(page, symbol_server, scheme, place):
    page.emulate_media(color_scheme=scheme)
    page.goto(symbol_server.url + PLACES[place])
    expect(page.locator("#status")).not_to_be_empty()
    if place == "words":
        page.locator(".why summary").first.click()
    assert findings(page) == []


def test_nothing_serious_in_a_table(page, object_server):
    page.goto(object_server.url)
    expect(page.locator("tbody tr")).to_have_count(24)
    assert findings(page) == []


def test_a_phone_has_no_sideways_scrolling(page, symbol_server):
    page.set_viewport_size({"width": 360, "height": 740})
    for place in PLACES.values():
        page.goto(symbol_server.url + place)
        expect(page.locator("#status")).not_to_be_empty()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_page_is_under_100_kb(page, symbol_server):
    sizes = {}
    page.on("response", lambda answer: sizes.__setitem__(answer.url, len(answer.body())))
    page.goto(symbol_server.url)
    expect(page.locator("#status")).not_to_be_empty()
    folder = Path(diffhash.service.__file__).parent / "page"
    assert sum(file.stat().st_size for file in folder.iterdir()) < 100_000
    assert not [url for url in sizes if not url.startswith(symbol_server.url)]
