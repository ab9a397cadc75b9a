"""A proxy in front of a server that cuts connections at chosen places, as a bad network would."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path

#: How a client of PostgreSQL asks for TLS.
_TLS_REQUEST = bytes.fromhex("0000000804d2162f")


class Proxy:
    """Forwards connections to a Unix socket, until a message of the client contains ``trigger``.

    With a certificate and its key, clients must use TLS.

    Attributes
    ----------
    trigger : bytes
        Empty: forward everything.
    forward : bool
        Whether the message with the trigger still reaches the server before the connection is cut.
    times : int
        How many connections are cut.
    cut : int
        How many have been.
    """

    def __init__(self, target: Path, certificate: tuple[Path, Path] | None = None) -> None:
        self._target = str(target)
        self._tls = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(*certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.trigger, self.forward, self.times, self.cut = b"", False, 1, 0
        #: Connections over TLS.
        self.n_encrypted = 0
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def arm(self, trigger: bytes, *, forward: bool, times: int = 1) -> None:
        self.trigger, self.forward, self.times, self.cut = trigger, forward, times, 0

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._tls is not None:
                if client.recv(8) != _TLS_REQUEST:
                    client.close()
                    continue
                client.sendall(b"S")
                try:
                    client = self._tls.wrap_socket(client, server_side=True)
                except OSError:  # the client does not trust the certificate
                    client.close()
                    continue
                self.n_encrypted += 1
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            self._sockets += [client, server]
            for ends in ((client, server, True), (server, client, False)):
                self._threads.append(threading.Thread(target=self._pump, args=ends, daemon=True))
                self._threads[-1].start()

    def _pump(self, source: socket.socket, target: socket.socket, from_client: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if from_client and self.trigger and self.trigger in data and self.cut < self.times:
                    self.cut += 1
                    # The client must not see an answer: it is cut off first.
                    target_lost = source
                    target_lost.shutdown(socket.SHUT_RDWR)
                    if self.forward:
                        target.sendall(data)
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_WR if self.forward else socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(10)
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join(10)
        for each in (self._listener, *self._sockets):
            each.close()
