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
    for path in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    if "_build" not in path.parts and "```python" in path.read_text(encoding="utf-8")
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


def _api_entries() -> list[str]:
    """The names that the reference describes, on all its pages."""
    return [
        name
        for page in sorted((DOCS / "reference").glob("*.md"))
        for name in re.findall(
            r"^\.\. (?:auto)?(?:module|class|function|exception|data):: (\S+)$",
            page.read_text(encoding="utf-8"),
            flags=re.MULTILINE,
        )
    ]


@pytest.mark.parametrize("name", _public_names())
def test_every_public_name_has_one_api_entry(name):
    assert _api_entries().count(name) == 1, f"{name} must have exactly one entry in docs/reference"


def test_no_object_has_two_api_entries_under_different_names():
    """A class that two packages export is described where users import it from."""
    entries: dict[int, list[str]] = {}
    for name in _api_entries():
        entries.setdefault(id(pkgutil.resolve_name(name)), []).append(name)

    assert [names for names in entries.values() if len(names) > 1] == []


def test_every_command_has_its_options_in_the_reference():
    """The directive writes the options of a command; the page must have it for each command, once."""
    import typer

    from diffhash.cli.app import app

    text = (DOCS / "reference" / "cli-options.md").read_text(encoding="utf-8")
    shown = re.findall(r"^## (\S+)\n\n```\{command-options\} (\S+)$", text, flags=re.MULTILINE)

    assert sorted(shown) == sorted((name, name) for name in typer.main.get_command(app).commands)


def test_every_command_is_in_the_table_of_the_command_line_page():
    import typer

    from diffhash.cli.app import app

    text = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    table = text[: text.index("\n## ")]

    assert [name for name in typer.main.get_command(app).commands if f"`{name}`" not in table] == []


WALKED = sorted(
    {
        name
        for page in ("architecture.md", "calls.md")
        for name in re.findall(
            r"`(diffhash\.[\w.]+)`", (DOCS / "explanation" / page).read_text(encoding="utf-8")
        )
    }
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


@pytest.mark.parametrize("path", PAGES, ids=lambda path: "/".join(path.parts[-2:]))
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
    assert "python -m benchmarks.misprints" in (DOCS / "explanation" / "paper.md").read_text(encoding="utf-8")
