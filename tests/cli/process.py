"""Shared by the tests of the commands: arguments, and functions that run a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from diffhash.cli.app import run_app

FAST = ["--method", "diff", "--bits", "4"]
# The same work with fewer bits than pictures have words, and without the choice of settings.
QUICK = ["--method", "refined", "--bits", "16", "--set", "features=linear", "--set", "max_iter=5"]
QUICK += ["--set", "ridge=0.01", "--set", "penalty=0.003", "--set", "negative_target=0"]


def diffhash(*arguments, code=None, cwd=None):
    """Run the command as a new process, or Python code that calls it."""
    start = ["-m", "diffhash"] if code is None else ["-c", code]
    return subprocess.run(
        [sys.executable, *start, *map(os.fspath, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "OPENBLAS_NUM_THREADS": "1"},
        cwd=cwd,
        timeout=300,
    )


def assert_one_line(result, status):
    """An error is one line on stderr, nothing on stdout, and a status."""
    assert result.returncode == status, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("diffhash: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert "Traceback" not in result.stderr


def run(capsys, *arguments):
    """In this process: status, stdout, stderr."""
    status = run_app([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def found(out, query=0):
    return json.loads(out)["results"][query]


def views(files, part="train"):
    return ["--view", f"x={files.folder / part}_x.npy", "--view", f"y={files.folder / part}_y.npy"]
