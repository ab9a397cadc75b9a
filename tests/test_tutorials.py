"""The tutorials' commands run from top to bottom and print what the pages say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: What a machine decides: only that the line is there counts.
VARIES = ("seconds", "size")


def console_steps(page: Path) -> list[tuple[str, list[str]]]:
    """Commands of a page and the lines that it shows after each."""
    steps: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif not steps[-1][1] and steps[-1][0].endswith("\\"):
                steps[-1] = (f"{steps[-1][0]}\n{line}", [])  # the shell joins the lines
            else:
                steps[-1][1].append(line)
    return steps


def alike(shown: str, printed: str) -> bool:
    """Whether a line is as the page shows it: the same words, and numbers that are near."""
    first, second = shown.split(), printed.split()
    if shown == "..." or (first and second and first[0] == second[0] and first[0] in VARIES):
        return True
    if first[-1:] == ["..."]:
        first, second = first[:-1], second[: len(first) - 1]
    return len(first) == len(second) and all(map(_near, first, second))


def _near(a: str, b: str) -> bool:
    if a == b:
        return True
    try:
        x, y = float(a.replace(",", "")), float(b.replace(",", ""))
    except ValueError:
        return False
    # Shares and means within a few hundredths, counts of bits within a few bits.
    return abs(x - y) <= (0.06 if "." in a else 4)


def check_output(shown: list[str], printed: str) -> None:
    """The first line must be there; of a table's rows most, since near neighbours may change places."""
    lines = printed.splitlines()
    if not shown:
        return
    found = [any(alike(line, other) for other in lines) for line in shown]
    assert found[0], f"the page shows {shown[0]!r}, but this was printed:\n{printed}"
    is_hits = shown[0].startswith("distance")
    enough = sum(found) >= (len(found) + 1) / 2 if is_hits else all(found)
    assert enough, f"the page shows\n{chr(10).join(shown)}\nbut this was printed:\n{printed}"


@pytest.mark.parametrize("name", ["folder", "features"])
def test_commands_of_a_tutorial(name, tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    scripts = os.pathsep.join([os.fspath(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": scripts, "PYTHONIOENCODING": "utf-8", "OPENBLAS_NUM_THREADS": "1"}
    steps = console_steps(ROOT / "docs" / "tutorials" / f"{name}.md")
    assert len(steps) >= 7
    for command, shown in steps:
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
        )
        # Remarks go to stderr; the page must show each of them.
        remarks = done.stderr.splitlines()
        assert (done.returncode, [line for line in remarks if line not in shown]) == (0, []), command
        check_output([line for line in shown if line not in remarks], done.stdout)


def test_the_comparison_lets_small_differences_pass():
    check_output(["a b 0.91", "seconds 1.20"], "a b  0.90\nseconds 9")


@pytest.mark.parametrize("printed", ["a b 0.5\nseconds 9", "a c 0.91\nseconds 9", "a b 0.91", ""])
def test_the_comparison_sees_differences(printed):
    """The tests above would pass on anything if it did not."""
    with pytest.raises(AssertionError):
        check_output(["a b 0.91", "seconds 1.20"], printed)
