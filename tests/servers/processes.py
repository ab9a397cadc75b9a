"""Processes of servers: start, wait until they answer, stop, kill. Nothing here looks for a process by its name."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

#: Environment of the servers, made by ``make test-stores``.
ENVIRONMENT = Path(__file__).resolve().parents[2] / ".venv-servers"

#: Environment variable: host and port of a Milvus that all test processes share.
MILVUS_HOST = "DIFFHASH_TEST_MILVUS"


class ServerUnavailableError(Exception):
    """The server cannot run here; the message says why, and what to do."""


def server_package(name: str) -> Path:
    """Folder of an installed server package."""
    found = sorted(ENVIRONMENT.glob(f"lib/python*/site-packages/{name}"))
    if not found:
        raise ServerUnavailableError(f"{name} is not in {ENVIRONMENT.name}: run make test-stores")
    return found[-1]


def free_port() -> int:
    """A port of the loopback interface that nobody uses now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def answers(port: int) -> bool:
    """Whether somebody listens at a port of the loopback interface."""
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0


def children(pid: int) -> list[int]:
    """Process ids of the children of a process, their children included."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [found for child in map(int, listed) for found in (child, *children(child))]


class ServerProcess:
    """One process of a server, and its log.

    Parameters
    ----------
    command : list of str
    log : Path
        The output is appended to it.
    folder : Path
        The current folder of the process.
    environment : dict, optional
        Added to the environment of this process.
    """

    def __init__(
        self, command: Sequence[str], log: Path, folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until the server is ready; an error shows the end of its log."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None:
                raise RuntimeError(f"the server has ended with {self._process.returncode}:\n{self.log_end()}")
            if time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the server did not start within {seconds} s:\n{self.log_end()}")
            time.sleep(0.1)

    def stop(self, sign: signal.Signals, seconds: float) -> None:
        """Ask the process to end, and kill it if it does not in time."""
        if self._process.poll() is None:
            self._process.send_signal(sign)
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """End the process and its children at once, without any chance to write."""
        family = [self.pid, *children(self.pid)]
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(30)
        deadline = time.monotonic() + 30
        while any(_runs(pid) for pid in family) and time.monotonic() < deadline:
            time.sleep(0.02)

    def log_end(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])


def _runs(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    # The name of the program is in parentheses and may contain anything.
    return status.rpartition(")")[2].split()[0] not in "ZX"
