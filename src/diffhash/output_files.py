"""Which existing files a writer may replace: only files of the kind that it writes.

This is the one rule for everything that diffhash writes. :mod:`.atomic_write` applies it before a
file is written, and again before the file is renamed to its place.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .errors import OutputFileError, OutputFolderError
from .open_collections import is_open_collection

__all__ = [
    "PAGE",
    "TABLE",
    "OutputKind",
    "check_replaceable",
    "is_same_file",
    "reason",
    "starts_with",
    "text_file",
    "write_error",
]

#: Bytes at the beginning of a file that tell whether it is text.
_HEAD = 4096


@dataclass(frozen=True)
class OutputKind:
    """A kind of file that diffhash writes.

    Attributes
    ----------
    name : str
        For error messages: "{path} is not a {name}".
    recognises : function
        Tells whether an existing file is of this kind.
    is_collection : bool
        Whether collections are of this kind. A collection that this process has open is never opened to see.
    """

    name: str
    recognises: Callable[[Path], bool]
    is_collection: bool = False


def starts_with(*starts: bytes) -> Callable[[Path], bool]:
    """How to recognise a kind of file by its first bytes."""

    def recognises(path: Path) -> bool:
        return _head(path).startswith(starts)

    return recognises


def text_file(*endings: str) -> Callable[[Path], bool]:
    """How to recognise text by the ending of its name. A binary file with this ending is of another kind."""

    def recognises(path: Path) -> bool:
        return path.suffix.lower() in endings and b"\0" not in _head(path)

    return recognises


def check_replaceable(path: Path, kind: OutputKind) -> None:
    r"""Raise an error unless a file of this kind may be written to ``path``.

    The path must be free, or have an empty file or a file of the same kind.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> _ = path.write_text("mine")
    >>> check_replaceable(path, OutputKind("PNG picture", starts_with(b"\x89PNG")))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    diffhash.errors.OutputFileError: ...notes.txt is not a PNG picture, so it is not replaced. ...
    """
    try:
        if not path.parent.is_dir():
            raise OutputFolderError(f"cannot write {path}: there is no folder {path.parent}. Make it first.")
        if not path.exists():
            return
        if not path.is_file():
            raise OutputFileError(f"{path} is not a file, so it cannot be replaced. Choose another name.")
        if path.stat().st_size and not _is_of_kind(path, kind):
            raise OutputFileError(
                f"{path} is not a {kind.name}, so it is not replaced. "
                "Choose another name, or remove the file yourself."
            )
    except OutputFileError:
        raise
    except OSError as error:
        raise write_error(path, error) from error


def _is_of_kind(path: Path, kind: OutputKind) -> bool:
    return kind.is_collection if is_open_collection(path) else kind.recognises(path)


def is_same_file(path: Path, others: Iterable[str | os.PathLike[str]]) -> bool:
    """Whether ``path`` is one of the files that are read, under any name."""
    return any(_same(path, other) for other in others)


def _same(path: Path, other: str | os.PathLike[str]) -> bool:
    # A name that is too long, or that has a NUL in it, is not the name of a file.
    with suppress(OSError, ValueError):
        return path.samefile(other)
    return False


def write_error(path: str | os.PathLike[str], error: OSError) -> OutputFileError:
    """The error of diffhash about a file that cannot be written."""
    found = OutputFileError(f"{os.fspath(path)} cannot be written: {reason(error)}")
    found.errno = error.errno
    return found


def reason(error: OSError) -> str:
    """What went wrong in the operating system, and what to do: for the end of an error message."""
    what = (error.strerror or str(error) or type(error).__name__).rstrip(".")
    advice = {
        errno.ENOSPC: " Make room on the disk and try again.",
        errno.EDQUOT: " Make room on the disk and try again.",
        errno.ENAMETOOLONG: " Choose a shorter name.",
        errno.EACCES: " Choose a folder that you may write to.",
        errno.EPERM: " Choose a folder that you may write to.",
        errno.EROFS: " Choose a folder that you may write to.",
    }
    return f"{what}.{advice.get(error.errno or 0, '')}"


#: Pages that diffhash writes.
PAGE = OutputKind("page (.html)", text_file(".html"))
#: Tables that diffhash writes.
TABLE = OutputKind("table (.csv)", text_file(".csv"))


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)
