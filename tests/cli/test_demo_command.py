"""``diffhash demo`` as a process."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.cli.test_command_line import assert_one_line, diffhash

ROOT = Path(__file__).parents[2]
# The demonstration made small: a real process, without the minute.
QUICK = f"""
import sys
sys.path.insert(0, {os.fspath(ROOT)!r})
from functools import partial
from tests.experiments.symbols_settings import QUICK, few_symbols
import diffhash.experiments.symbols as symbols, diffhash.experiments.symbols.run
diffhash.experiments.symbols.run.load_symbols = few_symbols
symbols.run_demo = partial(symbols.run_demo, **QUICK)
{{more}}
from diffhash.cli import main
main()
"""


def quick(more=""):
    return QUICK.format(more=more)


def test_demo_answers_in_the_terminal_and_leaves_what_can_be_asked(tmp_path):
    out = tmp_path / "new" / "folder"

    result = diffhash("demo", "--out", out, code=quick())

    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    for words in ("leftwards arrow", "mAP", "chance", "report.html", "Next:", "diffhash search"):
        assert words in result.stdout
    assert any(symbol in result.stdout for symbol in "←⇐↚→⇒↛↔")
    # What it says to do next works.
    line = next(line for line in result.stdout.splitlines() if "diffhash search" in line and '"' in line)
    asked = line.split('"')[1]
    found = diffhash("search", out / "symbols.dh", asked, "--json")
    assert found.returncode == 0, found.stderr
    assert len(json.loads(found.stdout)["results"][0]) == 10


def test_demo_prints_json(tmp_path):
    result = diffhash("demo", "--out", tmp_path, "--json", code=quick())

    found = json.loads(result.stdout)
    assert Path(found["collection"]) == tmp_path / "symbols.dh"
    assert {"name → drawing", "drawing → name", "name → serif drawing"} < set(found["figures"])
    assert len(found["figures"]) == 6


def test_a_terminal_that_lacks_the_symbols_gets_question_marks(tmp_path):
    result = diffhash("demo", "--out", tmp_path, code=quick("sys.stdout.reconfigure(encoding='latin-1')"))

    assert result.returncode == 0, result.stderr
    assert "leftwards arrow" in result.stdout


def test_help_shows_examples():
    result = diffhash("demo", "--help")

    assert result.returncode == 0
    for words in ("--out", "--open", "--json", "diffhash demo --out"):
        assert words in result.stdout


def test_missing_matplotlib_is_known_before_any_work(tmp_path):
    result = diffhash("demo", "--out", tmp_path / "new", code=quick("sys.modules['matplotlib'] = None"))

    assert_one_line(result, 1)
    assert "pip install 'diffhash[report]'" in result.stderr
    assert not (tmp_path / "new").exists()


def test_a_file_in_the_way_is_named_and_kept(tmp_path):
    (tmp_path / "symbols.dh").write_text("notes")

    result = diffhash("demo", "--out", tmp_path)

    assert_one_line(result, 1)
    assert "symbols.dh" in result.stderr
    assert (tmp_path / "symbols.dh").read_text() == "notes"


def test_wrong_use():
    assert_one_line(diffhash("demo", "--bits", "4"), 2)
