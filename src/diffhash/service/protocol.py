"""The HTTP connection: clients that are slow, that send too much, or that are too many, are cut off."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import struct
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .answers import HEADERS
from .logs import log_event
from .settings import Limits

try:
    import fcntl
    import termios

    _TIOCOUTQ: int | None = termios.TIOCOUTQ
except (ImportError, AttributeError):  # not on Linux
    _TIOCOUTQ = None

__all__ = ["guarded_protocol", "watch_connections"]

#: Seconds between two looks at the connections.
_WATCH = 0.5
#: Bytes of an answer that a client must take in the time that it has, to get as much time for the next ones.
_PROGRESS = 2**16


def _raw_answer(status: str, kind: str, message: str, more: str = "") -> bytes:
    body = f'{{"error":{{"type":"{kind}","message":"{message}"}}}}'
    fixed = "".join(f"{name.decode()}: {value.decode()}\r\n" for name, value in HEADERS)
    return (
        f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        f"connection: close\r\n{more}{fixed}\r\n{body}"
    ).encode()


_TOO_MANY = _raw_answer(
    "503 Service Unavailable", "BusyError", "Too many connections. Try again later.", "retry-after: 1\r\n"
)
_TOO_SLOW = _raw_answer("408 Request Timeout", "LateError", "The request did not arrive in time.")
_LONG_HEADERS = _raw_answer(
    "431 Request Header Fields Too Large", "RequestError", "The headers are too long."
)


def guarded_protocol(limits: Limits) -> type[HttpToolsProtocol]:
    """A class of connections with these limits."""

    class GuardedProtocol(HttpToolsProtocol):
        """A connection that is closed if its client is too slow."""

        #: Since when a request arrives, or an answer is not taken; None if neither.
        receiving_since: float | None = None
        stalled_since: float | None = None
        #: Bytes of the answer that were not taken then.
        _left = 0
        _in_headers = True
        _header_bytes = 0
        #: Whether a request was completed by the last data.
        _completed = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                transport.write(_TOO_MANY)
                transport.close()
                return
            # The first request must begin, too.
            self.receiving_since = self.loop.time()

        def data_received(self, data: bytes) -> None:
            self._completed = False
            super().data_received(data)
            # An empty line begins no request, and ends the time for which an idle connection may stay open.
            if not self._completed and self.receiving_since is None:
                self.receiving_since = self.loop.time()
            # The parser collects headers without a limit of its own.
            if self._in_headers and not self._completed:
                self._header_bytes += len(data)
                if self._header_bytes > limits.header_bytes and not self.transport.is_closing():
                    self.transport.write(_LONG_HEADERS)
                    self.transport.close()

        def on_message_begin(self) -> None:
            self.receiving_since = self.loop.time()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._in_headers = False
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self.receiving_since = None
            self._in_headers, self._header_bytes, self._completed = True, 0, True
            super().on_message_complete()

        def send_400_response(self, msg: str) -> None:
            if not self.transport.is_closing():
                self.transport.write(_raw_answer("400 Bad Request", "HTTPError", msg))
                self.transport.close()

        def pause_writing(self) -> None:
            self._wait_for_client(self.loop.time())
            super().pause_writing()

        def resume_writing(self) -> None:
            self.stalled_since = None
            super().resume_writing()

        def _wait_for_client(self, now: float) -> None:
            self.stalled_since, self._left = now, _unsent(self.transport)

        def close_if_slow(self, now: float) -> None:
            """Close the connection if its client has had enough time."""
            if self.stalled_since is not None and _unsent(self.transport) <= self._left - _PROGRESS:
                self._wait_for_client(now)
            if self.stalled_since is not None and now - self.stalled_since > limits.send_seconds:
                # The kernel would go on to send what the client does not take.
                linger = struct.pack("ii", 1, 0)
                self.transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, linger
                )
                self.transport.abort()
            elif self.transport.is_closing():
                return
            elif self.receiving_since is not None and now - self.receiving_since > limits.receive_seconds:
                cycle = self.cycle
                if cycle is None or cycle.response_complete or not cycle.response_started:
                    self.transport.write(_TOO_SLOW)
                self.transport.close()

    return GuardedProtocol


def _unsent(transport: asyncio.Transport) -> int:
    """Bytes that the client has not taken yet: in this process and, where the system tells, in the kernel."""
    size = transport.get_write_buffer_size()
    if _TIOCOUTQ is not None:
        with contextlib.suppress(OSError):
            found = fcntl.ioctl(transport.get_extra_info("socket").fileno(), _TIOCOUTQ, bytes(4))
            size += struct.unpack("i", found)[0]
    return size


async def watch_connections(connections: set[Any]) -> None:
    """Close connections of slow clients, for ever."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_WATCH)
        for connection in list(connections):
            try:
                connection.close_if_slow(loop.time())
            except Exception as error:  # one connection must not end the watch over the others
                log_event(logging.ERROR, "connection not closed", error=error)
