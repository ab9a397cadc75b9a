"""Errors of PostgreSQL as errors of diffhash. No message contains a password."""

from __future__ import annotations

import psycopg
from psycopg import errors

from ...errors import (
    CollectionBusyError,
    CollectionError,
    CollectionFileError,
    CollectionWriteError,
    ReadOnlyCollectionError,
    StoreServerError,
    StoreUnavailableError,
)

__all__ = ["is_lost", "is_temporary", "translated"]

#: The server ends connections: it is stopped, has crashed, or is still starting.
_ENDED = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.IdleSessionTimeout)
#: The transaction can be repeated as it is.
_REPEATABLE = (errors.SerializationFailure, errors.DeadlockDetected)
#: What a statement says if a table is not what it was.
_CHANGED = (
    errors.UndefinedTable,
    errors.UndefinedColumn,
    errors.UndefinedFunction,
    errors.UndefinedObject,
    errors.DatatypeMismatch,
    errors.WrongObjectType,
    errors.InvalidSchemaName,
    errors.StringDataLengthMismatch,
    errors.InvalidColumnReference,
    errors.NotNullViolation,
    errors.CheckViolation,
    errors.BadCopyFileFormat,
    errors.InvalidBinaryRepresentation,
    errors.CannotCoerce,
    errors.AmbiguousFunction,
)


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, so that nobody knows what became of its transaction."""
    if isinstance(error, _ENDED):
        return True
    # The server did not say anything: the connection ended.
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and error.sqlstate is None


def is_temporary(error: psycopg.Error) -> bool:
    """Whether the same transaction may succeed if it is repeated."""
    return is_lost(error) or isinstance(error, (*_REPEATABLE, errors.TooManyConnections))


def translated(error: psycopg.Error, *, shown: str, caller: str, secret: str | None) -> CollectionError:
    """The error of diffhash for an error of PostgreSQL.

    Parameters
    ----------
    error : psycopg.Error
    shown : str
        The address without its password.
    caller : str
    secret : str or None
        The password, which is removed from what the server says.
    """
    said = _first_line(error, secret)
    if isinstance(error, errors.DiskFull):
        return CollectionWriteError(
            f"{caller}: the disk of the server of {shown} is full ({said}). Nothing was changed. "
            "Everything that was stored before is still there."
        )
    if isinstance(error, errors.LockNotAvailable):
        return CollectionBusyError(
            f"{caller}: {shown} is being written to by somebody else, and the timeout has passed. Try again later."
        )
    if isinstance(error, errors.QueryCanceled):
        return StoreUnavailableError(
            f"{caller}: the server of {shown} took longer than the timeout ({said}). Give a larger timeout=..."
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return ReadOnlyCollectionError(
            f"{caller}: the server of {shown} is read-only ({said}). Write to the primary server."
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreServerError(
            f"{caller}: the user of {shown} has no right to do this ({said}). Ask for it to be granted."
        )
    if isinstance(error, _CHANGED):
        return CollectionFileError(
            f"{caller}: the tables of {shown} are not what diffhash made: somebody else has changed or removed them "
            f"({said}). Nothing was changed. Restore them from a backup."
        )
    if is_lost(error) or isinstance(error, psycopg.OperationalError):
        return StoreUnavailableError(
            f"{caller}: the server of {shown} cannot be reached, or the connection was lost ({said}). "
            "Check that it runs, the address and the password."
        )
    return StoreServerError(f"{caller}: the server of {shown} refused a statement ({said}).")


def _first_line(error: psycopg.Error, secret: str | None) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if secret:
        text = text.replace(secret, "***")
    return text[:300].rstrip(".")
