"""The commands, and how they end: an error is one line on stderr and an exit status."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, TextIO

import typer

from ..errors import DiffhashError, DiffhashWarning, UnreadablePicturesError
from ..paths import without_passwords
from ..workflows.options import OptionError
from .add import add
from .bench import bench
from .build import build
from .compare import compare
from .copy import copy
from .delete import delete
from .demo import demo
from .duplicates import duplicates
from .encode import encode
from .evaluate import evaluate
from .export import export
from .extend import extend
from .fit import fit
from .get import get
from .info import info
from .messages import InterruptedRunError, with_option_names
from .options import takes_groups
from .printing import print_json
from .reproduce import reproduce
from .search import search
from .serve import serve
from .terminal import echo
from .upgrade import upgrade
from .verify import verify

__all__ = ["app", "run_app"]

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
# Typer has its own copy of click or uses the installed one, depending on its version. The base
# class of its public BadParameter is the usage error of either.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

# Arguments after the name of a benchmark belong to the benchmark, also --help.
_PASSES_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}

app = typer.Typer(
    name="diffhash",
    help="Search one kind of data with another through codes of a few bytes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (
    demo,
    build,
    search,
    serve,
    duplicates,
    add,
    get,
    delete,
    fit,
    extend,
    encode,
    evaluate,
    compare,
    export,
    copy,
    info,
    verify,
    upgrade,
    reproduce,
):
    app.command()(takes_groups(_command))
app.command(context_settings=_PASSES_ON)(bench)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        echo(f"diffhash {version('diffhash')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Search one kind of data with another through codes of a few bytes."""


def run_app(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status. Errors become one line on stderr.

    With ``--debug`` in the arguments, the traceback is printed instead.
    """
    try:
        # Outside of standalone mode typer.Exit(n) is returned as n.
        with warnings.catch_warnings():
            warnings.simplefilter("always", DiffhashWarning)
            warnings.showwarning = _show_warning
            status = app(args=list(arguments), prog_name="diffhash", standalone_mode=False)
    except _UsageError as error:
        line = _usage_line(error)
        # "diffhash" without arguments has printed its help; there is no message.
        return _say(line, MISUSED) if line else MISUSED
    except InterruptedRunError as error:
        return _say(str(error), INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", INTERRUPTED)
    except Exception as error:
        if "--debug" in arguments:
            echo(traceback.format_exc(), err=True)
            return FAILED
        if isinstance(error, OptionError):
            return _say(_with_help(_error_line(error), f"diffhash {arguments[0]}"), MISUSED)
        if isinstance(error, UnreadablePicturesError) and "--json" in arguments:
            print_json({"error": without_passwords(_error_line(error)), "unreadable": error.pictures})
        return _say(_error_line(error), FAILED)
    if status == INTERRUPTED:
        # Typer returns this status in place of KeyboardInterrupt.
        return _say("interrupted", INTERRUPTED)
    return status if isinstance(status, int) else 0


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001 - the signature of warnings.showwarning
    line: str | None = None,
) -> None:
    """Show a warning of ours in one line as an error, and others as Python does."""
    if issubclass(category, DiffhashWarning):
        _say(f"warning: {' '.join(str(message).split())}", 0)
    else:
        echo(warnings.formatwarning(message, category, filename, lineno, line).rstrip(), err=True)


def _error_line(error: Exception) -> str:
    if isinstance(error, DiffhashError):
        text = with_option_names(str(error))
    elif isinstance(error, OSError):
        what = error.strerror or str(error)
        text = f"{error.filename}: {what}" if error.filename else what
    else:
        text = f"unexpected {type(error).__name__}: {error}. Run again with --debug to see where."
    return " ".join(text.split())


def _usage_line(error: Exception) -> str:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "diffhash"
    message = " ".join(message.split()).removeprefix("Invalid value: ")
    return _with_help(message, command)


def _with_help(message: str, command: str) -> str:
    message = message.rstrip(".")
    return f"{message}. See '{command} --help'." if message else ""


def _say(line: str, status: int) -> int:
    echo(f"diffhash: {line}", err=True)
    return status
