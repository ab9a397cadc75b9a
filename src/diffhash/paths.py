"""Checks of the names of files that users give."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePath
from typing import Any

from .errors import AddressError, InputError

__all__ = ["check_not_address", "check_path"]

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
#: A Path keeps only one slash. A scheme of one letter would be a drive of Windows.
_PATH_OF_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


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

    A path in a folder whose name ends in a colon is not refused.

    Examples
    --------
    >>> check_not_address("postgresql://ann:secret@localhost/photos", who="load: ")
    Traceback (most recent call last):
    diffhash.errors.AddressError: load: the path of a file is needed, got an address (postgresql://…).
    In Python, diffhash.open and diffhash.create take addresses.
    """
    found = None
    if isinstance(path, str):
        found = _ADDRESS.match(path)
    elif isinstance(path, PurePath):
        found = _PATH_OF_ADDRESS.match(path.as_posix())
        if found and Path(f"{found[1]}:").is_dir():
            return
    if found:
        raise AddressError(
            f"{who}the path of a file is needed, got an address ({found[1]}://…). "
            "In Python, diffhash.open and diffhash.create take addresses."
        )
