"""Where a command writes: looked at before any work, so that nothing of another kind is replaced."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import typer

from ..errors import InputFileError
from ..files import Source
from ..files.arrays import read_header
from ..model.file import is_model_file
from ..stores.sqlite.schema import is_collection_file

__all__ = ["check_codes", "check_collection", "check_model", "check_page"]


def check_collection(path: Path, overwrite: bool, inputs: Iterable[str] = ()) -> None:
    """Raise unless a collection may be written there."""
    _check(path, overwrite, inputs, "collection", is_collection_file)


def check_model(path: Path, overwrite: bool, inputs: Iterable[str] = ()) -> None:
    """Raise unless a model may be written there."""
    _check(path, overwrite, inputs, "model", is_model_file)


def check_codes(path: Path, overwrite: bool, inputs: Iterable[str] = ()) -> None:
    """Raise unless codes may be written there."""
    _check(path, overwrite, inputs, "file of codes", _is_codes_file)


def check_page(path: Path, inputs: Iterable[str] = ()) -> None:
    """Raise unless a page may be written there; another page is replaced."""
    _check(path, True, inputs, "page (.html)", lambda path: path.suffix.lower() == ".html")


def _check(
    path: Path, overwrite: bool, inputs: Iterable[str], what: str, is_one: Callable[[Path], bool]
) -> None:
    if not path.parent.is_dir():
        raise InputFileError(f"{path}: there is no folder {path.parent}. Make it first.")
    if not path.exists():
        return
    if not path.is_file():
        raise InputFileError(f"{path} is no file that could be replaced. Choose another name.")
    for name in inputs:
        if any(other.exists() and path.samefile(other) for other in _meant(name)):
            raise typer.BadParameter(f"{path} is read by this command ({name}): write to another file")
    if not overwrite:
        raise typer.BadParameter(f"{path} is there already: choose another name, or add --overwrite")
    if path.stat().st_size and not is_one(path):
        raise InputFileError(
            f"{path} is no {what}, so it is not replaced. Choose another name, or remove it yourself."
        )


def _meant(name: str | os.PathLike[str]) -> Iterator[Path]:
    """Files that an option may mean: FILE, NAME=FILE, FILE#PART."""
    text = os.fspath(name)
    for part in (text, text.partition("=")[2]):
        yield from (Path(file) for file in (part, part.rpartition("#")[0]) if file)


def _is_codes_file(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            shape, _, dtype = read_header(file, Source(path))
    except InputFileError:
        return False
    return dtype == np.uint8 and len(shape) == 2
