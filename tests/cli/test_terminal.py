"""No text from a file, a name or an error can control the terminal."""

from __future__ import annotations

import ast
import io
import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

import diffhash as dh
from diffhash import cli
from diffhash.cli.app import run_app
from diffhash.cli.printing import print_facts, print_json, print_table
from diffhash.cli.progress import StepBar
from diffhash.cli.terminal import echo
from diffhash.workflows.progress import Step

#: Clears the screen, in seven and in eight bits; sets the title; turns the direction of writing; half a character.
HOSTILE = "a\x1b[2J\x9b2J\x1b]0;t\x07\u202eb\ud800"


def controls(text):
    return [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs")]


@pytest.fixture
def collection(tmp_path):
    x = np.random.default_rng(0).normal(size=(50, 8))
    hasher = dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :6]}, dh.Pairs.aligned(50))
    with dh.Collection.create(tmp_path / "c.dh", hasher) as made:
        made.add(x[:5], modality="x", payloads=[{HOSTILE[:-1]: HOSTILE[:-1]} for _ in range(5)])
    np.save(tmp_path / "q.npy", x[:1].astype(np.float32))
    return tmp_path / "c.dh"


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_names_and_values_of_payloads_are_written_out(collection, capsys, more):
    query = collection.with_name("q.npy")

    status = run_app(["search", str(collection), "--vector", str(query), "--into", "x", "-k", "2", *more])

    printed = capsys.readouterr().out
    assert status == 0
    assert controls(printed) == []
    assert ("\\u001b[2J" if more else "\\x1b[2J") in printed
    if more:
        assert json.loads(printed)["results"][0][0]["payload"] == {HOSTILE[:-1]: HOSTILE[:-1]}


@pytest.mark.parametrize("command", [["info"], ["verify"], ["search"], ["info", "--debug"]])
def test_names_of_files_in_errors_are_written_out(command, tmp_path, capsys):
    # A byte that is not valid UTF-8 reaches Python as half a character.
    name = str(tmp_path / HOSTILE.replace("\ud800", "\udcff"))
    arguments = ["search", name, "words"] if command == ["search"] else [*command, name]

    status = run_app(arguments)

    printed = capsys.readouterr()
    assert status == 1
    assert controls(printed.out + printed.err) == []
    assert "\\x1b[2J" in printed.err
    assert ("Traceback" in printed.err) == ("--debug" in command)


def test_the_name_of_a_file_that_was_verified_is_one_line(tmp_path, capsys):
    path = tmp_path / "a\nb\x1b[2J.npy"
    np.save(path, np.zeros((2, 2)))

    assert run_app(["verify", str(path)]) == 0

    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == 1
    assert controls(printed) == []


def test_wrong_arguments_are_written_out(capsys):
    assert run_app(["search", "c.dh", "words", HOSTILE]) == 2
    assert controls(capsys.readouterr().err) == []


def test_tables_facts_and_json_are_written_out(capsys):
    print_table([HOSTILE, "n"], [[HOSTILE, 1]])
    print_facts({HOSTILE: HOSTILE})
    print_json({HOSTILE: [HOSTILE, "\x7f", "😀"]})

    printed = capsys.readouterr().out
    assert controls(printed) == []
    assert json.loads(printed[printed.index("{") :]) == {HOSTILE: [HOSTILE, "\x7f", "😀"]}


def test_progress_bars_show_names_without_control_characters_or_markup(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    name = "encoding [red]\x9b2J"

    with StepBar() as bar:
        bar(Step(name, 1, 2, "rows", name))
        bar._bar.refresh()
        (task,) = bar._bar.tasks

    assert task.description == task.fields["detail"] == "encoding [red]\\x9b2J"
    assert "[red]" in stream.getvalue()


def test_characters_that_the_terminal_lacks_are_written_as_numbers(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)

    echo("naïve → …")
    stream.flush()

    assert stream.buffer.getvalue() == b"na\\xefve \\u2192 \\u2026\n"


def test_everything_is_printed_by_one_function():
    """A print or typer.echo elsewhere would miss it. `__init__` prints fixed text before typer is known."""
    wrong = []
    for path in Path(cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "print",
                "typer.echo",
                "typer.secho",
            ):
                wrong.append(path.name)
    assert sorted(set(wrong)) == ["__init__.py", "terminal.py"]


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 5000, "x" * 5000])
@pytest.mark.parametrize("option", ["--where", "--vector"])
def test_values_that_are_too_long_or_too_deep_are_one_line(collection, option, value, capsys):
    query = ["--item", "1", "--into", "x"] if option == "--where" else []
    given = f"a={value}" if option == "--where" else value

    status = run_app(["search", str(collection), *query, option, given])

    printed = capsys.readouterr().err
    assert status in (0, 1, 2)
    assert "unexpected" not in printed
    assert len(printed.splitlines()) <= 1
