"""Checks of output files before any work: nothing of another kind is replaced, and no input."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..errors import InputFileError
from ..files import is_codes_file
from ..model.file import is_model_file
from ..stores.sqlite.schema import is_collection_file
from .options import FileName, OptionError

__all__ = [
    "check_codes_output",
    "check_collection_output",
    "check_model_output",
    "check_output",
    "check_page_output",
]


def check_collection_output(path: Path, overwrite: bool, inputs: Iterable[FileName] = ()) -> None:
    """Raise unless a collection may be written there."""
    check_output(path, overwrite, inputs, "collection", is_collection_file)


def check_model_output(path: Path, overwrite: bool, inputs: Iterable[FileName] = ()) -> None:
    """Raise unless a model may be written there."""
    check_output(path, overwrite, inputs, "model", is_model_file)


def check_codes_output(path: Path, overwrite: bool, inputs: Iterable[FileName] = ()) -> None:
    """Raise unless codes may be written there."""
    check_output(path, overwrite, inputs, "file of codes", is_codes_file)


def check_page_output(path: Path, inputs: Iterable[FileName] = ()) -> None:
    """Raise unless a page may be written there; an older page is replaced."""
    check_output(path, True, inputs, "page (.html)", lambda path: path.suffix.lower() == ".html")


def check_output(
    path: Path, overwrite: bool, inputs: Iterable[FileName], kind: str, is_of_kind: Callable[[Path], bool]
) -> None:
    """Raise unless a file may be written there.

    Parameters
    ----------
    path : file to write
    overwrite : bool
        Whether a file of the same kind may be replaced.
    inputs : names of files that are read
        They are never replaced, under no name.
    kind : str
        For error messages.
    is_of_kind : function
        Tells whether an existing file is of this kind.
    """
    if not path.parent.is_dir():
        raise InputFileError(f"{path}: there is no folder {path.parent}. Make it first.")
    if not path.exists():
        return
    if not path.is_file():
        raise InputFileError(f"{path} is not a file, so it cannot be replaced. Choose another name.")
    for name in inputs:
        if any(file.exists() and path.samefile(file) for file in _possible_files(name)):
            raise OptionError(f"{path} is also an input ({os.fspath(name)}). Write to another file")
    if not overwrite:
        raise OptionError(f"{path} already exists. Choose another name, or use `overwrite`")
    if path.stat().st_size and not is_of_kind(path):
        raise InputFileError(
            f"{path} is not a {kind}, so it is not replaced. Choose another name, or remove the file yourself."
        )


def _possible_files(name: FileName) -> Iterator[Path]:
    """Files that a name can mean: FILE, or FILE#PART."""
    text = os.fspath(name)
    yield from (Path(file) for file in (text, text.rpartition("#")[0]) if file)
