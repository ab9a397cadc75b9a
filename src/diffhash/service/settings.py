"""Settings of the service: where it listens, who may ask, and how much."""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass, field, fields

from ..errors import ParameterError

__all__ = ["Limits", "ServeSettings", "is_loopback"]

#: A token of fewer characters could be guessed.
_SHORTEST_TOKEN = 16
_WHO = "serve"


@dataclass(frozen=True)
class Limits:
    """What a request may ask for at most. What is above a limit is refused, with the status that is named here.

    Attributes
    ----------
    body_bytes : int
        Size of a request body: 413.
    k : int
        Hits for each query: 422.
    batch : int
        Queries of a request: 422.
    write_batch : int
        Objects of a request that writes: 422.
    hits : int
        Hits of a request that asks for everything within a radius: 422.
    picture_pixels : int
        Pixels of a picture: 422.
    queue : int
        Queries, and other requests, that wait: 429.
    connections : int
        Open connections: 503.
    seconds : float
        Time that a request may wait and run: 503.
    receive_seconds : float
        Time in which a request must arrive completely: 408, and the connection is closed.
    send_seconds : float
        Time in which a client must take the next 64 kB of an answer: the connection is closed.
    header_bytes : int
        Size of the headers of a request: 431.
    """

    body_bytes: int = 16 * 2**20
    k: int = 1_000
    batch: int = 1_000
    write_batch: int = 10_000
    hits: int = 100_000
    picture_pixels: int = 50_000_000
    queue: int = 1_000
    connections: int = 1_000
    seconds: float = 30.0
    receive_seconds: float = 20.0
    send_seconds: float = 20.0
    header_bytes: int = 32 * 2**10

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            whole = each.name.endswith("seconds") or isinstance(value, int)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not whole or not 0 < value < math.inf:
                raise ParameterError(
                    f"{_WHO}: the limit {each.name} must be a number above 0, got {value!r}."
                )


@dataclass(frozen=True)
class ServeSettings:
    """How a store is served.

    Attributes
    ----------
    host : str
        Address to listen on. Another one than loopback needs a token, or ``allow_anyone``.
    port : int
        0 takes a free one.
    writable : bool
        Whether objects can be added, replaced and deleted.
    token, write_token : str, optional
        Secrets of at least 16 characters. With a token, every request must have it, or the write token; requests
        that write need the write token.
    allow_anyone : bool
        Listen on another address than loopback without a token: everybody who can reach the port may read and, with
        ``writable``, write.
    host_names : tuple of str
        Names under which browsers and programs may address the service, besides its address. Without a token,
        requests with another ``Host`` header are refused, because a web page could have sent them.
    origins : tuple of str
        Web pages of these origins may use the service from a browser (CORS). By default none.
    delay : float
        Seconds that a query waits at most for others, to share a pass over the codes with them.
    search_threads : int
        Threads for queries that share passes. While one compares codes, another reads payloads.
    log_requests : bool
        Write a line for each request. Without it, only starts, stops, and failures are logged.
    open_page : bool
        Open the page in a browser as soon as the service answers.
    limits : Limits

    Examples
    --------
    >>> ServeSettings(host="0.0.0.0")
    Traceback (most recent call last):
    ...
    diffhash.errors.ParameterError: serve: '0.0.0.0' can be reached by others. Set a token...
    """

    host: str = "127.0.0.1"
    port: int = 8080
    writable: bool = False
    token: str | None = field(default=None, repr=False)
    write_token: str | None = field(default=None, repr=False)
    allow_anyone: bool = False
    host_names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    delay: float = 0.0005
    search_threads: int = 1
    log_requests: bool = False
    open_page: bool = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if isinstance(self.port, bool) or not isinstance(self.port, int) or not 0 <= self.port < 65536:
            raise ParameterError(f"{_WHO}: the port must be a number from 0 to 65535, got {self.port!r:.60}.")
        if not 0 <= self.delay <= 1:
            raise ParameterError(f"{_WHO}: the delay must be between 0 and 1 second, got {self.delay!r:.60}.")
        if isinstance(self.search_threads, bool) or self.search_threads not in range(1, 65):
            raise ParameterError(
                f"{_WHO}: search_threads must be a number from 1 to 64, got {self.search_threads!r:.60}."
            )
        for name, token in (("token", self.token), ("write token", self.write_token)):
            if token is not None and (len(token) < _SHORTEST_TOKEN or not _is_header(token)):
                raise ParameterError(
                    f"{_WHO}: the {name} must have at least {_SHORTEST_TOKEN} characters, all of them visible ASCII. "
                    "Make one: python -c 'import secrets; print(secrets.token_urlsafe())'"
                )
        if self.token is not None and self.token == self.write_token:
            raise ParameterError(
                f"{_WHO}: the token and the write token must differ: readers could write otherwise."
            )
        if self.write_token is not None and not self.writable:
            raise ParameterError(f"{_WHO}: a write token needs a service that writes. Say writable, too.")
        if self.write_token is not None and self.token is None:
            raise ParameterError(
                f"{_WHO}: a write token alone would let everybody read. Give a token for readers too."
            )
        if self.token is not None and self.writable and self.write_token is None:
            raise ParameterError(
                f"{_WHO}: with a token, those who write need another one. Give a write token too."
            )
        for origin in self.origins:
            if not origin.startswith(("http://", "https://")) or origin.count("/") != 2 or "*" in origin:
                raise ParameterError(
                    f"{_WHO}: an origin looks like https://example.org, got {origin!r:.100}. It is never '*'."
                )
        self._check_strangers()

    def _check_strangers(self) -> None:
        """Raise if strangers could read or write, and nobody has said that they may."""
        if is_loopback(self.host) or self.allow_anyone:
            return
        if self.token is None:
            raise ParameterError(
                f"{_WHO}: {self.host!r} can be reached by others. Set a token, or listen on 127.0.0.1. To let "
                "everybody in who can reach the port, use --allow-anyone (in Python: allow_anyone=True)."
            )


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach an address.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "10.0.0.7", "example.org")]
    [True, True, True, False, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_header(token: str) -> bool:
    return all("!" <= character <= "~" for character in token)
