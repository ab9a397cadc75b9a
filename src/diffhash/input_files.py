"""Open files for reading. What the system answers becomes one of our errors, with the name of the file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .errors import DiffhashError
from .paths import check_not_address

__all__ = ["check_regular_file", "file_size", "open_input", "parsing", "reading"]


@contextmanager
def reading(
    path: str | os.PathLike[str],
    error: type[DiffhashError],
    *,
    missing: type[DiffhashError] | None = None,
    who: str = "",
) -> Iterator[None]:
    """Context manager: errors of the operating system inside it become errors of diffhash.

    Parameters
    ----------
    path : path
    error : type
        Raised if the file cannot be read: no permission, a name that is too long, a failed disk.
    missing : type, optional
        Raised if there is no such file; by default ``error``.
    who : str
        Begins the message: ``"load: "``.

    Examples
    --------
    >>> from diffhash.errors import InputFileError
    >>> with reading("x" * 300, InputFileError):
    ...     _ = open("x" * 300)
    Traceback (most recent call last):
    diffhash.errors.InputFileError: xxx...xxx cannot be read (File name too long).
    """
    check_not_address(path, who=who)
    name = os.fspath(path)
    try:
        yield
    except DiffhashError:
        raise
    except FileNotFoundError as found:
        raise (missing or error)(f"{who}{name}: there is no such file.") from found
    except OSError as found:
        raise error(f"{who}{name} cannot be read ({found.strerror or found}).") from found


@contextmanager
def parsing(
    path: str | os.PathLike[str], error: type[DiffhashError], *, name: str | None = None, who: str = ""
) -> Iterator[None]:
    """Context manager for code of other libraries that reads a file: whatever it raises becomes ``error``.

    NumPy, zipfile, pyarrow, SciPy and h5py raise errors of many kinds for damaged files.

    Parameters
    ----------
    path : path
    error : type
    name : str, optional
        What messages call the file, by default the path.
    who : str
        Begins the message.

    Examples
    --------
    >>> from diffhash.errors import InputFileError
    >>> with parsing("x.npz", InputFileError):
    ...     raise NotImplementedError("That compression method is not supported")
    Traceback (most recent call last):
    diffhash.errors.InputFileError: x.npz is damaged or cannot be read (That compression method is not supported).
    """
    try:
        with reading(path, error, who=who):
            yield
    except DiffhashError:
        raise
    except Exception as found:
        reason = " ".join(str(found).split()) or type(found).__name__
        raise error(
            f"{who}{name or os.fspath(path)} is damaged or cannot be read ({reason:.300})."
        ) from found


def check_regular_file(path: str | os.PathLike[str], error: type[DiffhashError], *, who: str = "") -> None:
    """Raise ``error`` if the path exists and is not a file: reading a pipe could wait for ever.

    Errors of the operating system are left to :func:`reading`.
    """
    check_not_address(path, who=who)
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - Path.stat cannot name a path with a null character
    except ValueError as found:
        raise error(f"{who}{os.fspath(path)!r} is not the name of a file ({found}).") from found
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise error(f"{who}{os.fspath(path)} is {what}, not a file.")


@contextmanager
def open_input(
    path: str | os.PathLike[str],
    error: type[DiffhashError],
    *,
    missing: type[DiffhashError] | None = None,
    who: str = "",
) -> Iterator[IO[bytes]]:
    """Open a file to read its bytes; the parameters are those of :func:`reading`.

    Examples
    --------
    >>> import tempfile
    >>> from diffhash.errors import InputFileError
    >>> with open_input(tempfile.gettempdir(), InputFileError, who="info: ") as file:
    ...     pass
    Traceback (most recent call last):
    diffhash.errors.InputFileError: info: ... is a folder, not a file.
    """
    with reading(path, error, missing=missing, who=who):
        check_regular_file(path, error, who=who)
        with Path(path).open("rb") as file:
            yield file


def file_size(file: IO[bytes]) -> int:
    """Number of bytes of an open file."""
    return os.fstat(file.fileno()).st_size
