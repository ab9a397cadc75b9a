"""``diffhash`` as a process."""

from __future__ import annotations

import os
import subprocess
import sys


def diffhash(*arguments, code=None, cwd=None):
    """Run the command, or Python code that ends in it."""
    start = ["-m", "diffhash.cli"] if code is None else ["-c", code]
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
