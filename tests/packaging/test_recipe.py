"""The recipe for wheels and the extras: as far as they can be checked without building."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
WORKFLOW = (ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8")


def test_every_install_line_names_an_extra_that_there_is():
    """An error that tells people to install what does not exist is worse than none."""
    found = {
        extra
        for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
        for group in re.findall(r"diffhash\[([a-z0-9,]+)\]", path.read_text(encoding="utf-8"))
        for extra in group.split(",")
    }

    assert {"cli", "report", "pictures", "hdf5", "parquet"} <= found
    assert found <= set(EXTRAS)


def test_all_is_all_that_users_need():
    (everything,) = EXTRAS["all"]
    named = set(re.findall(r"[a-z0-9]+", everything.partition("[")[2]))

    assert named == set(EXTRAS) - {"all", "test", "check", "docs", "bench", "page"}


def test_actions_are_pinned_by_version():
    used = re.findall(r"uses: (\S+)", WORKFLOW)

    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+(\.\d+)*|[0-9a-f]{40})", action), action


def test_recipe_parses_and_covers_the_three_systems():
    jobs = yaml.safe_load(WORKFLOW)["jobs"]

    systems = " ".join(jobs["wheels"]["strategy"]["matrix"]["os"])
    assert all(system in systems for system in ("ubuntu", "macos", "windows"))
    assert any(step.get("run") == "make wheel" for step in jobs["source"]["steps"])


def test_wheels_are_built_for_every_python_that_is_supported():
    oldest = re.search(r"3\.(\d+)", PROJECT["project"]["requires-python"]).group(1)
    built = re.findall(r"cp3(\d+)-", PROJECT["tool"]["cibuildwheel"]["build"])

    assert built[0] == oldest
    assert built == [str(minor) for minor in range(int(oldest), int(built[-1]) + 1)]


def test_what_the_recipe_runs_is_there():
    command = PROJECT["tool"]["cibuildwheel"]["test-command"]

    assert (ROOT / command.split("{project}/")[1].split()[0]).is_file()


def test_the_citation_names_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))

    assert citation["version"] == PROJECT["project"]["version"]
    assert citation["license"] == PROJECT["project"]["license"]


def test_the_changelog_has_the_version_of_the_package():
    """A release gathers the fragments under its version; a heading of another version would mislead."""
    headings = re.findall(
        r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))

    assert headings[0] == (PROJECT["project"]["version"], citation["date-released"])


def test_classifiers_name_the_supported_pythons():
    """The oldest is that of ``requires-python``, the others are those for which wheels are built."""
    named = [
        found.group(1)
        for classifier in PROJECT["project"]["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", classifier))
    ]
    built = re.findall(r"cp3(\d+)-\*", PROJECT["tool"]["cibuildwheel"]["build"])

    assert named == built
    assert PROJECT["project"]["requires-python"] == f">=3.{named[0]}"
