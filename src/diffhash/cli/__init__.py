"""The command line: one command per file. Each parses, calls one function, and prints one result.

Command modules import only typer and options; they import the workflows when they run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("typer", "rich")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``diffhash``. This always raises ``SystemExit``.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"diffhash: the command line needs {' and '.join(missing)}. Run: pip install 'diffhash[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(1)
    try:
        from .app import run_app

        status = run_app(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        # While modules are imported, before a command runs.
        print("diffhash: interrupted", file=sys.stderr)
        status = 130
    raise SystemExit(status)
