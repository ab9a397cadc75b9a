"""The progress bar: on a terminal, and only there."""

from __future__ import annotations

import io
import sys

from diffhash.cli.progress import StepBar
from diffhash.workflows import Step

STEPS = [
    Step("reading pictures", 0, None, "pictures"),
    Step("learning", 50, 100, "percent", "refining bits"),
    Step("adding x", 0, 2000),
    Step("adding x", 1000, 2000),
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_steps_are_shown_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")

    with StepBar() as progress:
        for step in STEPS:
            progress(step)
            progress._bar.refresh()

    for words in ("reading pictures", "learning", "refining bits", "adding x", "1,000 rows"):
        assert words in terminal.getvalue()


def test_nothing_is_printed_elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())

    with StepBar() as progress:
        for step in STEPS:
            progress(step)

    assert sys.stderr.getvalue() == ""
