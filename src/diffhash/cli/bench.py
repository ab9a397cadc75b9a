"""``diffhash bench``: the benchmarks of the source checkout."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import DiffhashError
from .printing import print_table

__all__ = ["bench", "find_benchmarks", "list_benchmarks"]

_ENDED_BY_SIGNAL = 128


def bench(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Which benchmark. Without it: a list of them.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,  # noqa: ARG001 - read by run_app
) -> None:
    """Run a benchmark of the source checkout. Arguments after its name are passed on.

    Benchmarks are part of the source, not of the installed package.

    For example:

        diffhash bench

        diffhash bench accuracy --quick

        diffhash bench protocol --data DIR

        diffhash bench search --help
    """
    folder = find_benchmarks()
    known = list_benchmarks(folder)
    if name is None:
        print_table(["name", "what it measures"], list(known.items()))
        return
    if name not in known:
        raise typer.BadParameter(f"there is no benchmark {name!r}. There are {', '.join(known)}")
    command = [sys.executable, "-m", f"benchmarks.{name}", *context.args]
    # Not run in the checkout: names of files that the user gives are relative to where the user is.
    known_folders = [str(folder.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(known_folders)})
    try:
        status = process.wait()
    except KeyboardInterrupt:
        # The terminal has interrupted the benchmark too. Wait until it has cleaned up.
        process.wait()
        raise
    raise typer.Exit(status if status >= 0 else _ENDED_BY_SIGNAL - status)


def find_benchmarks() -> Path:
    """The ``benchmarks`` folder of the checkout that this package is run from."""
    root = Path(__file__).resolve().parents[3]
    folder = root / "benchmarks"
    if not ((folder / "__init__.py").is_file() and (root / "pyproject.toml").is_file()):
        raise DiffhashError(
            "bench: benchmarks are not part of the installed package. Get the source of diffhash and run there: "
            "make bench, or pip install --editable '.[bench,cli,report]' and then diffhash bench."
        )
    return folder


def list_benchmarks(folder: Path) -> dict[str, str]:
    """Names and first lines of the modules that can be run."""
    found = {}
    for path in sorted([*folder.glob("*.py"), *folder.glob("*/__main__.py")]):
        text = path.read_text(encoding="utf-8")
        if "__main__" not in text or path.name == "__init__.py":
            continue
        first = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].partition(": ``")[0]
        found[path.parent.name if path.name == "__main__.py" else path.stem] = first.rstrip(".")
    return dict(sorted(found.items()))
