"""Errors about the content of feature files: they name the file and its row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from ..errors import InputFileError, NonFiniteError
from ..files import FeatureFile

__all__ = ["check_not_empty", "find_not_finite", "naming_bad_rows"]


def check_not_empty(files: Mapping[str, FeatureFile], n_rows: Mapping[str, int]) -> None:
    """Raise if a file has no rows."""
    for name, file in files.items():
        if not n_rows[name]:
            raise InputFileError(f"{file.source}: there are no rows.")


def find_not_finite(file: FeatureFile) -> str | None:
    """A message about the first value that is NaN or infinite; None if there is no such value."""
    start = 0
    for block in file.blocks():
        bad = np.argwhere(~np.isfinite(block))
        if len(bad):
            row, column = (int(place) for place in bad[0])
            return f"{file.source}: there is {block[row, column]} in row {start + row}, feature {column}."
        start += len(block)
    return None


@contextmanager
def naming_bad_rows(files: Iterable[FeatureFile]) -> Iterator[None]:
    """Say in which file, and in which row of it, the value is that made the block fail.

    Rows are read in blocks and samples, so the error itself does not know the row of the file.
    """
    try:
        yield
    except NonFiniteError as error:
        for file in files:
            message = find_not_finite(file)
            if message is not None:
                raise NonFiniteError(f"{message} Remove or fill such values first.") from error
        raise
