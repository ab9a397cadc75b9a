"""``diffhash`` as a process: its output, its files and its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from diffhash.cli.app import run_app
from diffhash.experiments.paper import Results
from tests.cli.process import assert_one_line, diffhash
from tests.experiments.paper_settings import tiny_settings
from tests.signals import heed_interrupts

ROOT = Path(__file__).parents[2]
# The quick run, made tiny: a real process, without the minute.
TINY = """
import sys
sys.path.insert(0, {root!r})
from tests.experiments.paper_settings import tiny_settings
from diffhash.experiments.paper import Settings
Settings.quick = staticmethod(tiny_settings)
{more}
from diffhash.cli import main
main()
"""


# Drawing takes longer than all the rest: for tests that are not about the report.
NO_FIGURES = (
    "import diffhash.experiments.paper.write_report as w\n"
    "w.write_report = lambda summary, folder: [folder / 'report.html']"
)


def tiny(more=""):
    return TINY.format(root=os.fspath(ROOT), more=more)


def test_help_shows_examples():
    result = diffhash("reproduce", "--help")

    assert result.returncode == 0
    for words in (
        "--quick",
        "--resume",
        "--fresh",
        "--seeds",
        "--json",
        "--debug",
        "diffhash reproduce --quick",
    ):
        assert words in result.stdout


def test_version():
    result = diffhash("--version")

    assert result.returncode == 0
    assert result.stdout.startswith("diffhash ")


def test_reproduce_writes_everything_and_is_quiet(tmp_path):
    """Away from a terminal there is no bar: the findings and the path, nothing else."""
    result = diffhash("reproduce", "--quick", "--out", tmp_path / "new" / "folder", code=tiny())

    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert result.stdout.rstrip().endswith("report.html")
    names = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert {"report.html", "results.json", "figure-1-roc.png", "figure-1-roc.svg"} <= names


def test_reproduce_prints_json(tmp_path):
    result = diffhash(
        "reproduce", "--quick", "--seeds", "1", "--json", "--out", tmp_path, code=tiny(NO_FIGURES)
    )

    found = json.loads(result.stdout)
    assert Path(found["report"]) == tmp_path / "report.html"
    assert found["settings"]["seeds"] == [0]
    assert {"statement", "rule", "verdict", "conclusion", "evidence"} == set(found["findings"][0])


def test_interrupted_process_continues(tmp_path):
    """Ctrl-C keeps what is done, says how to go on, and the next run starts from there."""
    slow = (
        "import time, diffhash.experiments.paper.runner as r\n"
        "plain = r.compute\n"
        "r.compute = lambda *a: (time.sleep(0.2), plain(*a))[1]"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", tiny(slow), "reproduce", "--quick", "--out", os.fspath(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    path = tmp_path / "results.json"
    give_up = time.monotonic() + 120
    while not (path.exists() and len(json.loads(path.read_text())["cells"]) >= 3):
        assert time.monotonic() < give_up
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "continues from there" in stderr
    assert "Traceback" not in stderr
    before = json.loads(path.read_text())

    result = diffhash("reproduce", "--quick", "--out", tmp_path, code=tiny(NO_FIGURES))

    after = json.loads(path.read_text())
    assert result.returncode == 0, result.stderr
    assert len(after["cells"]) > len(before["cells"])
    assert {key: after["cells"][key] for key in before["cells"]} == before["cells"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reproduce", "--nonsense"], "--nonsense"),
        (["nonsense"], "nonsense"),
        (["reproduce", "--seeds", "0"], "--seeds"),
        (["reproduce", "--seeds", "many"], "--seeds"),
        (["reproduce", "surplus"], "surplus"),
        (["reproduce", "--out"], "--out"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(arguments, words, tmp_path, monkeypatch, capsys):
    """In this process: the parser is the same, and a new process takes longer."""
    monkeypatch.chdir(tmp_path)

    status = run_app(arguments)

    printed = capsys.readouterr()
    assert status == 2
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert words in printed.err
    assert "--help" in printed.err
    assert list(tmp_path.iterdir()) == []


def test_wrong_use_of_the_process():
    assert_one_line(diffhash("reproduce", "--nonsense"), 2)


def test_folder_that_cannot_be_made_is_named_before_any_work(tmp_path):
    (tmp_path / "file").write_text("in the way")

    result = diffhash("reproduce", "--quick", "--out", tmp_path / "file" / "folder")

    assert_one_line(result, 1)
    assert os.fspath(tmp_path / "file") in result.stderr


def test_damaged_results_are_named_and_kept(tmp_path):
    (tmp_path / "results.json").write_text('{"cells": {"accuracy/K=')

    result = diffhash("reproduce", "--quick", "--out", tmp_path)

    assert_one_line(result, 1)
    assert "results.json" in result.stderr
    assert "--fresh" in result.stderr
    assert (tmp_path / "results.json").read_text() == '{"cells": {"accuracy/K='


def test_fresh_replaces_damaged_results(tmp_path):
    (tmp_path / "results.json").write_text("{")

    result = diffhash(
        "reproduce", "--quick", "--fresh", "--seeds", "1", "--out", tmp_path, code=tiny(NO_FIGURES)
    )

    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "results.json").read_text())["settings"]["name"] == "tiny"


def test_results_of_other_settings_are_refused(tmp_path):
    Results.new(tiny_settings()).write(tmp_path / "results.json")

    result = diffhash("reproduce", "--quick", "--out", tmp_path)

    assert_one_line(result, 1)
    assert "another run" in result.stderr


def test_debug_shows_the_traceback(tmp_path):
    (tmp_path / "results.json").write_text("{")

    result = diffhash("reproduce", "--quick", "--debug", "--out", tmp_path)

    assert result.returncode == 1
    assert "Traceback" in result.stderr


def test_unexpected_error_is_one_line_too(tmp_path):
    broken = (
        "import diffhash.experiments.paper.runner as r\n"
        "def fail(*a): raise RuntimeError('of two\\nlines')\n"
        "r.compute = fail"
    )

    result = diffhash("reproduce", "--quick", "--out", tmp_path, code=tiny(broken))

    assert_one_line(result, 1)
    assert "--debug" in result.stderr


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_missing_command_line_packages_print_the_install_line(package):
    code = f"import sys; sys.modules[{package!r}] = None; from diffhash.cli import main; main(['--help'])"

    result = diffhash(code=code)

    assert_one_line(result, 1)
    assert "pip install 'diffhash[cli]'" in result.stderr


def test_missing_matplotlib_is_known_before_any_work(tmp_path):
    code = tiny("sys.modules['matplotlib'] = None")

    result = diffhash("reproduce", "--quick", "--out", tmp_path / "new", code=code)

    assert_one_line(result, 1)
    assert "pip install 'diffhash[report]'" in result.stderr
    assert not (tmp_path / "new").exists()


def test_an_interrupt_is_one_line_and_status_130(monkeypatch, capsys):
    """Typer itself would end with the status and say nothing."""
    from diffhash import workflows

    def interrupt(file):
        raise KeyboardInterrupt

    monkeypatch.setattr(workflows, "info", interrupt, raising=False)

    assert run_app(["info", "a.dh"]) == 130
    assert capsys.readouterr().err == "diffhash: interrupted\n"


def test_an_interrupt_while_modules_are_imported_is_one_line_too():
    code = (
        "import sys\n"
        "from diffhash.cli import main\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'diffhash.cli.app': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "main(['--help'])"
    )

    result = diffhash(code=code)

    assert_one_line(result, 130)
    assert result.stderr == "diffhash: interrupted\n"
