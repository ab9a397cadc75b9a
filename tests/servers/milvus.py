"""A Milvus server, from the PyPI package milvus, in the network namespace of this process."""

from __future__ import annotations

import shutil
import signal
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from .processes import ENVIRONMENT, ServerProcess, ServerUnavailableError, answers, server_package

PORT = 19530
_HEALTH = "http://127.0.0.1:9091/healthz"


def check_network() -> None:
    """Raise unless the loopback interface is the only one: Milvus listens on all interfaces."""
    listed = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    if listed != ["lo"]:
        raise ServerUnavailableError(
            f"Milvus listens on all interfaces, here {', '.join(listed)}. It runs only in a network namespace of its "
            "own: run make test-stores as root"
        )
    if answers(PORT):
        raise ServerUnavailableError(f"port {PORT} is used by another program")


class MilvusServer:
    """A Milvus server with its data in a temporary folder.

    Parameters
    ----------
    settings : dict, optional
        Settings of the server, such as ``{"proxy.timeTickInterval": "50"}``.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        server_package("milvus")
        check_network()
        self._settings = dict(settings or {})
        self._process: ServerProcess | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="milvus"))
        # The server unpacks 300 MB of programs into its folder; all servers share them.
        programs = ENVIRONMENT / "milvus-programs"
        programs.mkdir(exist_ok=True)
        (self.folder / "bin").symlink_to(programs)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{PORT}"

    def address(self, name: str) -> str:
        """Address of a store."""
        return f"milvus://{self.host}/{name}"

    def start(self, seconds: float = 120) -> MilvusServer:
        """Start the server and wait until it is healthy."""
        command = [str(ENVIRONMENT / "bin" / "milvus-server"), "--data", str(self.folder)]
        for name, value in self._settings.items():
            command += ["--extra-config", f"{name}={value}"]
        self._process = ServerProcess(command, self.folder / "log", self.folder)
        self._process.wait_until(_is_healthy, seconds)
        return self

    def kill(self) -> None:
        """End the server as a crash would: SIGKILL to all of its processes."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def stop(self) -> None:
        """Stop the server."""
        if self._process is not None:
            self._process.stop(signal.SIGINT, 20)
            self._process = None

    def close(self) -> None:
        """Stop the server and remove its data."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _is_healthy() -> bool:
    try:
        with urllib.request.urlopen(_HEALTH, timeout=2) as answer:
            return b"OK" in answer.read()
    except (OSError, urllib.error.URLError):
        return False
