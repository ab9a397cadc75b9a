"""A proxy in front of a server that cuts connections at chosen places, as a bad network would."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path


class Proxy:
    """Forwards connections to a Unix socket, until a message of the client contains ``trigger``.

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

    def __init__(self, target: Path) -> None:
        self._target = str(target)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.trigger, self.forward, self.times, self.cut = b"", False, 1, 0
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, trigger: bytes, *, forward: bool, times: int = 1) -> None:
        self.trigger, self.forward, self.times, self.cut = trigger, forward, times, 0

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            self._sockets += [client, server]
            threading.Thread(target=self._pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, False), daemon=True).start()

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
        for each in (self._listener, *self._sockets):
            each.close()
