"""Take the screenshots of the page for the documentation: ``python docs/page_pictures.py demo/symbols.dh``.

Needs the extras cli, serve, pictures and page, and Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

OUT = Path(__file__).parent / "_static" / "page"
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync", "--no-first-run"]
ARROW = "880.500-120.500_350.280-120.500-350.720"
#: Name, address, width, height, colours, and a text to click on.
PICTURES = [
    ("words", "?q=white+star&modality=text&into=image", 1100, 760, "light", "Why, and what it is"),
    ("drawing", f"?draw={ARROW}&modality=drawing&into=drawing", 1100, 900, "light", None),
    ("dark", "?q=black+chess+queen&modality=text&into=image", 1100, 640, "dark", None),
    ("phone", "?q=smiling+face&modality=text&into=image", 390, 780, "light", None),
    ("nothing", "?q=snowmobile&modality=text&into=image", 1100, 420, "light", None),
    ("evaluation", "?tab=evaluation", 1100, 760, "light", None),
]


def main(collection: str, port: int = 8733) -> None:
    """Serve the collection, and visit the addresses."""
    OUT.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "diffhash", "serve", collection, "--port", str(port)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        print(server.stderr.readline().strip())
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            for name, address, width, height, scheme, click in PICTURES:
                tab = browser.new_page(
                    viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
                )
                tab.goto(f"http://127.0.0.1:{port}/{address}")
                tab.wait_for_load_state("networkidle")
                if click:
                    tab.get_by_text(click).first.click()
                tab.screenshot(path=OUT / f"{name}.png")
                tab.close()
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(sys.argv[1])
