"""Words in, pictures out; and from one result to others."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def captions(page):
    return page.locator(".hit .caption").all_inner_texts()


def asked(page):
    """The parameters in the address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_typing_finds_pictures_and_keeps_the_address_up_to_date(page, symbol_server):
    page.goto(symbol_server.url)
    expect(page.locator(".hit")).to_have_count(24)

    page.get_by_label("Words").press_sequentially("leftwards arrow", delay=20)

    expect(page.locator(".hit .caption").first).to_contain_text("LEFTWARDS")
    expect(page.get_by_role("status")).to_contain_text("codes searched in")
    expect(page.locator(".hit img").first).to_have_js_property("naturalWidth", 32)
    assert asked(page) == {"q": "leftwards arrow", "modality": "text", "into": "image"}


def test_an_address_can_be_shared_with_people_and_programs(page, symbol_server):
    page.goto(f"{symbol_server.url}/?q=black+star&modality=text&into=image")
    expect(page.locator(".hit .caption").first).to_have_text("BLACK STAR")
    expect(page.get_by_label("Words")).to_have_value("black star")

    found = httpx.get(page.url, trust_env=False).json()

    assert [hit["payload"]["name"] for hit in found["hits"]] == captions(page)[: len(found["hits"])]


def test_a_result_is_searched_from_in_both_directions(page, symbol_server):
    page.goto(f"{symbol_server.url}/?q=black+star&modality=text&into=image")
    page.locator(".hit .from").first.click()

    expect(page.locator("#asked")).to_contain_text("Searching from BLACK STAR")
    assert asked(page) == {"item": "U+2605", "modality": "image", "into": "image"}
    assert "BLACK STAR" not in captions(page)  # an object does not find itself

    page.get_by_label("and find").select_option("text")
    expect(page.locator(".why").first).to_be_visible()
    assert asked(page) == {"item": "U+2605", "modality": "image", "into": "text"}

    page.get_by_role("button", name="Exchange the two directions").click()
    expect(page.get_by_label("Ask with")).to_have_value("text")
    assert asked(page) == {"item": "U+2605", "modality": "text", "into": "image"}

    page.go_back()
    page.go_back()
    page.go_back()
    expect(page.get_by_label("Words")).to_have_value("black star")
    expect(page.locator("#asked")).to_be_hidden()


def test_why_shows_distance_chance_words_and_the_bits_that_differ(page, symbol_server):
    page.goto(f"{symbol_server.url}/?q=white+star&modality=text&into=image")
    found = httpx.get(page.url, trust_env=False).json()
    first = next(hit for hit in found["hits"] if hit["distance"])
    card = page.locator(".hit").filter(has_text=first["payload"]["name"]).first
    expect(card).to_contain_text(f"{first['distance']} of 64 bits differ")
    expect(card).to_contain_text("likely")

    card.get_by_text("Why, and what it is").click()

    # The bits are drawn when the part opens, which the click does not wait for.
    expect(card.locator(".bits rect")).to_have_count(64)
    expect(card.locator(".bits .other")).to_have_count(first["distance"])
    expect(card.locator("dl")).to_contain_text("caption has the words")
    expect(card.locator("dl")).to_contain_text(first["id"])


def test_an_outdated_answer_is_never_shown(page, symbol_server):
    """The answer to the first letters comes after the answer to all of them."""
    page.goto(symbol_server.url)
    expect(page.locator(".hit")).to_have_count(24)

    def slow(route):
        page.wait_for_timeout(800)
        route.continue_()

    page.route("**/v1/find?q=white&**", slow)
    page.get_by_label("Words").fill("white")
    page.wait_for_timeout(200)
    page.get_by_label("Words").fill("black chess queen")
    expect(page.locator(".hit .caption").first).to_have_text("BLACK CHESS QUEEN")
    page.wait_for_timeout(1000)
    expect(page.locator(".hit .caption").first).to_have_text("BLACK CHESS QUEEN")


def test_more_results_come_when_the_page_is_scrolled(page, symbol_server):
    page.goto(f"{symbol_server.url}/?q=arrow&modality=text&into=image")
    expect(page.locator(".hit")).not_to_have_count(0)
    page.mouse.wheel(0, 20_000)
    expect(page.locator(".hit").nth(47)).to_be_attached()
    names = captions(page)
    assert len(set(names)) == len(names)


def test_everything_works_with_the_keyboard(page, symbol_server):
    page.goto(symbol_server.url)
    expect(page.locator(".hit")).to_have_count(24)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.get_by_label("Words").focus()
    page.keyboard.type("black heart suit")
    page.keyboard.press("Enter")
    expect(page.locator(".hit .caption").first).to_have_text("BLACK HEART SUIT")
    page.locator(".hit .from").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#asked")).to_contain_text("BLACK HEART SUIT")
    assert page.evaluate("document.activeElement.id") == "results"
