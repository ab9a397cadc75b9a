"""Checks of the names of files that users give, and addresses in messages."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePath
from typing import Any

from .errors import AddressError, InputError

__all__ = ["check_not_address", "check_path", "without_passwords"]

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
#: A Path keeps only one slash. A scheme of one letter would be a drive of Windows.
_PATH_OF_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")

#: The password of an address, up to the last @: it may have slashes and more @ in it. Spaces are no part of an
#: address; a password that has them ends at the next @, but a number with a space after it is a port.
_PASSWORD = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:/{1,2}[^\s:/]*:)(?:\S*@|(?!\d+(?:\W|$))[^\n]*?@(?:\S*@)?)")
#: An address with parameters, and its secret parameters.
_PARAMETERS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^\s?]*\?\S+")
_SECRET = re.compile(r"([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)[^&'\"]*", re.IGNORECASE)


def check_path(path: Any, *, caller: str) -> Path:
    """Check the name of a file: a string or a path, without NUL characters, and not the address of a server."""
    check_not_address(path, who=f"{caller}: ")
    try:
        checked = Path(path)
        data = os.fsencode(checked)
    except TypeError:
        raise InputError(f"{caller}: path must be a path, got {type(path).__name__}.") from None
    except UnicodeEncodeError as error:
        raise InputError(f"{caller}: {path!r} is not the name of a file ({error.reason}).") from None
    if b"\0" in data:
        raise InputError(f"{caller}: a path cannot have a NUL in it, got {os.fspath(checked)!r}.")
    return checked


def check_not_address(path: Any, *, who: str) -> None:
    """Refuse an address where the path of a file is needed. It may hold a password, so only its scheme is shown.

    A name such as ``photos:/a.dh`` is no address as text. As a Path it is one, because a Path keeps only one slash of
    ``photos://a.dh``; so it is refused unless there is a folder ``photos:``.

    Examples
    --------
    >>> check_not_address("postgresql://ann:secret@localhost/photos", who="load: ")
    Traceback (most recent call last):
    diffhash.errors.AddressError: load: the path of a file is needed, got an address (postgresql://…).
    In Python, diffhash.open and diffhash.create take addresses.
    """
    found, form = None, ""
    if isinstance(path, str):
        found = _ADDRESS.match(path)
    elif isinstance(path, PurePath):
        found, form = _PATH_OF_ADDRESS.match(path.as_posix()), ", as text and not as a Path"
        if found and Path(f"{found[1]}:").is_dir():
            return
    if found:
        raise AddressError(
            f"{who}the path of a file is needed, got an address ({found[1]}://…). "
            f"In Python, diffhash.open and diffhash.create take addresses{form}."
        )


def without_passwords(text: str) -> str:
    """Replace passwords and tokens of the addresses in a text by ``***``.

    Examples
    --------
    >>> without_passwords("write NAME=FILE, got 'postgresql://ann:secret@localhost/photos'")
    "write NAME=FILE, got 'postgresql://ann:***@localhost/photos'"
    >>> without_passwords("no answer from https://localhost:8080/?token=secret")
    'no answer from https://localhost:8080/?token=***'
    """
    text = _PASSWORD.sub(r"\1***@", text)
    return _PARAMETERS.sub(lambda address: _SECRET.sub(r"\1***", address[0]), text)
