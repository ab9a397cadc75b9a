"""Connections to a PostgreSQL server: from an address, kept for the next call, with timeouts and backoff."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format

from ...errors import AddressError
from ..address import Address
from .server_errors import is_temporary, translated

__all__ = ["Backoff", "Bits", "Connections"]

#: Parameters of a URL that are given to the driver.
DRIVER_OPTIONS = (
    "application_name",
    "channel_binding",
    "host",
    "passfile",
    "port",
    "service",
    "sslcert",
    "sslcrl",
    "sslkey",
    "sslmode",
    "sslpassword",
    "sslrootcert",
    "target_session_attrs",
)
#: Seconds, if the caller gives no timeout: to connect, to wait for another writer, for one statement, for a server
#: that is gone to come back.
_CONNECT, _LOCK, _STATEMENT, _RETRY = 10.0, 60.0, 600.0, 15.0
#: Type number of ``bit`` in every PostgreSQL.
_BIT = 1560


class Bits(bytes):
    """Whole bytes of a code, which become a value of type ``bit``."""


class _BitsDumper(Dumper):
    format = Format.BINARY
    oid = _BIT

    def dump(self, obj: Any) -> bytes:
        return (8 * len(obj)).to_bytes(4, "big") + bytes(obj)


class _BitsLoader(Loader):
    format = Format.BINARY

    def load(self, data: Any) -> bytes:
        return bytes(data)[4:]


class Backoff:
    """Waiting times between attempts: they double, with some chance in them, until a deadline.

    Parameters
    ----------
    seconds : float
        How long to go on after the first attempt has failed, however long that one took.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline: float | None = None
        self._pause = 0.05

    def wait(self) -> bool:
        """Wait before the next attempt; False if the deadline has passed."""
        if self._deadline is None:
            self._deadline = time.monotonic() + self._seconds
        left = self._deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(left, self._pause * random.uniform(0.5, 1.0)))
        self._pause = min(2 * self._pause, 2.0)
        return True


class Connections:
    """Open connections to one server. Each thread takes one for the time of a call.

    Parameters
    ----------
    address : Address
    timeout : float or None
        Seconds to wait for a connection, for another writer, for a statement, and for a lost server to come back.
        None: a usual time for each.
    caller : str
    """

    def __init__(self, address: Address, timeout: float | None, *, caller: str) -> None:
        self.shown = address.shown
        self._secret = address.password
        self._parameters = _driver_parameters(address, timeout, caller)
        self._limits = {
            "statement_timeout": _STATEMENT if timeout is None else timeout,
            # Shorter, so that the error tells what it waited for.
            "lock_timeout": _LOCK if timeout is None else 0.9 * timeout,
            # A writer that hangs must not keep others waiting for ever.
            "idle_in_transaction_session_timeout": _STATEMENT if timeout is None else timeout,
        }
        self.retry_seconds = _RETRY if timeout is None else timeout
        self._idle: list[psycopg.Connection[Any]] = []
        self._lock = threading.Lock()
        self._closed = False

    def connect(self) -> psycopg.Connection[Any]:
        """A new connection; an error of psycopg if there is none."""
        connection: psycopg.Connection[Any] = psycopg.connect(**self._parameters, autocommit=True)
        try:
            connection.adapters.register_dumper(Bits, _BitsDumper)
            connection.adapters.register_loader(_BIT, _BitsLoader)
            names = ", ".join(f"set_config('{name}', %s, false)" for name in self._limits)
            values = [str(max(1, round(1000 * seconds))) for seconds in self._limits.values()]
            connection.execute(f"SELECT {names}", values)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def taken(self, *, fresh: bool = False) -> Iterator[psycopg.Connection[Any]]:
        """Context manager: a connection for this thread. After an error of psycopg it is not used again."""
        with self._lock:
            connection = None if fresh or not self._idle else self._idle.pop()
        connection = connection or self.connect()
        try:
            yield connection
        except BaseException:
            # The server rolls back what was not committed.
            with suppress(Exception):
                connection.close()
            raise
        with self._lock:
            if not self._closed and not connection.closed:
                self._idle.append(connection)
                return
        connection.close()

    def forget(self) -> None:
        """Close the connections that nobody uses: their server is gone."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            with suppress(Exception):
                connection.close()

    def close(self) -> None:
        """Close all connections; one that a thread uses is closed after its call."""
        self._closed = True
        self.forget()

    @contextmanager
    def errors(self, caller: str) -> Iterator[None]:
        """Context manager: errors of PostgreSQL become errors of diffhash."""
        try:
            yield
        except psycopg.Error as error:
            problem = translated(error, shown=self.shown, caller=caller, secret=self._secret)
        else:
            return
        # Not as the cause: what the driver says could contain a password.
        raise problem from None

    def may_retry(self, error: psycopg.Error, backoff: Backoff) -> bool:
        """Whether to try again after an error; waits before."""
        if not is_temporary(error):
            return False
        self.forget()
        return backoff.wait()


def _driver_parameters(address: Address, timeout: float | None, caller: str) -> dict[str, Any]:
    """Parameters for psycopg. What is missing comes from the environment (PGHOST, PGUSER, PGPASSWORD, ...)."""
    found: dict[str, Any] = {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "password": address.password,
        "dbname": address.path,
    }
    if "/" in address.path:
        raise AddressError(
            f"{caller}: {address.shown}: a database follows the host, got {address.path!r}. The name of the collection "
            "is a parameter: ?collection=..."
        )
    found = {name: value for name, value in found.items() if value not in (None, "")}
    found |= {name: value for name, value in address.options.items() if name in DRIVER_OPTIONS}
    seconds = _CONNECT if timeout is None else timeout
    # libpq takes whole seconds, and 0 or 1 as longer ones.
    found["connect_timeout"] = max(2, math.ceil(seconds))
    # A server that is gone without a word is noticed.
    found |= {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
    found.setdefault("application_name", "diffhash")
    return found
