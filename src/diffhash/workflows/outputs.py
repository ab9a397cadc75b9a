"""Checks of output files before any work: nothing of another kind is replaced, and no input."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..atomic_write import write_atomically
from ..files import CODES_FILE
from ..model.file import MODEL_FILE
from ..output_files import PAGE, OutputKind, check_replaceable, is_same_file, starts_with, write_error
from ..paths import check_path
from ..stores.sqlite.schema import COLLECTION_FILE
from .options import FileName, OptionError

__all__ = [
    "check_codes_output",
    "check_collection_output",
    "check_model_output",
    "check_output",
    "check_page_output",
    "check_plot_output",
    "write_plot",
]


#: A picture that shows figures.
_PLOT = OutputKind("plot", starts_with(b"\x89PNG", b"<?xml", b"<svg"))


def check_collection_output(path: Path, overwrite: bool, inputs: Iterable[FileName] = ()) -> None:
    """Raise unless a collection may be written there."""
    check_output(path, overwrite, inputs, COLLECTION_FILE)


def check_model_output(path: Path, overwrite: bool, inputs: Iterable[FileName] = ()) -> None:
    """Raise unless a model may be written there."""
    check_output(path, overwrite, inputs, MODEL_FILE)


def check_codes_output(path: Path, overwrite: bool, inputs: Iterable[FileName] = ()) -> None:
    """Raise unless codes may be written there."""
    check_output(path, overwrite, inputs, CODES_FILE)


def check_page_output(path: Path, inputs: Iterable[FileName] = ()) -> None:
    """Raise unless a page may be written there; an older page is replaced."""
    check_output(path, True, inputs, PAGE)


def check_plot_output(path: Path, inputs: Iterable[FileName] = ()) -> None:
    """Raise unless a plot may be written there; an older one is replaced."""
    check_output(path, True, inputs, _PLOT)


def write_plot(path: Path, content: bytes) -> None:
    """Write a plot; an older one is replaced."""
    write_atomically(path, content, _PLOT)


def check_output(path: Path, overwrite: bool, inputs: Iterable[FileName], kind: OutputKind) -> None:
    """Raise unless a file may be written there.

    Parameters
    ----------
    path : file to write
    overwrite : bool
        Whether a file of the same kind may be replaced.
    inputs : names of files that are read
        They are never replaced, under no name.
    kind : OutputKind
    """
    check_path(path, caller=f"writing a {kind.name}")
    try:
        for name in inputs if path.exists() else ():
            if is_same_file(path, _possible_files(name)):
                raise OptionError(f"{path} is also an input ({os.fspath(name)}). Write to another file")
        if path.is_file() and not overwrite:
            raise OptionError(f"{path} already exists. Choose another name, or use `overwrite`")
    except OSError as error:
        raise write_error(path, error) from error
    check_replaceable(path, kind)


def _possible_files(name: FileName) -> Iterator[Path]:
    """Files that a name can mean: FILE, or FILE#PART."""
    text = os.fspath(name)
    yield from (Path(file) for file in (text, text.rpartition("#")[0]) if file)
