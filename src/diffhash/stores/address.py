"""Addresses of stores: a path, or a URL whose scheme tells the engine. Passwords in them are never shown."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from ..errors import AddressError, InputError

__all__ = ["Address", "is_url", "parse_address", "shown_address"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
#: Parameters of a URL that are secret.
_SECRET = re.compile(r"pass|secret|token|key", re.IGNORECASE)
_HIDDEN = "***"


def is_url(address: Any) -> bool:
    """Whether an address is a URL, and not the name of a file.

    Examples
    --------
    >>> is_url("postgresql:///photos"), is_url("photos.dh"), is_url("C:/photos.dh")
    (True, False, False)
    """
    return isinstance(address, str) and _URL.match(address) is not None


@dataclass(frozen=True, repr=False)
class Address:
    """A URL of a store.

    Attributes
    ----------
    scheme : str
    url : SplitResult
    options : dict of str
        The parameters of the URL (after ``?``).

    Examples
    --------
    >>> address = parse_address("postgresql://ann:secret@localhost:5433/photos?collection=birds", caller="open")
    >>> address.host, address.port, address.user, address.path, address.options
    ('localhost', 5433, 'ann', 'photos', {'collection': 'birds'})
    >>> address
    postgresql://ann:***@localhost:5433/photos?collection=birds
    """

    scheme: str
    url: SplitResult
    options: dict[str, str]

    @property
    def host(self) -> str | None:
        """Host, without the port."""
        return self.url.hostname

    @property
    def port(self) -> int | None:
        """Port; None if the URL has none."""
        return self.url.port

    @property
    def user(self) -> str | None:
        """Name of the user."""
        return None if self.url.username is None else unquote(self.url.username)

    @property
    def password(self) -> str | None:
        """The password. It must never be part of a message."""
        return None if self.url.password is None else unquote(self.url.password)

    @property
    def path(self) -> str:
        """What follows the host, without slashes around it."""
        return unquote(self.url.path).strip("/")

    @property
    def shown(self) -> str:
        """The URL for people: passwords and tokens are replaced by ``***``."""
        netloc = self.url.netloc
        if self.url.password is not None:
            user, _, host = netloc.rpartition("@")
            netloc = f"{user.partition(':')[0]}:{_HIDDEN}@{host}"
        query = urlencode(
            {name: _HIDDEN if _SECRET.search(name) else value for name, value in self.options.items()},
            safe="*/:",
            quote_via=quote,
        )
        return urlunsplit((self.scheme, netloc, self.url.path, query, ""))

    def __repr__(self) -> str:
        return self.shown


def parse_address(address: str, *, caller: str) -> Address:
    """Read a URL. Its text is never part of an error, because it may hold a password."""
    try:
        url = urlsplit(address)
        _ = url.port
        pairs = parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query))
    except ValueError:
        raise AddressError(
            f"{caller}: the address is not a valid URL. It is written "
            "SCHEME://USER:PASSWORD@HOST:PORT/NAME?OPTION=VALUE, and special characters in a name or password as %XX."
        ) from None
    return Address(url.scheme.lower(), url, dict(pairs))


def shown_address(address: Any) -> str:
    """An address for people: the path of a file, or the URL without its password."""
    if is_url(address):
        return parse_address(address, caller="open").shown
    try:
        return str(os.fspath(address))
    except TypeError:
        raise InputError(
            f"open: the address must be a path or a URL, got {type(address).__name__}."
        ) from None
