"""The HTTP connection: clients that are slow, that send too much, or that are too many, are cut off."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .answers import HEADERS
from .settings import Limits

__all__ = ["guarded_protocol", "watch_connections"]

#: Seconds between two looks at the connections.
_WATCH = 0.5


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
            self.stalled_since = self.loop.time()
            super().pause_writing()

        def resume_writing(self) -> None:
            self.stalled_since = None
            super().resume_writing()

        def close_if_slow(self, now: float) -> None:
            """Close the connection if its client has had enough time."""
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
                if self.cycle is None or not self.cycle.response_started:
                    self.transport.write(_TOO_SLOW)
                self.transport.close()

    return GuardedProtocol


async def watch_connections(connections: set[Any]) -> None:
    """Close connections of slow clients, for ever."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_WATCH)
        for connection in list(connections):
            connection.close_if_slow(loop.time())
