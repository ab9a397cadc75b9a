"""What the page says when there is nothing to show."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import expect

from tests.service.process import Server

from .conftest import HOSTILE

pytestmark = pytest.mark.browser
TOKEN = "a-token-of-the-readers-0123"


def test_nothing_matches(page, symbol_server):
    page.goto(f"{symbol_server.url}/?q=zzzzqqqq&into=image")

    expect(page.locator("#problem")).to_contain_text("Nothing matches.")
    expect(page.locator("#problem")).to_contain_text("No caption contains 'zzzzqqqq'")
    expect(page.locator(".hit")).to_have_count(0)


def test_an_empty_collection_says_so(page, empty_server):
    page.goto(empty_server.url)
    expect(page.locator("#problem")).to_contain_text("This collection is empty.")


def test_objects_without_pictures_are_a_table_of_their_payloads(page, object_server):
    page.goto(object_server.url)

    expect(page.locator("tbody tr")).to_have_count(24)
    expect(page.locator("#results")).to_contain_text("no thumbnails")
    expect(page.locator("th")).to_have_text(["object", "n", "half", "name", "distance", "why"])
    expect(page.get_by_label("Words")).to_be_disabled()

    page.locator("tbody .from").first.click()
    expect(page.locator("tbody tr").first).to_contain_text("of 16 bits differ")


def test_a_wrong_token_is_asked_for_again(page, symbols):
    with Server(symbols, environment={"DIFFHASH_TOKEN": TOKEN}) as server:
        page.goto(f"{server.url}/?q=black+star&into=image")
        page.get_by_label("Token").fill("not the right one, surely")
        page.get_by_label("Token").press("Enter")
        expect(page.locator("#problem")).to_contain_text("does not accept this token")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_label("Token").press("Enter")

        expect(page.locator(".hit .caption").first).to_have_text("BLACK STAR")
        expect(page.locator(".hit img").first).to_have_js_property("naturalWidth", 32)
        expect(page.get_by_label("Token")).to_be_hidden()


def test_a_server_that_goes_away_and_comes_back(page, symbols):
    server = Server(symbols).start()
    try:
        page.goto(f"{server.url}/?q=black+star&into=image")
        expect(page.locator(".hit .caption").first).to_have_text("BLACK STAR")
        server.stop()
        page.get_by_label("Words").fill("white star")
        expect(page.locator("#problem")).to_contain_text("The service does not answer.")
    finally:
        server.stop()
    with Server(symbols, "--port", server.port):
        expect(page.locator(".hit .caption").first).to_have_text("WHITE STAR", timeout=30_000)
        expect(page.locator("#problem")).to_be_empty()


def test_a_collection_that_cannot_be_used_is_said(page, symbols, tmp_path):
    copy = shutil.copy(symbols, tmp_path / "copy.dh")
    with Server(copy, "--timeout", "20") as server:
        page.goto(f"{server.url}/?item=nothing+like+it&modality=image")
        expect(page.locator("#problem")).to_contain_text("nothing like it")


def test_hostile_captions_ids_and_fields_run_nothing(page, hostile):
    page.on("dialog", lambda dialog: page.faults.append("a dialog"))
    page.goto(hostile.url)
    expect(page.locator(".hit-row")).to_have_count(len(HOSTILE))
    for number, text in enumerate(HOSTILE):
        page.goto(hostile.url)
        row = page.locator(".hit-row").nth(number)
        row.get_by_text("Why, and what it is").click()
        expect(row.locator("dl")).to_contain_text("caption")
        row.locator(".from").click()
        expect(page.locator("#asked")).to_contain_text("Searching from")
        assert (
            page.evaluate(
                "document.querySelectorAll('#main script, #main svg:not(.bits), #results img').length"
            )
            == 0
        )
        assert page.title() == "diffhash"
        shown = text.replace("\u0000", "\ufffd")
        assert page.evaluate("new URLSearchParams(location.search).get('item')") in (text, shown)
    assert page.faults == []


def test_a_hostile_address_runs_nothing(page, symbol_server):
    for name in ("q", "item", "modality", "into", "where", "radius"):
        page.goto(f"{symbol_server.url}/?{name}=%3Cimg%20src=x%20onerror=document.title='ran'%3E")
        expect(page.locator("body.busy")).to_have_count(0)
        page.wait_for_timeout(100)
        assert page.title() != "ran"
        assert page.locator("#problem img, #asked img[src=x]").count() == 0
