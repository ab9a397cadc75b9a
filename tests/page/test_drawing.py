"""Drawings, and pictures that are dropped, pasted or chosen."""

from __future__ import annotations

import base64
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
#: An arrow to the left, in shares of the canvas.
ARROW = [[(0.9, 0.5), (0.1, 0.5)], [(0.35, 0.3), (0.1, 0.5), (0.35, 0.7)]]


def draw(page, strokes):
    page.get_by_text("Draw, or use a picture").click()
    canvas = page.locator("#canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for stroke in strokes:
        places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places[1:]:
            page.mouse.move(*place, steps=8)
        page.mouse.up()


def test_a_drawn_arrow_finds_arrows_and_is_in_the_address(page, symbol_server):
    page.goto(symbol_server.url)
    expect(page.locator(".hit")).to_have_count(24)
    draw(page, ARROW)
    page.wait_for_url(lambda url: len(parse_qs(urlsplit(url).query).get("draw", [""])[0].split("_")) == 2)
    expect(page.locator("body.busy")).to_have_count(0)
    expect(page.locator(".hit").first).to_contain_text("of 64 bits differ")

    found = httpx.get(page.url, trust_env=False).json()

    assert found["asked"]["kind"] == "drawing"
    names = [hit["payload"]["name"] for hit in found["hits"]]
    assert page.locator(".hit .caption").all_inner_texts()[: len(names)] == names
    assert sum("LEFT" in name for name in names[:10]) >= 5

    page.reload()
    expect(page.locator("#canvas")).to_be_visible()
    expect(page.locator(".hit .caption").first).to_have_text(names[0])

    page.get_by_role("button", name="Clear the drawing").click()
    page.wait_for_url(lambda url: "draw" not in url)


def test_a_stroke_can_be_undone(page, symbol_server):
    page.goto(symbol_server.url)
    draw(page, ARROW)
    page.wait_for_url(lambda url: "_" in url)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url(lambda url: "draw" in url and "_" not in url)


@pytest.mark.parametrize("way", ["drop", "paste", "choose"])
def test_a_picture_finds_pictures_like_it(page, picture_server, pictures, way):
    file = pictures.folder / "discs" / "01.png"
    if not file.exists():
        file = sorted(pictures.folder.rglob("*.png"))[0]
    page.goto(picture_server.url)
    expect(page.locator(".hit")).not_to_have_count(0)
    if way == "choose":
        page.get_by_text("Draw, or use a picture").click()
        page.locator("#file").set_input_files(file)
    else:
        page.evaluate(
            """([data, way]) => {
                const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
                const carrier = new DataTransfer();
                carrier.items.add(new File([bytes], "<b>picture</b>.png", { type: "image/png" }));
                const event = way === "drop"
                    ? new DragEvent("drop", { dataTransfer: carrier, bubbles: true, cancelable: true })
                    : new ClipboardEvent("paste", { clipboardData: carrier, bubbles: true });
                document.body.dispatchEvent(event);
            }""",
            [base64.b64encode(file.read_bytes()).decode(), way],
        )

    expect(page.locator("#asked")).to_contain_text("Searching with your picture")
    expect(page.locator(".hit").first).to_contain_text("0 of 4 bits differ")
    assert page.locator("#asked b").count() == 0


def test_a_file_that_is_not_a_picture_is_refused(page, picture_server):
    page.goto(picture_server.url)
    expect(page.locator(".hit")).not_to_have_count(0)
    page.get_by_text("Draw, or use a picture").click()
    page.locator("#file").set_input_files({"name": "a.html", "mimeType": "text/html", "buffer": b"<b>"})
    expect(page.locator("#problem")).to_contain_text("not a picture")
    page.locator("#file").set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": b"nothing"})
    expect(page.locator("#problem")).not_to_contain_text("not a picture that can be read here")
    expect(page.locator("#problem")).not_to_be_empty()
