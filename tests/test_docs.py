"""The documentation keeps up with the package: every name has an entry, every block runs."""

from __future__ import annotations

import os
import pkgutil
import re
import warnings
from pathlib import Path

import pytest

import diffhash as dh
from diffhash import workflows

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
NOT_RUN = "# not run: "
STAGES = [
    "diffhash.learning.PairMoments",
    "diffhash.learning.JointHistogram",
    "diffhash.maps.LinearMap",
    "diffhash.maps.KernelMap",
]
PAGES = [
    path
    for path in [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
    if "```python" in path.read_text(encoding="utf-8")
]


def _public_names() -> list[str]:
    names = [f"diffhash.{name}" for name in dh.__all__]
    for module in (
        dh.cluster,
        dh.codes,
        dh.datasets,
        dh.datasets.files,
        dh.errors,
        dh.evaluation,
        dh.featurizers,
        workflows,
    ):
        names += [f"{module.__name__}.{name}" for name in module.__all__]
    # `evaluate` is documented where users import it from.
    return [name for name in names if name != "diffhash.evaluation.evaluate"] + STAGES


@pytest.mark.parametrize("name", _public_names())
def test_every_public_name_has_an_api_entry(name):
    directives = re.findall(
        r"^\.\. (?:auto)?(?:module|class|function|exception|data):: (\S+)$",
        (DOCS / "api.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )

    assert name in directives, f"add {name} to docs/api.md"


WALKED = sorted(
    set(re.findall(r"`(diffhash\.[\w.]+)`", (DOCS / "architecture.md").read_text(encoding="utf-8")))
)


@pytest.mark.parametrize("name", WALKED)
def test_every_function_of_the_walks_exists(name):
    assert pkgutil.resolve_name(name) is not None


def test_the_walks_name_functions():
    assert len(WALKED) > 20, "the test above would pass on an empty page"


def _blocks(path: Path) -> list[tuple[int, str]]:
    """Line number and source of each Python block of a page."""
    text = path.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in found]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_python_blocks_run_from_top_to_bottom(path, tmp_path, monkeypatch, capsys):
    """The blocks of a page share their names, as a reader who pastes them one by one would have it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", os.fspath(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    names: dict[str, object] = {"__name__": "__docs__"}
    for line, source in _blocks(path):
        if source.startswith(NOT_RUN):
            continue
        # Padded, so that a traceback names the line of the page.
        code = compile("\n" * (line - 1) + source, os.fspath(path), "exec")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(code, names)


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_readme_shows_the_two_commands(command):
    assert f"$ {command}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_paper_page_names_the_command_that_made_its_figures():
    assert "python -m benchmarks.misprints" in (DOCS / "paper.md").read_text(encoding="utf-8")
