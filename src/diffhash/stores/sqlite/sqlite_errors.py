"""Errors of SQLite and of the operating system as errors of diffhash."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ...errors import (
    CollectionBusyError,
    CollectionError,
    CollectionFileError,
    CollectionWriteError,
    DiffhashError,
    ReadOnlyCollectionError,
)
from ...model.file import is_model_file
from ...output_files import reason
from ..model_loading import FOREIGN_ERRORS

__all__ = ["damage_is_reported", "error_name", "os_errors_translated", "translated"]

#: Errors of the operating system that are about permissions.
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
#: What SQLite says if a stored text is not what it should be; the values that we bind always are.
_DAMAGED_TEXT = ("malformed JSON", "Could not decode to UTF-8", "user-defined function raised exception")


def error_name(error: sqlite3.Error) -> str:
    """SQLite's own name of an error, as SQLITE_FULL."""
    return getattr(error, "sqlite_errorname", "") or ""


def translated(error: sqlite3.Error, path: Path) -> CollectionError:
    """The error of diffhash for an error of SQLite."""
    name = error_name(error)
    if name.startswith("SQLITE_READONLY_DBMOVED"):
        return CollectionFileError(
            f"Collection: {path} was moved or removed while it was open. Open it again."
        )
    if name.startswith("SQLITE_NOTADB"):
        return _not_a_database(error, path)
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_FORMAT")) or str(error).startswith(_DAMAGED_TEXT):
        return CollectionFileError(f"Collection: {path} is damaged ({error}). Take it from a backup.")
    if name.startswith("SQLITE_IOERR_SHORT_READ"):
        return CollectionFileError(
            f"Collection: {path} is open, but its log {path}-wal cannot be found. Either the log was removed, or the "
            "file is open under another name (a hard link). Close it where it is open, then open it again."
        )
    if name.startswith(("SQLITE_FULL", "SQLITE_TOOBIG", "SQLITE_IOERR_WRITE")):
        return CollectionWriteError(
            f"Collection: {path} could not be written ({error}). This call stored nothing; "
            "what was stored before is still there. Make room on the disk and try again."
        )
    if name.startswith(("SQLITE_IOERR", "SQLITE_NOLFS")):
        return CollectionWriteError(
            f"Collection: {path} could not be written or read ({error}, {name}). This call stored nothing; "
            "what was stored before is still there. See whether there is room on the disk, and whether it is in order."
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return CollectionBusyError(f"Collection: {path} is in use by another program ({error}). Try again.")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return ReadOnlyCollectionError(
            f"Collection: {path}, or the folder around it, cannot be written to or opened ({error}). "
            f"If there is a file {path}-wal, copy both files to a folder that can be written to."
        )
    return CollectionError(f"Collection: {path}: {error} ({name or type(error).__name__}).")


def _not_a_database(error: sqlite3.Error, path: Path) -> CollectionFileError:
    with contextlib.suppress(OSError):
        if is_model_file(path):
            return CollectionFileError(
                f"Collection.open: {path} is a model, not a collection. Load it with diffhash.load."
            )
    return CollectionFileError(
        f"Collection.open: {path} is not a collection ({error}). "
        "If it was one, it is damaged: take it from a backup."
    )


def _translated_os_error(error: OSError, path: str | os.PathLike[str], caller: str) -> CollectionError:
    """The error of diffhash for an error of the operating system about a file of a collection."""
    if error.errno in _NOT_ALLOWED:
        return ReadOnlyCollectionError(
            f"{caller}: {Path(path).parent} cannot be written to ({error.strerror}). "
            "Open the collection for reading, or copy it to a folder of yours."
        )
    return CollectionWriteError(f"{caller}: {os.fspath(path)} cannot be written: {reason(error)}")


@contextlib.contextmanager
def os_errors_translated(path: str | os.PathLike[str], caller: str) -> Iterator[None]:
    """Turn errors of the operating system about a file of a collection into errors of diffhash."""
    try:
        yield
    except OSError as error:
        if isinstance(error, CollectionError):
            raise
        if isinstance(error, DiffhashError):
            raise CollectionWriteError(f"{caller}: {error}") from error
        raise _translated_os_error(error, path, caller) from error


@contextlib.contextmanager
def damage_is_reported(path: Path) -> Iterator[None]:
    """Turn errors in reading stored content into a CollectionFileError.

    It is put around code that reads what a file holds, and not around code of the user.
    """
    try:
        yield
    except DiffhashError as error:
        if isinstance(error, CollectionError):
            raise
        raise _damaged(path, error) from error
    except FOREIGN_ERRORS as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> CollectionFileError:
    problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error) or repr(error)
    return CollectionFileError(
        f"Collection: {path} is damaged: {problem.rstrip('.')}. Take the file from a backup."
    )
