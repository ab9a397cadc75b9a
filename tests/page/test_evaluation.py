"""The second tab: how good searches are."""

from __future__ import annotations

import httpx
import numpy as np
import pytest
from playwright.sync_api import expect

from diffhash.evaluation import equal_error_rate

from .test_accessible import findings

pytestmark = pytest.mark.browser


def test_it_shows_curves_and_the_equal_error_rate(page, symbol_server):
    page.goto(symbol_server.url)
    page.get_by_role("link", name="Evaluation").click()
    expect(page.get_by_role("heading", name="text → image")).to_be_visible()
    directions = httpx.get(f"{symbol_server.url}/v1/evaluation", trust_env=False).json()["directions"]
    one = next(each for each in directions if (each["modality"], each["into"]) == ("text", "image"))
    right, wrong = (np.cumsum(one[f"{name}_by_distance"]) for name in ("similar", "dissimilar"))
    expected = equal_error_rate(np.r_[0, wrong / wrong[-1]], np.r_[0, right / right[-1]])

    captions = page.locator("figcaption").all_inner_texts()

    assert any(f"Equal error rate {100 * expected:.1f} %" in caption for caption in captions)
    assert any(caption.startswith("image: how often each bit is one") for caption in captions)
    assert findings(page) == []
    assert page.url.endswith("?tab=evaluation")
    page.get_by_role("link", name="Search").click()
    expect(page.locator(".hit")).to_have_count(24)


def test_a_model_without_calibration_says_so(page, picture_server):
    page.route("**/v1/evaluation", lambda route: route.fulfill(json={"calibrated": False, "directions": []}))
    page.goto(f"{picture_server.url}/?tab=evaluation")
    expect(page.locator("#evaluation")).to_contain_text("not calibrated")
    expect(page.locator("figcaption").first).to_contain_text("how often each bit is one")
