"""The name of an input file and of a part of it, such as ``wiki.npz#images``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ..errors import InputFileError, MissingExtraError
from ..input_files import check_regular_file, parsing, reading

__all__ = ["FILE_KINDS", "Source", "check_distinct", "choose_columns", "listed", "require_pyarrow"]

#: Endings of files that can be read; upper case counts too.
FILE_KINDS = (".npy", ".npz", ".parquet", ".csv", ".jsonl")


@dataclass(frozen=True)
class Source:
    """An existing file and the selected part of it.

    Attributes
    ----------
    path : Path
    part : str or None
        The text after the ``#``.
    """

    path: Path
    part: str | None = None

    @classmethod
    def parse(cls, text: str | os.PathLike[str]) -> Source:
        """Split a name at its last ``#``, unless a file with the whole name exists.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> path = Path(tempfile.mkdtemp()) / "wiki.npz"
        >>> np.savez(path, images=np.zeros((3, 2)))
        >>> Source.parse(f"{path}#images").part
        'images'
        """
        whole = os.fspath(text)
        path, part = Path(whole), None
        if "#" in whole and not os.path.lexists(whole.replace("\0", "")):
            name, _, part = whole.rpartition("#")
            path = Path(name)
        with reading(path, InputFileError):
            check_regular_file(path, InputFileError)
        return cls(path, part or None)

    def reading(self) -> AbstractContextManager[None]:
        """Context manager for code that reads the file: whatever it raises becomes an InputFileError."""
        return parsing(self.path, InputFileError, name=str(self))

    @property
    def kind(self) -> str:
        """The ending of the file in lower case."""
        return self.path.suffix.lower()

    def __str__(self) -> str:
        return os.fspath(self.path) if self.part is None else f"{os.fspath(self.path)}#{self.part}"

    def check_kind(self, kinds: Iterable[str], what: str) -> None:
        """Raise InputFileError if the ending of the file is not one of ``kinds``."""
        kinds = tuple(kinds)
        if self.kind not in kinds:
            raise InputFileError(f"{self.path}: {what} are read from {', '.join(kinds)} files.")


def listed(names: Iterable[str], limit: int = 20) -> str:
    """The first names of a list, for an error message."""
    known = [repr(name) for name in names]
    more = f" and {len(known) - limit} more" if len(known) > limit else ""
    return ", ".join(known[:limit]) + more if known else "none"


def check_distinct(source: Source, names: list[str]) -> None:
    """Raise InputFileError if two columns have the same name."""
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputFileError(
            f"{source.path}: two columns have the same name, {twice!r}. Rename one. Columns: {listed(names)}."
        )


def choose_columns(source: Source, names: list[str]) -> list[str]:
    """The columns that a source selects (``a,b,c`` or ``first:last``). All must exist."""
    assert source.part is not None
    if source.part in names:
        return [source.part]
    first, colon, last = source.part.partition(":")
    if colon and first in names and last in names:
        return names[names.index(first) : names.index(last) + 1]
    wanted = [name.strip() for name in source.part.split(",")]
    for name in wanted:
        if name not in names:
            raise InputFileError(f"{source.path}: there is no column {name!r}. Columns: {listed(names)}.")
    return wanted


def require_pyarrow(path: Path) -> ModuleType:
    """Import ``pyarrow.parquet``; if it is missing, the error has the install line."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(
            f"{path}: reading Parquet files needs pyarrow. Run: pip install 'diffhash[parquet]'"
        ) from None
    return pyarrow.parquet  # type: ignore[no-any-return]
