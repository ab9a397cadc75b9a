"""Errors as HTTP answers: a status, a type and a message that tells nothing about the machine."""

from __future__ import annotations

from ..errors import (
    CalibrationError,
    CollectionError,
    DiffhashError,
    InputError,
    MissingExtraError,
    NoModelError,
    ParameterError,
    ReadOnlyCollectionError,
    UnknownIdError,
    UnsupportedCallError,
)

__all__ = ["FAULT", "BusyError", "LateError", "RefusedError", "problem_of"]

#: Seconds after which a refused client may try again.
RETRY_AFTER = 1


class BusyError(DiffhashError):
    """Too much waits already."""


class LateError(DiffhashError):
    """A request has waited or run too long."""


class RefusedError(Exception):
    """A request is answered with an error.

    Attributes
    ----------
    status : int
    kind : str
        Name of the error; one of :mod:`diffhash.errors` if it is one of the library.
    message : str
    """

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message

    @property
    def body(self) -> dict[str, dict[str, str]]:
        """The answer."""
        return {"error": {"type": self.kind, "message": self.message}}

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """More headers of the answer."""
        if self.status in (429, 503):
            return [(b"retry-after", str(RETRY_AFTER).encode())]
        if self.status == 405:
            return [(b"allow", b"POST")]
        return [(b"www-authenticate", b"Bearer")] if self.status == 401 else []


#: The answer if the service itself is wrong.
FAULT = RefusedError(500, "ServiceError", "The service failed. Its log says where.")


def problem_of(error: BaseException) -> RefusedError | None:
    """The answer for an error; None for an error that is a fault of the service."""
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, BusyError):
        return RefusedError(429, "BusyError", f"Too many requests: {error}. Try again later.")
    if isinstance(error, LateError | TimeoutError):
        return RefusedError(503, "LateError", "The service is too slow at the moment. Try again later.")
    if isinstance(error, UnknownIdError):
        return RefusedError(404, "UnknownIdError", str(error))
    if isinstance(error, ReadOnlyCollectionError):
        return RefusedError(
            403, "ReadOnlyCollectionError", "This service does not write. Start it with --writable."
        )
    if isinstance(error, NoModelError):
        return RefusedError(
            422, "NoModelError", "The collection has codes and no model: ask with codes or items."
        )
    if isinstance(error, UnsupportedCallError):
        return RefusedError(422, "UnsupportedCallError", "The store behind this service cannot do this.")
    if isinstance(error, CollectionError | OSError):
        # Its message may name files of this machine.
        return RefusedError(
            503, "CollectionError", "The collection cannot be used at the moment. Try again later."
        )
    if isinstance(error, MissingExtraError):
        return RefusedError(501, "MissingExtraError", "The service lacks a package for this kind of request.")
    if isinstance(error, InputError | ParameterError | CalibrationError):
        return RefusedError(422, type(error).__name__, str(error))
    if isinstance(error, DiffhashError):
        return RefusedError(422, type(error).__name__, str(error))
    return None
