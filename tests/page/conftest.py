"""A browser, and servers for it. ``make test-page`` runs these tests with ``-m browser``; ``make test`` skips them."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import numpy as np
import pytest

import diffhash as dh
from tests.cli.conftest import photos
from tests.service.conftest import filled, learned, pictures
from tests.service.process import Server

__all__ = ["filled", "learned", "photos", "pictures"]

#: Without the packages of the extra "page" there is nothing to collect; ``make test-page`` fails then.
collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]
#: The first ones are for a machine without a screen and with little shared memory; the others keep Chromium from
#: asking its maker for anything.
FLAGS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
#: Text that would run if it was taken for HTML, and ids and names that would leave an address.
HOSTILE = (
    "<img src=x onerror=\"document.title='ran'\">",
    "<script>document.title='ran'</script>",
    '"><svg onload="document.title=\'ran\'">',
    "javascript:document.title='ran'",
    "../../v1/ids?x=#y",
    "a\u202eb\u0000c&lt;b&gt;",
)


@pytest.fixture(scope="session")
def browser(request):
    """Debian's Chromium, without a window."""
    if str(request.config.option.markexpr).split(" ")[0] != "browser":
        pytest.skip("needs a browser: run make test-page")
    from playwright.sync_api import expect, sync_playwright

    # The answer to the last letter may take its time on a machine that does other work.
    expect.set_options(timeout=15_000)
    program = shutil.which("chromium")
    assert program is not None, "Chromium is missing: apt-get install chromium"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture
def page(browser):
    """An empty tab. At its end, nothing may have failed in it, and nothing may have left the machine."""
    context = browser.new_context(viewport={"width": 1100, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(15_000)
    tab = context.new_page()
    tab.faults, tab.hosts = [], set()
    tab.on("pageerror", lambda error: tab.faults.append(str(error)))
    tab.on("request", lambda request: tab.hosts.add(request.url.partition("://")[2].partition(":")[0]))
    yield tab
    context.close()
    assert tab.faults == []
    # Pictures in payloads are data:, files for download are blob:.
    assert {host for host in tab.hosts if host} <= {"127.0.0.1"}


@pytest.fixture(scope="session")
def symbols(tmp_path_factory, browser):
    """Some hundred symbols with their names; every seventh was not learned from."""
    path = tmp_path_factory.mktemp("page") / "symbols.dh"
    data = dh.datasets.load_symbols()
    wanted = ("Arrows", "Geometric Shapes", "Miscellaneous Symbols", "Mathematical Operators")
    rows = np.flatnonzero(np.isin(data.groups, wanted))
    learned_from = rows[np.arange(len(rows)) % 7 > 0]
    data = data.fit_text(learned_from)
    views, ids = data.take(learned_from)
    hasher = dh.KernelDiffHash(n_bits=64, random_state=0).fit(views, dh.Pairs.from_ids(ids), calibrate=True)
    hasher.set_featurizers({"image": data.image_featurizer, "text": data.text_featurizer})
    from diffhash.experiments.symbols.data_url import picture_data_url

    names = [f"U+{ord(data.characters[row]):04X}" for row in rows]
    payloads = [
        {
            "name": data.names[row],
            "block": str(data.groups[row]),
            "unseen": bool(row not in learned_from),
            "point": ord(data.characters[row]),
            "thumbnail": picture_data_url(data.pictures[row]),
        }
        for row in rows
    ]
    with dh.Collection.create(path, hasher, words="name") as collection:
        collection.add(data.views["image"][rows], modality="image", ids=names, payloads=payloads)
        collection.add(data.views["text"][rows], modality="text", ids=names)
    return path


@pytest.fixture(scope="session")
def symbol_server(symbols):
    with Server(symbols) as running:
        yield running


@pytest.fixture(scope="session")
def object_server(browser, filled):
    """A collection without pictures and words."""
    with Server(filled) as running:
        yield running


@pytest.fixture(scope="session")
def picture_server(browser, pictures):
    with Server(pictures.path) as running:
        yield running


@pytest.fixture(scope="session")
def hostile(tmp_path_factory, browser, learned, small_data):
    """Ids, field names and values that would run if the page took them for HTML."""
    path = tmp_path_factory.mktemp("page") / "hostile.dh"
    n = len(HOSTILE)
    payloads = [
        {"caption": text, text: text, "thumbnail": f"data:image/svg+xml,{text}", "picture": text}
        for text in HOSTILE
    ]
    with dh.Collection.create(path, learned, words="caption") as collection:
        for name, features in small_data.test.views.items():
            collection.add(features[:n], modality=name, ids=list(HOSTILE), payloads=payloads)
    with Server(path) as running:
        yield running


@pytest.fixture
def empty_server(browser, tmp_path, learned):
    path = tmp_path / "empty.dh"
    dh.Collection.create(path, learned).close()
    with Server(path) as running:
        yield running
